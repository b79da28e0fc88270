"""Vectors on disk: encoding that resumes, folders, many machines."""
