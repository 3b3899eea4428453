"""Published figures computed anew: those of ``data/published``, a file for each paper, and those that specs carry."""
