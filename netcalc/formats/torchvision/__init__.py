"""Models of torchvision, built by the library itself."""
