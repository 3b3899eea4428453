"""Shipped blocks, alone and in networks."""
