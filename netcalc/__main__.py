"""``python -m netcalc``."""

import sys

from netcalc.cli import main

sys.exit(main())
