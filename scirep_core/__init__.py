"""Representing scientific documents: five papers, reproduced section by section."""

__version__ = "0.1.0"
