"""Checkpoints: readers of files and their headers, packed tensors, and their match with a program."""
