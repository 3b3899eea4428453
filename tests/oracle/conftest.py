"""Import of torchvision for the live oracles; transformers and timm import it too."""

from __future__ import annotations

from netcalc.formats.libraries.torchvision_import import import_torchvision

import_torchvision()
