"""The released scheme against the released program's own values, iteration by iteration."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris

from kernelweave import SMKLClassifier, SMKLClustering
from kernelweave.datasets import load_dataset
from kernelweave.kernels import recipe
from kernelweave.metrics import clustering_accuracy, normalized_mutual_information
from kernelweave.solve import Problem, minimise, smkl

HERE = Path(__file__).parent
YALE_ORDER = [11, 0, 1, 2, 6, 4, 3, 5, 7, 8, 9, 10]  # the order of the program's own kernel file
EXACT = {"rtol": 0, "atol": 1e-8}


@pytest.fixture
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture
def yale(shared_data):
    data = load_dataset("yale", data_home=shared_data / "paper")
    return data.data, data.target


def run(golden, H, prefix="", **labels):
    """Return the solution and the states by iteration, run with the parameters of the golden file."""
    c = labels["Y"].shape[1] if labels else int(golden["c"])
    scheme = smkl(
        "released",
        alpha=float(golden["alpha"]),
        beta=float(golden["beta"]),
        gamma=float(golden["gamma"]),
        classify=bool(labels),
    )
    states = {}
    solution = minimise(
        Problem(H, c, **labels),
        scheme,
        max_iter=30 if labels else 100,
        tol=1e-5,
        rng=np.random.default_rng(0),
        watch=lambda iteration, state, record: states.update({iteration: state}),
    )
    assert solution.n_iter == golden[f"{prefix}n_iter"]
    return solution, states


def compare(golden, solution, states, prefix=""):
    at = golden[f"{prefix}ii"], golden[f"{prefix}jj"]
    assert_allclose(solution.history.weights, golden[f"{prefix}W"], **EXACT)
    assert_allclose(solution.history.change, golden[f"{prefix}dz"], **EXACT)
    for name in ("1", "2", "5", "last"):
        state = states[solution.n_iter if name == "last" else int(name)]
        assert_allclose(state.S[at], golden[f"{prefix}S_{name}"], **EXACT)
        assert_allclose(state.K[at], golden[f"{prefix}K_{name}"], **EXACT)
        if f"PPt_{name}" in golden:
            assert_allclose((state.P @ state.P.T)[at], golden[f"PPt_{name}"], **EXACT)


def known_labels(golden, y):
    labelled = np.zeros(len(y), dtype=bool)
    labelled[golden["labelled"]] = True
    return np.where(labelled[:, None], np.eye(y.max() + 1)[y], 0), labelled


def compare_classification(golden, H, y):
    """The golden order is [labelled; unlabelled], which for a correct implementation is an order like any other."""
    order = np.concatenate([golden["labelled"], golden["unlabelled"]])
    Y, labelled = known_labels(golden, y)
    solution, states = run(golden, H[:, order][:, :, order], "aligned_", Y=Y[order], labelled=labelled[order])
    compare(golden, solution, states, "aligned_")
    scores = solution.state.P[labelled.sum() :]
    assert_allclose(scores, golden["aligned_Fu"], **EXACT)
    assert_array_equal(scores.argmax(axis=1), golden["aligned_pred"])


def compare_estimator(golden, H, y):
    """The estimator, with the samples in the order of the file, gives the aligned predictions."""
    _, labelled = known_labels(golden, y)
    names = np.array([f"class {i:02d}" for i in range(y.max() + 1)])
    parameters = {name: float(golden[name]) for name in ("alpha", "beta", "gamma")}
    model = SMKLClassifier(kernels="precomputed", scheme="released", max_iter=30, tol=1e-5, **parameters)
    model.fit(H, np.where(labelled, names[y], "-1"))
    assert model.n_iter_ == golden["aligned_n_iter"]
    assert_array_equal(model.transduction_[golden["unlabelled"]], names[golden["aligned_pred"]])
    assert_allclose(model.embedding_[golden["unlabelled"]], golden["aligned_Fu"], **EXACT)


def test_clustering_iris_equals_the_released_program(iris):
    golden = np.load(HERE / "iris_smkl_clustering.npz")
    H = recipe("released-12").fit(iris[0]).grams(iris[0])
    solution, states = run(golden, H)
    compare(golden, solution, states)
    upper = np.triu_indices(len(H[0]))
    assert_allclose(solution.state.S[upper], golden["S_last_triu"], **EXACT)
    assert_allclose(solution.state.K[upper], golden["K_last_triu"], **EXACT)


@pytest.mark.filterwarnings("ignore:SMKL stopped after 30 iterations:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("file", ["iris_smkl_ssl_1.npz", "iris_smkl_ssl_2.npz"])
def test_classifying_iris_equals_the_released_program_with_its_rows_aligned(iris, file):
    golden = np.load(HERE / file)
    H = recipe("released-12").fit(iris[0]).grams(iris[0])
    compare_classification(golden, H, iris[1])
    compare_estimator(golden, H, iris[1])


def test_clustering_yale_equals_the_released_program(yale, shared_golden):
    golden = np.load(shared_golden / "yale_smkl_clustering.npz")
    H = recipe("released-12").fit(yale[0]).grams(yale[0])[YALE_ORDER]
    solution, states = run(golden, H)
    compare(golden, solution, states)
    upper = np.triu_indices(len(H[0]))
    assert_allclose(solution.state.S[upper], golden["S_last_triu"], **EXACT)
    assert_allclose(solution.state.K[upper], golden["K_last_triu"], **EXACT)


def test_classifying_yale_equals_the_released_program_with_its_rows_aligned(yale, shared_golden):
    golden = np.load(shared_golden / "yale_smkl_ssl_15.npz")
    H = recipe("released-12").fit(yale[0]).grams(yale[0])[YALE_ORDER]
    compare_classification(golden, H, yale[1])
    compare_estimator(golden, H, yale[1])


def test_clustering_tr41_gives_the_paper_s_two_figures(shared_data):
    tr41 = load_dataset("tr41", data_home=shared_data / "paper")
    model = SMKLClustering(10, alpha=1e-5, beta=100, gamma=0.1, scheme="released", n_init=100)
    model.set_params(random_state=0).fit(tr41.data)
    for seed in range(3):  # only k-means is random: the embedding is the same for every seed
        labels = KMeans(10, n_init=100, random_state=seed).fit_predict(model.embedding_) if seed else model.labels_
        assert clustering_accuracy(tr41.target, labels) == pytest.approx(0.7631, abs=5e-5)
        assert normalized_mutual_information(tr41.target, labels) == pytest.approx(0.6148, abs=5e-5)
