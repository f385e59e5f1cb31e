"""`python -m likewise` is the command line."""

import sys

from likewise.app.cli import main

sys.exit(main())
