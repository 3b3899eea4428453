"""Models that their own libraries build: the second door, for what no table describes."""
