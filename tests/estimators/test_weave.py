"""WeaveClustering and WeaveClassifier: what they find, and that nothing beside the data decides it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.datasets import load_digits, load_wine, make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.utils._param_validation import InvalidParameterError

from kernelweave import Views, WeaveClassifier, WeaveClustering
from kernelweave.core.graphs.propagation import balance
from kernelweave.datasets import label_split
from kernelweave.errors import InvalidInputError, NotFiniteError, UndecidedWarning
from kernelweave.kernels import Gaussian, Linear, recipe
from kernelweave.metrics import clustering_accuracy

SOME = np.random.default_rng(0).normal(size=(20, 3))
PARTIAL = np.where(np.arange(20) % 4 == 0, np.arange(20) % 8, -1)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:400], y[:400]


@pytest.fixture(scope="module")
def known(digits):
    return label_split(digits[1], 0.1, random_state=0)


@pytest.fixture(scope="module")
def far_blobs():
    return make_blobs([60, 60, 60], n_features=3, cluster_std=0.4, center_box=(-20, 20), random_state=3)


@pytest.mark.parametrize(
    "options", [{}, {"n_neighbors": 10}, {"graph": "knn"}, {"graph": "both"}, {"embedding": "unit"}]
)
def test_well_separated_groups_are_found(far_blobs, options):
    X, y = far_blobs
    model = WeaveClustering(3, random_state=0, **options).fit(X)
    assert clustering_accuracy(y, model.labels_) == 1


@pytest.mark.parametrize("options", [{}, {"embedding": "commute"}, {"n_neighbors": 10, "scale": "unit"}])
def test_permuting_the_samples_permutes_the_clusters(digits, options):
    X = digits[0][:120]
    order = np.random.default_rng(0).permutation(len(X))
    here = WeaveClustering(10, random_state=0, **options).fit(X)
    there = WeaveClustering(10, random_state=0, **options).fit(X[order])
    assert adjusted_rand_score(here.labels_[order], there.labels_) == 1
    assert_allclose(there.embedding_, here.embedding_[order], atol=1e-6)


def test_single_and_double_precision_find_the_same_clusters(digits):
    X = digits[0]
    double = WeaveClustering(10, scale="unit", random_state=0).fit(X)
    single = WeaveClustering(10, scale="unit", random_state=0, dtype="float32").fit(X)
    assert single.consensus_kernel_.dtype == np.float32
    assert double.consensus_kernel_.dtype == np.float64
    assert_allclose(single.kernel_shares_, double.kernel_shares_, atol=1e-4)
    assert adjusted_rand_score(single.labels_, double.labels_) > 0.99


def test_sparse_and_dense_samples_find_the_same(digits):
    X = digits[0][:150]
    dense = WeaveClustering(5, scale="unit", random_state=0).fit(X)
    thin = WeaveClustering(5, scale="unit", random_state=0).fit(sparse.csr_array(X))
    assert_allclose(thin.consensus_kernel_, dense.consensus_kernel_, atol=1e-9)
    assert adjusted_rand_score(thin.labels_, dense.labels_) == 1


def test_precomputed_kernels_find_what_the_bank_finds(digits):
    X = digits[0][:150]
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    here = WeaveClustering(5, scale="unit", random_state=0).fit(X)
    there = WeaveClustering(5, kernels="precomputed", random_state=0).fit(recipe("released-12").fit_grams(unit))
    assert_allclose(there.kernel_shares_, here.kernel_shares_, atol=1e-4)
    assert adjusted_rand_score(there.labels_, here.labels_) == 1


def test_the_consensus_kernel_is_the_weighted_sum_of_the_kernels(digits):
    X = digits[0][:150]
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    model = WeaveClustering(5, scale="unit", random_state=0).fit(X)
    H = recipe("released-12").fit_grams(unit)
    assert_allclose(model.consensus_kernel_, np.einsum("i,iab->ab", model.kernel_shares_, H), atol=1e-9)


def test_given_weights_are_scaled_to_shares_and_used(far_blobs):
    X = far_blobs[0]
    options = {"kernels": [Gaussian(0.1), Linear()], "weights": [2, 0], "scale": "none"}
    model = WeaveClustering(3, random_state=0, **options).fit(X)
    assert_allclose(model.kernel_shares_, [1, 0])
    assert_allclose(model.consensus_kernel_, Gaussian(0.1).fit(X).gram(X), atol=1e-12)


def test_uniform_weights_are_equal(far_blobs):
    model = WeaveClustering(3, weights="uniform", random_state=0).fit(far_blobs[0])
    assert_allclose(model.kernel_shares_, [1 / 4] * 4)


def test_the_graph_is_sparse_symmetric_and_in_one_piece(far_blobs):
    S = WeaveClustering(3, n_neighbors=4, random_state=0).fit(far_blobs[0]).graph_
    assert sparse.issparse(S)
    assert abs(S - S.T).max() == 0
    assert S.nnz <= 2 * 4 * 180 + 4
    assert connected_components(S)[0] == 1


def test_the_default_tells_sure_samples_from_doubtful_ones():
    X, _ = make_blobs([50, 50], centers=[[-4, 0], [4, 0]], random_state=0)
    X = np.vstack([X, [[0, 0]]])  # half way
    model = WeaveClustering(2, random_state=0).fit(X)
    assert model.confidence_.min() >= 0
    assert model.confidence_.max() <= 1 + 1e-6
    assert model.confidence_[-1] < np.median(model.confidence_)


def test_progress_is_written_to_the_error_stream_when_asked_for(far_blobs, capsys):
    WeaveClustering(3, random_state=0, verbose=1).fit(far_blobs[0])
    said = capsys.readouterr()
    assert said.out == ""
    assert "scale: direction, share " in said.err
    assert "scale: zscore, share " in said.err
    assert "graph 16 of 16: agreement of 5 partitions" in said.err


def test_the_choice_of_a_number_is_told_when_asked_for(far_blobs, capsys):
    model = WeaveClustering("auto", scale="unit", n_neighbors=10, random_state=0, verbose=1).fit(far_blobs[0])
    assert f"number of clusters: {model.cluster_evidence_.words}" in capsys.readouterr().err


def test_nothing_is_written_unless_asked_for(far_blobs, capsys):
    WeaveClustering(3, random_state=0).fit(far_blobs[0])
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("n_components", [2, 7])
def test_the_embedding_is_as_wide_as_asked_for(far_blobs, n_components):
    for embedding in ("merged", "raw", "soft", "unit", "commute"):
        model = WeaveClustering(3, n_components=n_components, embedding=embedding, random_state=0).fit(far_blobs[0])
        assert model.embedding_.shape == (180, n_components)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_a_handful_of_samples_can_be_clustered(n):
    X = np.random.default_rng(0).normal(size=(n, 3))
    assert len(WeaveClustering(2, random_state=0).fit(X).labels_) == n


def test_as_many_clusters_as_samples(far_blobs):
    X = far_blobs[0][:6]
    assert sorted(WeaveClustering(6, embedding="raw", random_state=0).fit(X).labels_) == list(range(6))


@pytest.mark.parametrize("graph", ["ridge", "knn", "both"])
def test_classes_follow_a_few_labels(digits, known, graph):
    X, y = digits
    model = WeaveClassifier(graph=graph).fit(X, np.where(known, y, -1))
    assert_array_equal(model.transduction_[known], y[known])
    assert np.mean(model.transduction_[~known] == y[~known]) > 0.85
    assert_array_equal(model.predict(X[5:9]), model.transduction_[5:9])
    assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_permuting_the_samples_permutes_the_classes(digits):
    X, y = digits
    partial = np.where(np.arange(len(y)) % 10 == 0, y, -1)
    order = np.random.default_rng(0).permutation(len(y))
    here = WeaveClassifier().fit(X, partial)
    there = WeaveClassifier().fit(X[order], partial[order])
    assert_allclose(there.label_distributions_, here.label_distributions_[order], atol=1e-7)


@pytest.mark.parametrize("solver", ["dense", "local"])
def test_few_labels_drawn_at_random_do_not_decide_by_their_number(solver):
    X, y = load_wine(return_X_y=True)
    right = {"auto": [], "harmonic": []}
    for seed in range(5):
        drawn = np.random.default_rng(seed).choice(len(y), 12, replace=False)
        partial = np.full(len(y), -1)
        partial[drawn] = y[drawn]
        for how, found in right.items():
            model = WeaveClassifier(propagation=how, solver=solver).fit(X, partial)
            found.append(np.mean((model.transduction_ == y)[partial < 0]))
    assert np.mean(right["auto"]) > 0.9 > np.mean(right["harmonic"])
    assert min(right["auto"]) > 0.8


def test_balanced_scores_are_those_of_the_harmonic_ones_that_the_embedding_has(digits, known):
    X, y = digits
    partial = np.where(known, y, -1)
    model, plain = (WeaveClassifier(propagation=how).fit(X, partial) for how in ("auto", "harmonic"))
    assert_allclose(model.embedding_, plain.embedding_)
    shift, factors = balance(plain.embedding_, ~known, known.sum())
    expected = np.maximum(plain.embedding_ - shift, 0) * factors
    expected[known] = plain.embedding_[known]
    expected = expected**2
    assert_allclose(model.label_distributions_, expected / expected.sum(axis=1, keepdims=True), atol=1e-9)
    new = X[:5] + 0.01  # the mean of balanced scores is the balanced mean, but for what is cut off at 0
    rows = model._graph_model.rows(Views.of_table(new)).toarray()
    mean = rows @ plain.embedding_ / rows.sum(axis=1, keepdims=True)
    scores = (np.maximum(mean - shift, 0) * factors) ** 2
    assert_allclose(model.predict_proba(new), scores / scores.sum(axis=1, keepdims=True), atol=0.02)


def test_class_mass_gives_classes_the_shares_of_the_labels(digits, known):
    X, y = digits
    free = WeaveClassifier(propagation="harmonic").fit(X, np.where(known, y, -1))
    scaled = WeaveClassifier(class_mass=True).fit(X, np.where(known, y, -1))
    shares = np.bincount(y[known]) / known.sum()
    gap = [
        np.abs(np.bincount(m.transduction_[~known], minlength=10) / (~known).sum() - shares).sum()
        for m in (free, scaled)
    ]
    assert gap[1] <= gap[0]
    assert_allclose(free.embedding_, scaled.embedding_)


@pytest.mark.parametrize("solver", ["dense", "local", "landmark"])
def test_class_masses_are_those_of_harmonic_scores_with_every_solver(digits, solver):
    X, y = digits
    partial = np.full(len(y), -1)  # fewer than one label in 50 samples, for which "auto" is "lgc" with "local"
    for digit, n in ((0, 4), (1, 3)):
        partial[np.flatnonzero(y == digit)[:n]] = digit
    of_auto, of_harmonic = (
        WeaveClassifier(class_mass=True, propagation=how, solver=solver, random_state=0).fit(X, partial)
        for how in ("auto", "harmonic")
    )
    assert_array_equal(of_auto.label_distributions_, of_harmonic.label_distributions_)


def test_parts_of_the_graph_without_labels_are_told_and_uniform():
    X, y = make_blobs([30, 30, 30], n_features=3, cluster_std=0.1, center_box=(-100, 100), random_state=0)
    partial = np.where((np.arange(90) % 5 == 0) & (y < 2), y, -1)
    model = WeaveClassifier(kernels=[Gaussian(0.01)], scale="none", n_neighbors=4)
    with pytest.warns(UndecidedWarning, match=r"30 of 90 samples lie in parts of the learned graph that hold no label"):
        model.fit(X, partial)
    assert_array_equal(model.undecided_, y == 2)
    assert_allclose(model.label_distributions_[y == 2], 0.5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": [1, 2]}, r"one number for each of the 4 kernels; got shape \(2,\)"),
        ({"weights": [-1] + [1] * 3}, "weights must be finite, not negative"),
        ({"weights": [0] * 4}, "not all zero"),
        ({"weights": {"a": 1}}, "weights must be 'self', 'uniform' or one number per kernel"),
        ({"kernels": "precomputed", "scale": "unit"}, "scale='unit' scales samples, but kernels are 'precomputed'"),
        ({"kernels": "precomputed", "scale": {"X": "unit"}}, "scale={'X': 'unit'} scales samples, but kernels are"),
    ],
)
@pytest.mark.parametrize("kind", [WeaveClustering, WeaveClassifier])
def test_parameters_that_cannot_be_used_are_refused(kind, options, message):
    with pytest.raises(InvalidInputError, match=message):
        kind(**options).fit(SOME, PARTIAL)


def one_of(*words):
    """Return the pattern of a set of words, whose order varies."""
    return "".join(f"(?=.*'{word}')" for word in words) + r"a str among \{('\w+'(, )?){" + str(len(words)) + r"}\}"


@pytest.mark.parametrize(
    ("options", "allowed"),
    [
        ({"weights": "best"}, f"{one_of('self', 'uniform')} or an array-like"),
        ({"graph": "full"}, one_of("auto", "ridge", "knn", "both")),
        ({"scale": "big"}, f"{one_of('auto', 'unit', 'zscore', 'none')} or an instance of 'collections.abc.Mapping'"),
        ({"gamma": 0}, rf"a float in the range \(0\.0, 1000000000000000\.0\] or {one_of('auto')}"),
        ({"gamma": np.inf}, rf"a float in the range \(0\.0, 1000000000000000\.0\] or {one_of('auto')}"),
        ({"n_neighbors": 0}, rf"an int in the range \[1, 2147483647\] or {one_of('auto')}"),
        ({"dtype": "float16"}, f"{one_of('float32', 'float64')}, .* or None"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("kind", [WeaveClustering, WeaveClassifier])
def test_values_that_are_not_allowed_are_refused(kind, options, allowed):
    (name,) = options
    message = rf"^The '{name}' parameter of {kind.__name__} must be {allowed}\. Got {options[name]!r} instead\.$"
    with pytest.raises(InvalidParameterError, match=message):
        kind(**options).fit(SOME, PARTIAL)


@pytest.mark.parametrize(
    ("options", "allowed"),
    [
        ({"n_clusters": 0}, rf"an int in the range \[1, 2147483647\] or {one_of('auto')}"),
        ({"n_clusters": "many"}, rf"an int in the range \[1, 2147483647\] or {one_of('auto')}"),
        ({"embedding": "flat"}, one_of("auto", "merged", "raw", "soft", "unit", "commute")),
        ({"n_components": 0}, r"an int in the range \[1, 2147483647\] or None"),
        ({"n_init": 0}, r"an int in the range \[1, 2147483647\]"),
    ],
    ids=repr,
)
def test_values_of_clustering_that_are_not_allowed_are_refused(options, allowed):
    (name,) = options
    message = rf"^The '{name}' parameter of WeaveClustering must be {allowed}\. Got {options[name]!r} instead\.$"
    with pytest.raises(InvalidParameterError, match=message):
        WeaveClustering(**({"n_clusters": 2} | options)).fit(SOME)


def test_more_clusters_than_samples_are_refused():
    with pytest.raises(
        InvalidInputError, match="n_clusters=21 is more than the n_samples=20 given: lower n_clusters, or pass more"
    ):
        WeaveClustering(21).fit(SOME)


def test_the_number_of_clusters_is_found_where_groups_are_far_apart(far_blobs):
    model = WeaveClustering("auto", random_state=0).fit(far_blobs[0])
    assert model.n_clusters_ == model.cluster_evidence_.chosen == 3
    assert clustering_accuracy(far_blobs[1], model.labels_) == 1


@pytest.mark.parametrize(
    ("X", "n_distinct"),
    [(SOME[:2], 2), (SOME[:5], 5), (np.repeat([[0.0, 0.0], [1.0, 1.0]], 10, axis=0), 2)],
    ids=["two", "five", "copies"],
)
def test_too_few_distinct_samples_for_clusters_are_counted_without_copies(X, n_distinct):
    evidence = WeaveClustering("auto", random_state=0).fit(X).cluster_evidence_
    assert (evidence.chosen, evidence.found, evidence.n_distinct) == (1, "too few", n_distinct)
    assert evidence.words.endswith(f"{n_distinct} distinct samples are too few to tell clusters apart")


@pytest.mark.parametrize("kind", [WeaveClustering, WeaveClassifier])
def test_affinities_without_a_diagonal_are_refused(kind):
    K = 1 - np.eye(20)
    K[0, 1] = K[1, 0] = -1
    with pytest.raises(ValueError, match=r"with trace 0, but k\(x, x\) is positive"):
        kind(kernels="precomputed").fit(K, PARTIAL)


def test_kernels_that_make_the_system_singular_are_named_an_arithmetic_error():
    K = np.diag([1.0, 1, 1, 1, -0.25])
    gamma = 0.25 / K.diagonal().mean()
    with pytest.raises(NotFiniteError, match=r"K \+ gamma I is singular at gamma="):
        WeaveClustering(2, kernels="precomputed", gamma=gamma).fit(K)


def test_one_component_alone_is_not_the_constant_one(far_blobs):
    model = WeaveClustering(2, n_components=1, random_state=0).fit(far_blobs[0])
    assert model.embedding_.shape == (180, 1)
    assert model.embedding_.std() > 0.01


def test_one_cluster_holds_everyone(far_blobs):
    assert set(WeaveClustering(1, random_state=0).fit(far_blobs[0]).labels_) == {0}
