"""Independent references of figures: initial values, counting conventions, memory, and tensors saved without need.

As those of operations, they take attributes and shapes, and import no rule, kernel or analysis.
"""
