"""The specs that ship, against their reference implementations."""
