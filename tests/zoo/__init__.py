"""The shipped specs against their reference implementations."""
