"""The embedded literature: a generative model of a small science (design section 5).

With no network, the book runs on papers that never existed. `generate` draws what each paper is about (latents.py), who
cites whom (citations.py) and writes titles and abstracts (text.py, lexicon.py); `write_csfcube` pools and rates them
the way CSFCube did (pools.py, ratings.py, facets.py). Because the latents are known, every task has an oracle: the ceiling.
It is a simulation. It never stands in for a published number, and its text is the project's own.

What is planted, and tested in tests/test_literature.py:
  - background, method and result concepts are drawn separately; methods and findings are shared by all fields, and only
    the fashions of a topic tie them to it (dials `method_topicality`, `result_topicality`);
  - each concept has many forms, partly without a word in common, and the year pulls towards older or newer ones
    (dials `synonymy`, `drift`); abstracts also mention problems and methods they are NOT about;
  - a finding is a combination of aspect, polarity and condition, a method rating one of method and mode: the same words
    in another combination are rated lower;
  - hence, for TF-IDF over whole abstracts, background is easiest and method hardest; the query's facet sentences alone
    do better than its whole abstract; both stay far below the oracle.
"""

from scirep_core.literature.facets import write_csfcube
from scirep_core.literature.latents import Dials, Latents
from scirep_core.literature.model import Literature, generate
from scirep_core.literature.ratings import Ratings

__all__ = ["Dials", "Latents", "Literature", "Ratings", "generate", "write_csfcube"]
