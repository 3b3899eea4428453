"""Answers about resources: reports of what a request needs, made of counts and of the headers of a model's files."""
