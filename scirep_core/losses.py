"""The losses under the name users import: see `scirep_core.training.losses`."""

from scirep_core.training.losses import *  # noqa: F403
