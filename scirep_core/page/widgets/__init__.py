"""Widgets that answer a click, in the published page without a kernel and in JupyterLab with one.

Each explorer is one `.py` (plain data in, compact state out, plain twin), one `.js` and one `.css`, which hold only what is its
own: what all share is `common.py`, `common.js` and `common.css`, and `command.js` for those with a papermill command.
"""

from __future__ import annotations

from scirep_core.evaluators.facets.facet_systems import Reason
from scirep_core.page.widgets.facets import CandidateView, FacetExplorer, QueryView, facet_explorer
from scirep_core.page.widgets.formats import FormatExplorer, PaperView, format_data
from scirep_core.page.widgets.own_paper import OwnPaperExplorer, own_paper_data
from scirep_core.page.widgets.perturbations import PerturbationExplorer, perturbation_data
from scirep_core.page.widgets.scores import Gap, Run, ScoreExplorer, score_data
from scirep_core.page.widgets.tasks import TaskExplorer, task_data

__all__ = ["CandidateView", "FacetExplorer", "FormatExplorer", "Gap", "OwnPaperExplorer", "PaperView", "PerturbationExplorer",
           "QueryView", "Reason", "Run", "ScoreExplorer", "TaskExplorer", "facet_explorer", "format_data", "own_paper_data",
           "perturbation_data", "score_data", "task_data"]  # fmt: skip
