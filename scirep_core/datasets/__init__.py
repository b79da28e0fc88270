"""Readers of the papers' collections: one module per paper, one schema per collection whatever its source."""
