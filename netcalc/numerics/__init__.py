"""Running a program in NumPy: weights, kernels, and the tally of the work that was really done."""
