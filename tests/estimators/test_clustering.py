import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score

from kernelweave import KGLClustering, PMKLClustering, SMKLClustering, Views
from kernelweave.core.partitions.hartigan import sum_of_squares
from kernelweave.datasets import load_dataset
from kernelweave.errors import InvalidInputError
from kernelweave.kernels import Gaussian, KernelBank, Linear, recipe


@pytest.fixture
def H(iris):
    return recipe("released-7").fit(iris[0]).grams(iris[0])


def kernel_matrices(model, X):
    """Return the matrices of the kernels that a model was fitted with."""
    return model._graph_model.joiner.consensus.bank.grams(Views.of_table(X))


@pytest.mark.parametrize("form", ["array", "list", "dict"])
def test_precomputed_kernels_give_what_the_recipe_gives(iris, H, form):
    given = {"array": H, "list": list(H), "dict": {f"k{i}": K for i, K in enumerate(H)}}[form]
    model = SMKLClustering(3, kernels="precomputed", random_state=0).fit(given)
    same = SMKLClustering(3, kernels="released-7", scale="none", random_state=0).fit(iris[0])
    assert_allclose(model.graph_, same.graph_, atol=1e-12)
    assert_array_equal(model.labels_, same.labels_)
    assert model.kernel_names_ == (tuple(given) if form == "dict" else tuple(f"kernel {i}" for i in range(7)))


def test_one_precomputed_matrix_is_one_kernel(H):
    smkl = SMKLClustering(3, kernels="precomputed", random_state=0).fit(H[0])
    kgl = KGLClustering(3, kernel="precomputed", random_state=0).fit(H[0])
    assert_array_equal(smkl.kernel_shares_, [1.0])
    assert_allclose(smkl.graph_, kgl.graph_, atol=1e-5)  # the consensus meets a kernel to 1e-6 of its size
    assert_array_equal(kgl.consensus_kernel_, H[0])


@pytest.mark.parametrize(
    "kernels",
    [
        [Gaussian(t=0.1), Gaussian(t=1), Linear()],
        {"near": Gaussian(t=0.1), "far": Gaussian(t=1), "line": Linear()},
        KernelBank([Gaussian(t=0.1), Gaussian(t=1), Linear()]),
        ("rbf", "cosine", np.dot),
    ],
    ids=["list", "dict", "bank", "names and functions"],
)
def test_kernels_may_be_given_in_any_form(iris, kernels):
    model = SMKLClustering(3, kernels=kernels, random_state=0).fit(iris[0])
    assert len(model.kernel_names_) == len(model.kernel_weights_) == 3


def test_a_bank_given_as_parameter_is_not_fitted_by_the_estimator(iris):
    bank = KernelBank([Gaussian(t=0.1), Gaussian(t=1), Linear()])
    SMKLClustering(3, kernels=bank, random_state=0).fit(iris[0])
    assert "not fitted" in repr(bank)


@pytest.mark.parametrize("scale", ["none", "unit"])
def test_sparse_samples_give_what_dense_ones_give(iris, scale):
    dense = SMKLClustering(3, scale=scale, random_state=0).fit(iris[0])
    csr = SMKLClustering(3, scale=scale, random_state=0).fit(sparse.csr_array(iris[0]))
    assert_allclose(csr.graph_, dense.graph_, atol=1e-9)


def test_weights_are_those_of_the_paper(iris):
    model = SMKLClustering(3, scheme="printed", random_state=0).fit(iris[0])
    H = kernel_matrices(model, iris[0])
    distances = [np.linalg.norm(Hi - model.consensus_kernel_) for Hi in H]
    assert_allclose(model.kernel_weights_, 1 / (2 * np.array(distances)), rtol=1e-9)


def test_relative_beta_is_beta_times_the_weights_at_the_mean_kernel(iris):
    H = recipe("released-12").fit(iris[0]).grams(iris[0])
    total = sum(1 / (2 * np.linalg.norm(Hi - H.mean(axis=0))) for Hi in H)
    paper = SMKLClustering(3, scale="none", beta=12 / total, random_state=0).fit(iris[0])
    relative = SMKLClustering(3, scale="none", relative_beta=12, random_state=0).fit(iris[0])
    assert_allclose(paper.graph_, relative.graph_, atol=1e-10)


def test_relative_beta_means_the_same_for_twice_as_many_samples(iris):
    # every sample twice: distances between kernels double, so the paper's beta would have to double too
    X = iris[0][::3]
    model = SMKLClustering(3, scale="none", relative_beta=2)
    once, twice = (clone(model).set_params(gamma=g).fit(Y) for Y, g in ((X, 1), (np.vstack([X, X]), 2)))
    assert_allclose(twice.kernel_shares_, once.kernel_shares_, atol=0.02)


def test_pmkl_s_kernel_is_the_weighted_sum(iris):
    model = PMKLClustering(3, scale="none", random_state=0).fit(iris[0])
    H = kernel_matrices(model, iris[0])
    assert_allclose(model.consensus_kernel_, np.einsum("i,ijk->jk", model.kernel_weights_, H), atol=1e-12)
    assert_allclose(np.sqrt(model.kernel_weights_).sum(), 1)


def test_a_run_cut_short_warns_with_what_to_do(iris):
    with pytest.warns(ConvergenceWarning, match=r"SMKL stopped after 1 iteration with .* raise max_iter or tol"):
        SMKLClustering(3, max_iter=1).fit(iris[0])


def test_duplicate_samples_share_their_cluster(iris):
    X = np.vstack([iris[0], iris[0][:20]])
    labels = SMKLClustering(3, random_state=0).fit_predict(X)
    assert_array_equal(labels[:20], labels[-20:])


