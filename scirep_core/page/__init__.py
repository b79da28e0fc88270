"""What a notebook calls: the chapter, its numbers, tables, figures and sentences, its widgets.

chapter      one run of one chapter: it starts, records rows, shows; every block below is a method of it
rows         the cells of an exhibit by line and column, real and invented papers apart; which way an interval points
blocks       table, forest, compare, means, answer: an exhibit shown, each by one call
say          sentences: a template, words by the sign of an interval, nothing where a number is missing
slips        the register of slips: cards with a printed table and its computation, a table to search; slip_rules, slip_codes
report       HTML tables and figures in one visual language
parameters   one vocabulary of parameters                                     widgets/   explorers
"""
