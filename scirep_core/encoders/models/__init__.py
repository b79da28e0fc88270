"""Model folders: read, checked, saved, exported."""
