"""How a format reaches the trunk: one file a conditioning, a paper section each; the registry is in `base`."""
