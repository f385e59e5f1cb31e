"""What else could a query say, and at what risk?

Your own parts fit in:

- A strategy of perturbation is a function of the number n of the query's terms that gives an
  array, a row of n weights for each perturbation (or that array):
  `c.terms.perturb("japanese wave", lambda n: 1 - 0.5 * np.eye(n))`.
- A similarity of words is a function of queries, a `WordSearch` and a number of documents that
  gives a `Context` for each: `SIMILARITIES["mine"] = Similarity(function)`, then
  `robust(similarity=mine)`.
- An expander is a frozen dataclass that inherits from `Expander` and has `feedback_docs`,
  `with_share(share)` and `expand(batch, search)`, which gives a `ExpansionResult` for each query:
  `c.search("japanese wave", expand=Mine())`.
"""

from likewise.expand.expansion import Expander, ExpansionResult, Feedback, WordSearch

__all__ = ["Expander", "ExpansionResult", "Feedback", "WordSearch"]
