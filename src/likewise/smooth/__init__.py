"""How does a ranking take up the documents that are like its first ones?

Your own kernels fit in: `c.fit_kernel(features=function)` takes a function of texts that gives a
row of numbers for each, `c.fit_kernel(gram=function)` one of two lists of texts that gives the
kernel between them.
"""
