"""How the term-graph paper learns kernels, what it compares with, and how it measures."""
