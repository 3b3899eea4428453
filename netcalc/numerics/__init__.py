"""The NumPy backend: parameters, inputs, kernels, and the tally of executed work."""
