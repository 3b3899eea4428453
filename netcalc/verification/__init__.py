"""Checks of predictions against executed results."""
