"""Models on the Hub of Hugging Face: their configurations, and the headers of their weights.

Everything goes through the library ``huggingface_hub``, so that its cache, its tokens and its environment variables
count.  It is imported when a name with the prefix ``hf:`` is given.
"""

from __future__ import annotations

from netcalc.formats.hub.names import PREFIX, HubName
from netcalc.formats.hub.repository import Repository

__all__ = ["PREFIX", "HubName", "Repository"]
