"""The blocks that ship, in networks built of them and by themselves."""
