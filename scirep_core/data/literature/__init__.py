"""The embedded literature: a generative model of a small science (design section 5).

With no network, the book runs on papers that never existed. `generate` draws what each paper is about (latents.py), who
wrote it (people.py) and who cites whom (citations.py); titles and abstracts are written when asked for (plans.py, text.py,
lexicon.py). `write_csfcube` pools and rates papers the way CSFCube did (ratings.py, facets.py); emit/ writes every
other task of the five papers in its published layout. Because the latents are known, every task has an oracle: the ceiling.
It is a simulation. It never stands in for a published number, and its text is the project's own.

What is planted, and tested in tests/test_literature.py:
  - 23 fields of study, each a tree of areas, topics and problems; background, method and result concepts are drawn separately;
    methods and findings are shared by fields, and only the fashions of a topic tie them to it (dials `method_topicality`,
    `result_topicality`);
  - each concept has many forms, partly without a word in common, the first ones usual, and the year pulls towards older or
    newer ones (dials `synonymy`, `drift`); abstracts also mention problems, fields and methods they are NOT about;
  - each area has its time, and its usual quality and hype (dials `timeliness`, `reputation`);
  - a finding is a combination of aspect, polarity and condition, a method rating one of method and mode: the same words
    in another combination are rated lower;
  - first authors have habits of wording (dial `style`), share names with others (`ambiguity`); quality, tone, seniority and
    era show in few of the abstracts; people who rate, click and read err (dial `noise`);
  - hence, for TF-IDF over whole abstracts, background is easiest and method hardest; for method and result the query's facet
    sentences alone do better than its whole abstract; all stay far below the oracle.
"""

from scirep_core.data.literature.facets import write_csfcube
from scirep_core.data.literature.latents import Dials, Latents
from scirep_core.data.literature.model import VERSION, Literature, generate
from scirep_core.data.literature.ratings import Ratings

__all__ = ["VERSION", "Dials", "Latents", "Literature", "Ratings", "generate", "write_csfcube"]
