"""From the sums over a sample to what landmarks carry: coordinates and centres of clusters, or scores of classes."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans

from kernelweave._types import Matrix, Samples, Vector
from kernelweave.core.graphs.affinity import Affinity, join_pieces
from kernelweave.core.graphs.bipartite import bipartite_harmonic, landmark_embedding
from kernelweave.core.graphs.coordinates import unit_rows
from kernelweave.core.graphs.propagation import LGC_SHARE
from kernelweave.samples.views import Views
from kernelweave.weave.landmark.landmark_rows import LandmarkRows
from kernelweave.weave.plan import Propagation

__all__ = ["landmark_classes", "landmark_clusters"]


def landmark_clusters(
    graph: LandmarkRows, S: Matrix, sample: Samples, n_clusters: int, n_components: int, n_init: int, seed: int
) -> tuple[Vector, Matrix, Matrix]:
    """Return eigenvalues, the landmarks' coordinates Q, and the centres of k-means on the sample's rows of BQ."""
    joined = join_pieces(sparse.csr_array(S), Affinity(graph.consensus(graph.landmarks)))
    # one alone: not the constant one
    values, Q = landmark_embedding(joined.toarray(), max(n_components, min(2, graph.m)))
    Q = Q[:, -n_components:]
    rows = unit_rows(graph.rows(Views.of_table(sample)) @ Q)
    kmeans = KMeans(n_clusters, n_init=n_init, random_state=np.random.RandomState(seed)).fit(rows)
    return values, Q, kmeans.cluster_centers_


def landmark_classes(sums: Matrix, n_classes: int, method: Propagation, class_mass: bool) -> Matrix:
    """Return the scores of the classes at the landmarks, G, from [B_u'B_u | B_l'B_l | B_l'Y_l]."""
    m = len(sums)
    S_u, S_l, R = sums[:, :m], sums[:, m : 2 * m], sums[:, 2 * m :]
    e = S_u.sum(axis=1) + S_l.sum(axis=1)
    damped = method == "lgc"
    G = bipartite_harmonic(S_u + S_l if damped else S_u, e, R, alpha=LGC_SHARE if damped else 1.0)
    if class_mass:
        mass, share = S_u.sum(axis=1) @ G, R.sum(axis=0)
        G = G * np.divide(share, mass, out=np.zeros_like(mass), where=mass > 0)
    return np.asarray(G)
