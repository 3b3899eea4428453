"""A step of training as PyTorch runs it: what is kept, the gradients, and the memory at every moment of both passes.

Repeats are cut to a few iterations (:mod:`.cuts`), and figures at the real numbers follow from those at small ones.
"""
