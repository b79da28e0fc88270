"""The embedded literature's tasks of SciRepEval."""
