"""Shipped blocks against modules of torch and transformers."""
