"""Sizes of a network that meet conditions and make a figure greatest, least, or nearest to a number."""
