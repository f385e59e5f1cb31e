"""Models of the decomposition paper that nothing else needs."""
