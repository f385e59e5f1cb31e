"""The decomposition paper's baselines of query by document."""
