"""Generators of committed files: schemas, pages of reference, and the catalogue of the shipped specs."""
