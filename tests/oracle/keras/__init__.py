"""Models of Keras, against Keras itself.

Keras chooses its backend when it is imported first: JAX, unless KERAS_BACKEND names another.
"""

import os

os.environ.setdefault("KERAS_BACKEND", "jax")
