"""Checks that hold predictions against executed results."""
