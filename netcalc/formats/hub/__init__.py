"""Models on the Hub of Hugging Face: their configurations, and the headers of their weights.

Everything goes through the library ``huggingface_hub``, so that its cache, its tokens and its environment variables
count.  It is imported when a name with the prefix ``hf:`` is given.
"""

from __future__ import annotations

#: Beginning of the name of a model on the Hub.
PREFIX = "hf:"
