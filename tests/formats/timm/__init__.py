"""Configurations of timm, with the figures of its models."""
