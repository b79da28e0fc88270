"""What several chapters of one paper share, a module a paper."""
