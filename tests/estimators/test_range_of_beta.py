"""The weight of the perturbation is refused where its products do not fit."""

import numpy as np
import pytest

from kernelweave import SMKLClassifier, SMKLClustering

X = np.random.default_rng(0).normal(size=(12, 2)) + np.repeat([[0, 0], [5, 5]], 6, axis=0)
Y = np.where(np.arange(12) % 3 == 0, np.repeat([0, 1], 6), -1)


@pytest.mark.parametrize("name", ["beta", "relative_beta"])
@pytest.mark.parametrize("value", [1e-300, 5e-324, 1e300, 1e308])
def test_a_weight_beyond_all_use_is_refused(name, value):
    with pytest.raises(ValueError, match=f"'{name}' parameter of SMKLClustering"):
        SMKLClustering(2, **{name: value}).fit(X)
    with pytest.raises(ValueError, match=f"'{name}' parameter of SMKLClassifier"):
        SMKLClassifier(**{name: value}).fit(X, Y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # two iterations only
@pytest.mark.parametrize("value", [1e-100, 1e100])
def test_history_is_finite_at_the_ends_of_the_range(value):
    found = SMKLClustering(2, relative_beta=value, max_iter=2).fit(X)
    assert all(np.isfinite(term) for record in found.history_.records for term in record.terms.values())
