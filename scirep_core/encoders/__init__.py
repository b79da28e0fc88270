"""Encoders and rankers: from texts to vectors, or from a collection to rankings."""
