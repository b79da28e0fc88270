"""Readers of published files, one a family of tasks."""
