"""Models of diffusers, which the library builds."""
