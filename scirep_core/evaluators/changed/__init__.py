"""What the 32 small changes do to the texts themselves, before an encoder judges them (textual neighbours, sections 3 and 4).

texts      how often a change applies, how many words it leaves, what the public code does otherwise, what an encoder reads of it
tools      how far the fallback linguistic tools agree with NLTK
example    the paper's own example (Table 7) through our changes, row by row
"""
