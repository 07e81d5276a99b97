"""A small problem on which every step can be checked by brute force."""

from types import SimpleNamespace

import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def small(rng):
    """Four positive definite kernels H of 30 samples, a graph S >= 0, an orthonormal P and weights w."""
    n, c, r = 30, 3, 4
    H = np.stack([(A := rng.normal(size=(n, 2 * n))) @ A.T / n for _ in range(r)])
    S = np.maximum(rng.normal(size=(n, n)), 0)
    P = np.linalg.qr(rng.normal(size=(n, c)))[0]
    return SimpleNamespace(n=n, c=c, r=r, H=H, K=H.mean(axis=0), S=S, P=P, w=rng.uniform(0.5, 2, size=r))
