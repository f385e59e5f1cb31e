"""What does resistance say beyond degrees? The corrected form, for large graphs.

On large dense graphs the resistance between i and j tends to 1/d_i + 1/d_j, whatever lies between
them (von Luxburg, Radl, Hein 2010). What is left without that is
R_ij - 1/d_i - 1/d_j + 2 w_ij / (d_i d_j); it may be negative. Nodes in different components, and
so a node without edges and any other, are at an infinite distance; any node is at 0 from itself.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from likewise.compiled import Doubles, Int, Ints
from likewise.errors import UsageError
from likewise.terms.graph import Graph
from likewise.terms.solving import ChebyshevKernel, SolvedKernel
from likewise.terms.spectrum import SpectralKernel
from likewise.terms.transforms import Resistance

GraphKernel: TypeAlias = SpectralKernel | SolvedKernel | ChebyshevKernel


def corrected_distances(kernel: GraphKernel, graph: Graph, node: Int) -> Doubles:
    """Give the corrected distances from one node to all.

    The kernel is that of resistance on the combinatorial Laplacian, at an ε well below the
    degrees. Its diagonal is sketched on large graphs, and these distances are as near as it is.
    """
    within = _centred(kernel)
    side = np.zeros((len(graph), 1))
    side[node] = 1.0
    column = within.columns(side)[:, 0]
    own = within.diagonal()
    at = np.array([node])
    found: Doubles = _correct(graph, own[at] + own[None, :] - 2 * column[None, :], at)[0]
    return found


def corrected_block(kernel: GraphKernel, graph: Graph, nodes: Ints) -> Doubles:
    """Give the corrected distances between nodes, from entries that are as exact as columns."""
    entries = _centred(kernel).block(nodes)
    own = np.diag(entries)
    rows = np.zeros((len(nodes), len(graph)))
    rows[:, nodes] = own[:, None] + own[None, :] - 2 * entries
    return _correct(graph, rows, nodes)[:, nodes]


def _centred(kernel: GraphKernel) -> GraphKernel:
    """Leave out what L takes to zero, which is in no distance and would drown the rest."""
    if kernel.laplacian.kind != "combinatorial" or not isinstance(kernel.transform, Resistance):
        raise UsageError(
            f"the corrected distance is that of resistance on the combinatorial Laplacian, not of "
            f"{kernel.transform} on the {kernel.laplacian.kind} one"
        )
    return kernel.centred()


def _correct(graph: Graph, found: Doubles, nodes: Ints) -> Doubles:
    """Correct rows of resistances from nodes to all."""
    degrees, parts = graph.degrees, graph.components
    inverse = np.divide(1.0, degrees, out=np.zeros(len(graph)), where=degrees > 0)
    found = found - inverse[nodes][:, None] - inverse
    for i, node in enumerate(nodes):
        here = slice(graph.bounds[node], graph.bounds[node + 1])
        to = graph.columns[here]
        found[i, to] += 2 * graph.weights[here] * inverse[to] * inverse[node]
    found[parts[nodes][:, None] != parts] = np.inf
    found[np.arange(len(nodes)), nodes] = 0.0
    return found
