"""likewise."""
