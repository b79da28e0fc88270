"""Whole tables over seeds: what is in them, the run of one, what it came to, codes held against formats."""
