import sys
from pathlib import Path

# Tests share files that they make, and processes import parsers from here.
sys.path.insert(0, str(Path(__file__).parent))