def test_constant_columns_and_a_zero_row_do_no_harm(iris):
    X = np.column_stack([iris[0], np.zeros(150)])
    X[0] = 0
    model = SMKLClustering(3, random_state=0).fit(X)
    assert np.isfinite(model.graph_).all()


def test_one_cluster_holds_everything(iris):
    assert_array_equal(SMKLClustering(1, random_state=0).fit_predict(iris[0][::5]), 0)


@pytest.mark.parametrize("scheme", ["safeguarded", "released"])
def test_labels_are_a_partition_as_good_as_k_means_finds(iris, scheme):
    model = SMKLClustering(3, scheme=scheme, n_init=3, random_state=0).fit(iris[0])
    inertia = KMeans(3, n_init=3, random_state=0).fit(model.embedding_).inertia_
    assert sum_of_squares(model.embedding_, model.labels_) <= inertia * (1 + 1e-9)


@pytest.mark.parametrize("scheme", ["released", "printed"])
def test_the_paper_s_schemes_keep_plain_k_means(iris, scheme):
    model = SMKLClustering(8, scheme=scheme, n_init=2, random_state=0).fit(iris[0])
    seed = np.random.RandomState(0)
    seed.randint(np.iinfo(np.int32).max)  # the solver takes one number first
    assert_array_equal(KMeans(8, n_init=2, random_state=seed).fit_predict(model.embedding_), model.labels_)


def test_single_precision_agrees_with_double_where_the_consensus_meets_a_kernel(H):
    copies = np.concatenate([H, np.repeat(H[3:4], 8, axis=0)])  # more than half are one kernel: K goes there
    # the whole graph: of entries that are nearly equal, rounding decides which are the strongest
    model = SMKLClustering(3, kernels="precomputed", n_neighbors="all", random_state=0)
    double, single = (clone(model).fit(copies.astype(dtype)) for dtype in ("float64", "float32"))
    assert_allclose(double.consensus_kernel_, H[3], atol=1e-4)
    assert_allclose(single.kernel_weights_, double.kernel_weights_, rtol=1e-3)
    assert_allclose(single.graph_, double.graph_, atol=1e-5)
    assert adjusted_rand_score(double.labels_, single.labels_) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["yale", "jaffe", "tr11", "tr45", "tr41", "ba", "coil20", "yeast"])
def test_single_and_double_precision_find_the_same_clusters_in_the_paper_s_data(shared_data, name):
    data = load_dataset(name, data_home=shared_data / "paper")
    # the whole graph: of entries that are nearly equal, rounding decides which are the strongest
    model = SMKLClustering(len(np.unique(data.target)), n_neighbors="all", random_state=0)
    double, single = (clone(model).set_params(dtype=dtype).fit(data.data) for dtype in ("float64", "float32"))
    assert adjusted_rand_score(double.labels_, single.labels_) >= 0.99
    assert np.linalg.norm(single.graph_ - double.graph_) < 1e-4 * np.linalg.norm(double.graph_)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["yale", "jaffe", "tr11", "tr45", "tr41", "ba", "coil20", "yeast"])
def test_single_and_double_precision_keep_nearly_the_same_edges_in_the_paper_s_data(shared_data, name):
    data = load_dataset(name, data_home=shared_data / "paper")
    model = SMKLClustering(len(np.unique(data.target)), random_state=0)
    double, single = (clone(model).set_params(dtype=dtype).fit(data.data).graph_ for dtype in ("float64", "float32"))
    assert np.count_nonzero((double != 0) != (single != 0)) < 0.002 * np.count_nonzero(double)
    assert np.linalg.norm(single - double) < 0.01 * np.linalg.norm(double)


@pytest.mark.parametrize("scheme", ["safeguarded", "released", "exact"])
@pytest.mark.parametrize("model", [SMKLClustering(7), KGLClustering(7), PMKLClustering(7)], ids=repr)
def test_labels_for_another_seed_are_those_of_a_fit_with_it(iris, model, scheme):
    X = iris[0][::3]
    model = clone(model).set_params(scheme=scheme, n_init=1, random_state=0, max_iter=500).fit(X)
    fits = [clone(model).set_params(random_state=seed).fit_predict(X) for seed in range(4)]
    for seed, labels in enumerate(fits):
        assert_array_equal(model.labels_for(seed), labels)
        assert_array_equal(model.labels_for(np.random.RandomState(seed)), labels)
    assert model.labels_for(0).dtype == model.labels_.dtype


def test_labels_for_asks_for_the_seed_of_k_means_not_for_that_of_fit(iris):
    model = SMKLClustering(8, scheme="released", n_init=1, random_state=0).fit(iris[0])
    before = model.labels_.copy()
    assert any(adjusted_rand_score(before, model.labels_for(seed)) < 1 for seed in range(1, 5))
    assert_array_equal(model.labels_, before)


@pytest.mark.parametrize("model", [SMKLClustering(3, random_state=0), KGLClustering(3, random_state=0)])
def test_labels_for_are_those_of_the_fitted_number_of_clusters(iris, model):
    model = clone(model).fit(iris[0])
    assert_array_equal(model.set_params(n_clusters=5).labels_for(0), model.labels_)


def test_labels_for_refuses_a_scheme_whose_start_depends_on_the_seed(iris):
    model = SMKLClustering(3, scheme="printed", random_state=0).fit(iris[0][::3])
    with pytest.raises(InvalidInputError, match=r'scheme="printed" starts from a random graph.* fit the model again'):
        model.labels_for(1)


def test_labels_for_asks_for_a_fitted_model():
    with pytest.raises(NotFittedError, match="SMKLClustering instance is not fitted yet"):
        SMKLClustering(3).labels_for(0)
