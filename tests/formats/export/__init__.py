"""Tests of the formats that networks are written in."""
