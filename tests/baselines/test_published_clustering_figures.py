"""The figures of the paper's Table 2, reached with the released kernels and each method's released recipe."""

import numpy as np
import pytest

from kernelweave.baselines import AASC, MKKM, RMKKM, SSR, KernelSpectralClustering
from kernelweave.datasets import load_dataset
from kernelweave.kernels import recipe
from kernelweave.metrics import clustering_accuracy

pytestmark = pytest.mark.slow

PUBLISHED = {
    "SC": {"yale": 0.494, "jaffe": 0.749, "tr11": 0.510},
    "MKKM": {"yale": 0.457, "jaffe": 0.746, "tr11": 0.501},
    "RMKKM": {"yale": 0.522, "jaffe": 0.871, "tr11": 0.577},
}
NAMES = ["yale", "jaffe", "tr11"]


@pytest.fixture(scope="module", params=NAMES)
def data(request, shared_data):
    bunch = load_dataset(request.param, data_home=shared_data / "paper")
    bank = recipe("released-12")
    H = bank.fit_grams(bunch.data)
    return request.param, bunch, len(np.unique(bunch.target)), dict(zip(bank.names, H, strict=True))


def mean_accuracy(model, X, y, seeds):
    return np.mean([clustering_accuracy(y, model.set_params(random_state=s).fit(X).labels_) for s in range(seeds)])


def test_spectral_clustering_with_the_best_of_twelve_kernels(data):
    name, bunch, c, H = data
    model = KernelSpectralClustering(c, kernel="precomputed", init="released")
    best = max(mean_accuracy(model, K, bunch.target, 20) for K in H.values())
    assert abs(best - PUBLISHED["SC"][name]) < 0.02


def test_multiple_kernel_k_means(data):
    # single starts deviate by .075 on JAFFE, so means of twenty by .017 (.735 to .803 in five of them)
    name, bunch, c, H = data
    model = MKKM(c, kernels="precomputed", n_init=1, empty="released", tol=1e-5)
    assert abs(mean_accuracy(model, H, bunch.target, 100) - PUBLISHED["MKKM"][name]) < 0.035


def test_robust_multiple_kernel_k_means(data):
    name, bunch, c, H = data
    model = RMKKM(c, kernels="precomputed", gamma=0.4)
    assert abs(mean_accuracy(model, H, bunch.target, 20) - PUBLISHED["RMKKM"][name]) < 0.02


def test_ng_jordan_weiss_is_stronger_than_what_was_published_as_spectral_clustering(data):
    name, bunch, c, H = data
    model = KernelSpectralClustering(c, kernel="precomputed", laplacian="njw", random_state=0)
    best = max(clustering_accuracy(bunch.target, model.fit(K).labels_) for K in H.values())
    assert best > PUBLISHED["SC"][name] + 0.05


def test_affinities_that_are_nearly_the_identity_are_what_ruins_affinity_aggregation(data):
    _, bunch, c, H = data
    wide = {kernel: K for kernel, K in H.items() if kernel not in {f"gaussian(t={t})" for t in (0.01, 0.05, 0.1)}}
    every, few = (AASC(c, kernels="precomputed", random_state=0).fit(kernels) for kernels in (H, wide))
    assert every.kernel_shares_[0] > 0.99
    assert clustering_accuracy(bunch.target, few.labels_) > clustering_accuracy(bunch.target, every.labels_) + 0.1


def test_simplex_representations_are_certified_within_one_millionth(data):
    _, bunch, c, _ = data
    model = SSR(c, random_state=0).fit(bunch.data)
    G = bunch.data @ bunch.data.T
    G = G if isinstance(G, np.ndarray) else G.toarray()
    g = G @ model.representation_ - G
    lowest = np.where(np.eye(len(g), dtype=bool), np.inf, g).min(axis=0)
    classical = (model.representation_ * (g - lowest)).sum(axis=0)
    assert model.certificate_ < 1e-6
    assert classical.max() < 1e-6
