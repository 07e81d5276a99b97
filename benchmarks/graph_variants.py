"""Graphs and embeddings that were tried beside those that ship: `python -m benchmarks.graph_variants [set ...]`.

On the development sets only; prints a table of ACC (mean of two k-means seeds) and stores it in
benchmarks/results/graph_variants.md.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from scipy import linalg, sparse
from sklearn.cluster import KMeans

from benchmarks._commits import computed, stamp
from benchmarks._graphs import top_graph
from benchmarks._sets import HELD_OUT, MORE, OTHERS, PAPER, ROOT, load
from kernelweave import WeaveClustering
from kernelweave.core.graphs.affinity import Affinity, KernelAffinities, ridge_affinity
from kernelweave.core.graphs.coordinates import bottom_eigenpairs, commute_rows, unit_rows
from kernelweave.core.graphs.edges import join_pieces
from kernelweave.metrics import clustering_accuracy

Graph = sparse.csr_array
DEVELOPMENT = tuple(name for name in (*PAPER, *OTHERS, *MORE) if name not in HELD_OUT)


class Affinities:
    """The two affinities of one consensus kernel, and graphs of them."""

    def __init__(self, K: np.ndarray) -> None:
        self.K = K
        affinities = KernelAffinities(K, gamma=0.1)
        self.Z, self.T = affinities("ridge").values, affinities("tuned").values  # 0 on the diagonal

    def ridge(self, k: int = 10, power: float = 1) -> Graph:
        """Return the ridge graph, entries raised to a power."""
        return self._joined(np.maximum(self.Z, 0) ** power, k)

    def plain(self, k: int = 10) -> Graph:
        """Return the self-tuned neighbour graph."""
        return self._joined(self.T, k)

    def product(self, k: int = 10) -> Graph:
        """Return the graph of the product of both affinities."""
        return self._joined(np.maximum(self.Z, 0) * self.T, k)

    def within(self, k: int = 10, candidates: int = 20) -> Graph:
        """Return the ridge graph within the nearest neighbours."""
        near = np.partition(self.T, -candidates, axis=1)[:, -candidates, None]
        return self._joined(np.where(near <= self.T, np.maximum(self.Z, 0), 0), k)

    def mixed(self, share: float) -> Graph:
        """Return the sum of both graphs, the plain one with a share of the weight."""
        A, B = self.ridge(), self.plain()
        return sparse.csr_array((1 - share) * A / A.sum() + share * B / B.sum())

    def gammas(self) -> Graph:
        """Return the sum of ridge graphs at three gammas."""
        graphs = [self._joined(ridge_affinity(self.K, gamma=g), 10) for g in (0.03, 0.1, 0.3)]
        return sparse.csr_array(sum(S / S.sum() for S in graphs))

    def _joined(self, Z: np.ndarray, k: int) -> Graph:
        return join_pieces(top_graph(Z, k), Affinity(Z))


def rows(S: Graph, c: int, kind: str = "raw") -> np.ndarray:
    """Return an embedding of a graph."""
    values, P = bottom_eigenpairs(S, c + 1)
    values = values * S.shape[0] / S.sum()
    return commute_rows(values, P) if kind == "commute" else unit_rows(P[:, :c]) if kind == "unit" else P[:, :c]


def mass(S: Graph, c: int, a: float) -> np.ndarray:
    """Return the eigenvectors of L u = λ D^a u: a = 0 is the unnormalised Laplacian, a = 1 the random walk."""
    d = S.sum(axis=1)
    q = sparse.diags_array((d / d.mean()) ** (-a / 2))
    L = (q @ (sparse.diags_array(d) - S) @ q).toarray()
    return q @ linalg.eigh(L, subset_by_index=(0, c - 1))[1]


VARIANTS: dict[str, Callable[[Affinities, int], np.ndarray]] = {
    "ridge": lambda g, c: rows(g.ridge(), c),
    "ridge, unit rows": lambda g, c: rows(g.ridge(), c, "unit"),
    "ridge, commute rows": lambda g, c: rows(g.ridge(), c, "commute"),
    "ridge, soft rows": lambda g, c: unit_rows(rows(g.ridge(), c), 0.5),
    "plain neighbours": lambda g, c: rows(g.plain(), c),
    "plain neighbours, unit rows": lambda g, c: rows(g.plain(), c, "unit"),
    "ridge + plain": lambda g, c: rows(g.mixed(0.5), c),
    "ridge + 0.2 plain, unit rows": lambda g, c: rows(g.mixed(0.2), c, "unit"),
    "ridge x plain": lambda g, c: rows(g.product(), c),
    "ridge within 20 neighbours": lambda g, c: rows(g.within(), c),
    "ridge squared": lambda g, c: rows(g.ridge(power=2), c),
    "sum over three gammas": lambda g, c: rows(g.gammas(), c),
    "masses d^0.25": lambda g, c: mass(g.ridge(), c, 0.25),
    "masses d^-0.3": lambda g, c: mass(g.ridge(), c, -0.3),
    "masses d (random walk)": lambda g, c: mass(g.ridge(), c, 1.0),
}


def main() -> None:
    """Print and store the table."""
    names = sys.argv[1:] or DEVELOPMENT
    table: dict[str, list[float]] = {variant: [] for variant in VARIANTS}
    for name in names:
        data = load(name)
        X, given = data.for_weave()
        g = Affinities(
            WeaveClustering(data.c, embedding="raw", n_init=1, random_state=0, **given).fit(X).consensus_kernel_
        )
        for variant, embed in VARIANTS.items():
            P = embed(g, data.c)
            found = [KMeans(data.c, n_init=10, random_state=seed).fit_predict(P) for seed in range(2)]
            table[variant].append(float(np.mean([clustering_accuracy(data.y, labels) for labels in found])))
        print(name, {variant: round(accs[-1], 3) for variant, accs in table.items()}, flush=True)
    lines = [f"| ACC | {' | '.join(names)} | **mean** |", "| --- " * (len(names) + 2) + "|"]
    for variant, accs in table.items():
        lines.append(f"| {variant} | {' | '.join(f'{acc:.3f}' for acc in accs)} | **{np.mean(accs):.4f}** |")
    print("\n".join(lines))
    path = ROOT / "benchmarks" / "results" / "graph_variants.md"
    stamp("graph_variants", "all")
    path.write_text(
        "\n".join(["# Graphs and embeddings that were tried\n", *lines, f"\n{computed('graph_variants')}\n"])
    )


if __name__ == "__main__":
    main()
