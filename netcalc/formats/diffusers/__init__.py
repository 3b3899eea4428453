"""Models of diffusers."""
