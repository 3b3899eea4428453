"""Models of timm."""
