"""From sums over a sample to values at the landmarks: coordinates and cluster centres, or label scores."""

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
    graph: LandmarkRows, BB: Matrix, sample: Samples, n_clusters: int, n_components: int, n_init: int, seed: int
) -> tuple[Vector, Matrix, Matrix]:
    """Return eigenvalues, the landmarks' coordinates Q, and the centres of k-means on the sample's rows of BQ."""
    joined = join_pieces(sparse.csr_array(BB), Affinity(graph.consensus(graph.landmarks)))
    # a single component is not the constant one
    values, Q = landmark_embedding(joined.toarray(), max(n_components, min(2, graph.m)))
    Q = Q[:, -n_components:]
    rows = unit_rows(graph.rows(Views.of_table(sample)) @ Q)
    kmeans = KMeans(n_clusters, n_init=n_init, random_state=np.random.RandomState(seed)).fit(rows)
    return values, Q, kmeans.cluster_centers_


def landmark_classes(sums: Matrix, n_classes: int, method: Propagation, class_mass: bool) -> Matrix:
    """Return U, the label scores of the landmarks, from [BB_u | BB_l | BY] with BY = B_l'Y_l."""
    m = len(sums)
    BB_u, BB_l, BY = sums[:, :m], sums[:, m : 2 * m], sums[:, 2 * m :]
    e = BB_u.sum(axis=1) + BB_l.sum(axis=1)
    damped = method == "lgc"
    U = bipartite_harmonic(BB_u + BB_l if damped else BB_u, e, BY, alpha=LGC_SHARE if damped else 1.0)
    if class_mass:
        mass, expected = BB_u.sum(axis=1) @ U, BY.sum(axis=0)
        U = U * np.divide(expected, mass, out=np.zeros_like(mass), where=mass > 0)
    return np.asarray(U)
