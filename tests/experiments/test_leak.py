"""The leak of the released program: it is what that program does, and it hangs on the order of the file alone."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris

from kernelweave import SMKLClassifier
from kernelweave.datasets import label_split, load_dataset, mask_labels
from kernelweave.errors import InvalidInputError
from kernelweave.experiments import load_spec
from kernelweave.experiments.leak import MisalignedSMKL, misaligned
from kernelweave.kernels import recipe
from kernelweave.solve import Problem, minimise, smkl

GOLDEN = Path(__file__).parents[1] / "released"
YALE_ORDER = [11, 0, 1, 2, 6, 4, 3, 5, 7, 8, 9, 10]  # the order of the program's own kernel file
EXACT = {"rtol": 0, "atol": 1e-8}


@pytest.fixture
def iris():
    X, y = load_iris(return_X_y=True)
    return recipe("released-7").fit_grams(X), y


def partly(y, seed=0):
    labelled = label_split(y, 0.2, "same-positions", seed)
    return labelled, mask_labels(y, labelled)


def compare(golden, H, y):
    labelled = np.isin(np.arange(len(y)), golden["labelled"])
    Y = np.where(labelled[:, None], np.eye(y.max() + 1)[y], 0)
    parameters = {name: float(golden[name]) for name in ("alpha", "beta", "gamma")}
    states = {}
    solution = minimise(
        Problem(H, Y.shape[1], Y, labelled),
        misaligned(smkl("released", classify=True, **parameters)),
        max_iter=30,
        tol=1e-5,
        rng=np.random.default_rng(0),
        watch=lambda iteration, state, record: states.update({iteration: state}),
    )
    assert solution.n_iter == golden["shipped_n_iter"]
    assert_allclose(solution.history.weights, golden["shipped_W"], **EXACT)
    at = golden["shipped_ii"], golden["shipped_jj"]
    for name in ("1", "2", "5", "last"):
        state = states[solution.n_iter if name == "last" else int(name)]
        assert_allclose(state.S[at], golden[f"shipped_S_{name}"], **EXACT)
        assert_allclose(state.K[at], golden[f"shipped_K_{name}"], **EXACT)
    model = MisalignedSMKL(**parameters).fit(H, np.where(labelled, y, -1))
    assert_allclose(model.embedding_[~labelled], golden["shipped_Fu"], **EXACT)
    assert_array_equal(model.transduction_[~labelled], golden["shipped_pred"])
    assert np.mean((model.transduction_ == y)[~labelled]) == pytest.approx(float(golden["shipped_acc"]))


@pytest.mark.parametrize("file", ["iris_smkl_ssl_1.npz", "iris_smkl_ssl_2.npz"])
def test_on_iris_it_is_the_released_program_as_shipped(file):
    X, y = load_iris(return_X_y=True)
    compare(np.load(GOLDEN / file), recipe("released-12").fit_grams(X), y)


def test_on_yale_it_is_the_released_program_as_shipped(shared_data, shared_golden):
    yale = load_dataset("yale", data_home=shared_data / "paper")
    H = recipe("released-12").fit_grams(yale.data)[YALE_ORDER]
    compare(np.load(shared_golden / "yale_smkl_ssl_15.npz"), H, yale.target)


@pytest.mark.filterwarnings("ignore:SMKL stopped after 30 iterations:sklearn.exceptions.ConvergenceWarning")
def test_with_labelled_samples_first_the_bug_has_no_effect(iris):
    H, y = iris
    _, known = partly(y)
    right = SMKLClassifier(kernels="precomputed", alpha=0.1, beta=25, gamma=1, scheme="released", max_iter=30)
    wrong = MisalignedSMKL(0.1, 25, 1, order="labelled-first").fit(H, known)
    assert_allclose(wrong.embedding_, right.fit(H, known).embedding_, atol=1e-10)


def test_the_answer_depends_on_the_order_of_the_file(iris):
    H, y = iris
    _, known = partly(y)
    order = np.random.default_rng(0).permutation(len(y))
    as_given = MisalignedSMKL(order="file").fit(H, known)
    permuted = MisalignedSMKL(order="file").fit(H[:, order][:, :, order], known[order])
    assert np.abs(permuted.embedding_ - as_given.embedding_[order]).max() > 1e-3
    shuffled = MisalignedSMKL(order="shuffled", random_state=0).fit(H, known)
    assert_allclose(shuffled.embedding_[order], permuted.embedding_, atol=1e-12)


def test_given_labels_stay_whatever_the_order(iris):
    H, y = iris
    labelled, known = partly(y)
    for order in ("file", "labelled-first", "shuffled"):
        assert_array_equal(MisalignedSMKL(order=order).fit(H, known).transduction_[labelled], y[labelled])


def test_an_unknown_order_is_refused(iris):
    H, y = iris
    with pytest.raises(InvalidInputError, match="order must be one of file, labelled-first, shuffled, got 'sorted'"):
        MisalignedSMKL(order="sorted").fit(H, partly(y)[1])


def test_on_yale_the_file_order_gives_classes_away(shared_data):
    yale = load_dataset("yale", data_home=shared_data / "paper")
    H, y = recipe("released-7").fit_grams(yale.data), yale.target
    gains = []
    for seed in range(3):
        labelled = label_split(y, 0.5, "same-positions", seed)
        models = [MisalignedSMKL(order=order).fit(H, mask_labels(y, labelled)) for order in ("file", "labelled-first")]
        scores = [np.mean((model.transduction_ == y)[~labelled]) for model in models]
        gains.append(scores[0] - scores[1])
    assert min(gains) > 0
    assert np.mean(gains) > 0.03


@pytest.mark.parametrize("dataset", ["yale", "jaffe", "ba", "coil20"])
def test_the_experiment_compares_one_setting_in_all_fixed_methods(dataset):
    spec = load_spec("leak", "full")
    fixed = [method for method in spec.methods if method.selection == "fixed"]
    settings = [grid.settings() for method in fixed for grid in method.grids_for(dataset, "full")]
    assert len(settings) == len(fixed) == 4
    assert all(setting == settings[0] for setting in settings)
    assert set(settings[0][0]) == {"alpha", "beta", "gamma"}
    (searched,) = (method for method in spec.methods if method.selection == "oracle")
    assert (searched.estimator, searched.parameters) == ("MisalignedSMKL", {"order": "file"})
    (given,) = settings[0]
    (grid,) = searched.grids_for(dataset, "full")
    assert len(grid.settings()) > 1
    assert all(setting | {"alpha": given["alpha"]} == given for setting in grid.settings())
    assert {method.kernels for method in spec.methods} == {"released-7"}
