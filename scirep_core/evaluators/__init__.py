"""Evaluators: one file per protocol, from vectors or rankings to Result rows."""
