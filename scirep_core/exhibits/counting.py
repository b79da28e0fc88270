"""Moved to `page/counting.py`."""

from scirep_core.page.counting import *  # noqa: F403
