import sys
from pathlib import Path

# Vectors for tests, and what is near among them: `drawn`.
sys.path.insert(0, str(Path(__file__).parents[2] / "neighbours"))
