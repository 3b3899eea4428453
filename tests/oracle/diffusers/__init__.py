"""Models of diffusers as the library builds them, against the library."""
