"""Errors, formats, records, files: what every room uses and none owns."""
