"""What exists for the five papers only: their experiments, and the methods they compare with.

Its methods are found under their names like those of likewise (entry points in pyproject.toml);
nothing in likewise knows of it.
"""
