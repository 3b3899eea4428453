"""Answers to the question if a workload fits the memory of devices."""
