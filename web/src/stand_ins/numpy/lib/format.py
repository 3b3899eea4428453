"""The format of ``.npy`` files, which the page does not read."""
