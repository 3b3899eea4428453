"""Tests of adapters of PEFT."""
