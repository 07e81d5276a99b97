"""Whether clusters stand out: separate blobs do, one cloud does not, and few samples cannot tell."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs

import kernelweave
from kernelweave import Chunks, Landmark, Views, WeaveClustering
from kernelweave.core.graphs.affinity import GraphRule
from kernelweave.core.graphs.coordinates import margins
from kernelweave.core.partitions.agreement import rand_index
from kernelweave.errors import InvalidInputError
from kernelweave.kernels import Chi2, Gaussian
from kernelweave.weave.clarity import Clarity
from kernelweave.weave.plan import Plan

PLAN = Plan("auto", "self", "auto", GraphRule(), "auto", True, None, None, print)


def clarity(X, n_clusters, seed=0):
    return WeaveClustering(n_clusters, random_state=seed).fit(X).clarity_


@pytest.mark.parametrize("seed", range(2))
def test_separate_blobs_stand_out(seed):
    X, _ = make_blobs(90, n_features=5, centers=3, random_state=seed)
    assert clarity(X, 3) == 1


@pytest.mark.parametrize("seed", range(2))
def test_the_clusters_of_one_cloud_do_not_stand_out(seed):
    assert clarity(np.random.default_rng(seed).normal(size=(150, 5)), 3) < 0.5


@pytest.mark.parametrize("solver", ["dense", "local", "landmark"])
def test_every_solver_tells_blobs_from_a_cloud_by_at_most_300_samples(solver):
    rng = np.random.default_rng(0)
    cloud, centres = rng.normal(size=(700, 6)), 8 * rng.normal(size=(4, 6))
    blobs = cloud + centres[rng.integers(4, size=700)]
    apart, one = (WeaveClustering(4, solver=solver, random_state=0).fit(X) for X in (blobs, cloud))
    assert apart._clarity.sample.n_samples == one._clarity.sample.n_samples == 300
    assert apart.clarity_ == 1
    assert one.clarity_ < 0.3
    assert np.median(one.confidence_) < 0.4 < 0.9 < np.median(apart.confidence_)


@pytest.mark.parametrize("as_chunks", [np.asarray, sparse.csr_array, lambda X: Chunks([X[:500], X[500:]])])
def test_landmarks_measure_the_clarity_on_samples_that_differ(as_chunks):
    rng = np.random.default_rng(0)
    X = np.zeros((3000, 12))
    X[:40] = rng.normal(size=(40, 12)) + 6 * rng.integers(0, 2, size=(40, 1))
    order = rng.permutation(len(X))
    model = WeaveClustering(3, solver=Landmark(n_landmarks=20), random_state=0).fit(as_chunks(X[order]))
    assert model._clarity.sample.n_samples == 41
    assert 0 <= model.clarity_ <= 1
    assert np.isfinite(model.confidence_).all()


def test_fewer_than_eight_samples_per_cluster_cannot_tell():
    X = np.random.default_rng(0).normal(size=(20, 5))
    assert clarity(X[:15], 2) == 1
    assert clarity(X[:16], 2) < 1


@pytest.fixture
def measured(monkeypatch):
    """Set what graphs of the sample, of clouds and of permuted columns show: eigenvalues and agreement of partitions.

    Returns the function that takes them and gives the clarity, and how many samples were measured.
    """

    def given(own, *others):
        sizes, left = [], [own, *others]

        def scripted(clarity, views, n_clusters, rng):
            sizes.append(len(np.unique(views.tables[0], axis=0)))
            return left.pop(0)

        monkeypatch.setattr(Clarity, "_measured", scripted)
        views, rng = Views.of_table(np.random.default_rng(0).normal(size=(200, 3))), np.random.RandomState(0)
        found = Clarity(views, (), PLAN, 3, rng).value
        assert set(sizes) == {200}
        return found, len(sizes) - 1

    return given


EVEN = [np.array([0.0, 0.1, 0.2, 0.3, 0.4])]  # no gap larger than that of a cloud


@pytest.mark.parametrize(
    ("agreement", "chances", "expected"),
    [
        (0.5, [0.3, 0.1], (1.0, 6)),  # 0.2 above chance: clear, but not beyond doubt
        (0.5, [0.4, 0.1, 0.2, 0.45], (0.25, 6)),  # the largest chance of all draws counts
        (0.5, [0.19, 0.1], (1.0, 2)),
        (0.5, [0.1, 0.21], (1.0, 6)),
        (0.5, [0.5, 0.1], (0.0, 2)),
        (0.1, [-0.2, -0.1], (0.5, 6)),
    ],
)
def test_agreement_is_measured_beyond_the_largest_chance_of_three_draws(measured, agreement, chances, expected):
    draws = [*chances, *[chances[0]] * 6]
    clear, n_measured = measured((EVEN, agreement), *((EVEN, chance) for chance in draws[:6]))
    assert (clear, n_measured) == (pytest.approx(expected[0], abs=1e-12), expected[1])


def test_a_gap_larger_than_that_of_the_clouds_shows_clusters_too(measured):
    wide = [np.array([0.0, 0.01, 0.02, 0.3, 0.4])]
    assert measured((wide, 0.0), *[(EVEN, 0.5)] * 2) == (1.0, 2)
    assert measured((EVEN, 0.0), *[(EVEN, 0.5)] * 2) == (0.0, 2)
    somewhat = [np.array([0.0, 0.1, 0.275, 0.3, 0.4])]  # λ₃/λ₂ is 2.75, that of the cloud 2: halfway from 1 to 1.75
    clear, _ = measured((somewhat, 0.0), *[(EVEN, 0.5)] * 2)
    assert clear == pytest.approx(0.5)
    later = [np.array([0.0, 0.1, 0.2, 0.3, 1.2])]  # a gap after more clusters than were asked for
    assert measured((later, 0.0), *[(EVEN, 0.5)] * 2) == (0.0, 2)


# what the clarity does to memberships, and when it is measured


@pytest.fixture
def cloud():
    """Return samples without structure, new ones, and clusters of the first that do not stand out at all."""
    X = np.random.RandomState(1).normal(size=(400, 8))
    model = WeaveClustering(3, random_state=0).fit(X[:300])
    assert model.clarity_ == 0
    return model, X[:300], X[300:]


def test_new_samples_have_clusters_also_where_these_do_not_stand_out(cloud):
    model, X, new = cloud
    assert len(set(model.labels_)) == len(set(model.predict(new))) == 3
    assert_array_equal(model.predict(X), model.labels_)
    assert_allclose(model.predict_proba(new), 1 / 3)
    assert_allclose(model.confidence_, 1 / 3)


@pytest.mark.parametrize("clear", [1.0, 0.25, 0.0])
def test_memberships_are_mixed_with_chance_where_clusters_are_not_clear(cloud, monkeypatch, clear):
    _, X, new = cloud
    model = WeaveClustering(3, random_state=0).fit(X)
    values = np.eye(3)[model.labels_]
    monkeypatch.setitem(vars(model._clarity), "value", clear)
    joined = model._graph_model.joiner.rows(Views.of_table(new))
    shares = joined @ values / joined.sum(axis=1)[:, None]
    assert_allclose(model.predict_proba(new), clear * shares + (1 - clear) / 3)
    assert_allclose(model.membership_, clear * model._membership + (1 - clear) / 3)
    assert_allclose((model.confidence_, model.margin_), margins(model.membership_, model.labels_))
    assert_array_equal(model.predict(new), shares.argmax(axis=1))


def test_the_clarity_is_measured_once_when_it_is_first_read(monkeypatch, cloud):
    _, X, new = cloud
    measured = []
    own = Clarity._measured
    monkeypatch.setattr(Clarity, "_measured", lambda *given: measured.append(1) or own(*given))
    model = WeaveClustering(3, random_state=0).fit(X)
    model.predict(new)
    assert not measured
    model.membership_, model.confidence_, model.margin_, model.predict_proba(new)
    assert len(measured) == 3
    assert model.fit(X[:50]).labels_.shape == model.confidence_.shape == (50,)  # nothing of the first fit is left
    assert len(measured) > 3


def test_a_seed_gives_the_same_clarity_whatever_is_read_before(cloud):
    _, X, _ = cloud
    rng = np.random.RandomState(3)
    early, late = (WeaveClustering(4, random_state=seed).fit(X) for seed in (rng, 5))
    first = early.clarity_
    rng.uniform(size=100)
    again = WeaveClustering(4, random_state=np.random.RandomState(3)).fit(X)
    assert (again.predict_proba(X) == early.membership_).all()
    assert again.clarity_ == first
    assert WeaveClustering(4, random_state=5).fit(X).clarity_ == late.clarity_


def test_a_saved_model_has_the_clarity_without_the_samples_it_is_measured_on(tmp_path, cloud):
    _, X, new = cloud
    model = WeaveClustering(4, random_state=0).fit(X)
    model.save(tmp_path / "model.kw")
    for again in (kernelweave.load(tmp_path / "model.kw"), pickle.loads(pickle.dumps(model))):
        assert vars(again._clarity) == {"value": model.clarity_}
        assert_array_equal(again.membership_, model.membership_)
        assert_array_equal(again.predict_proba(new), model.predict_proba(new))


class Unmeasured(Landmark):
    """A solver that cannot tell how far clusters stand out."""

    def cluster(self, samples, plan, task, rng):
        return replace(super().cluster(samples, plan, task, rng), clarity=None)


def test_a_solver_that_does_not_measure_the_clarity_says_so(cloud):
    _, X, _ = cloud
    model = WeaveClustering(3, solver=Unmeasured(), random_state=0).fit(X)
    with pytest.raises(AttributeError, match="does not measure clarity_: use one of dense, local, landmark"):
        model.clarity_  # noqa: B018
    assert model.confidence_.max() > 0.5
    assert not hasattr(WeaveClustering(3), "clarity_")
    assert not hasattr(WeaveClustering(3), "confidence_")


@pytest.fixture(scope="module")
def histograms():
    rng = np.random.default_rng(0)
    means = rng.dirichlet(np.ones(12), 3)
    return np.vstack([rng.multinomial(80, mean, size=40) for mean in means]).astype(float)


def refusing(x, y):
    assert min(x.min(), y.min()) >= 0
    return float(np.minimum(x, y).sum())


@pytest.mark.parametrize("solver", ["dense", "local"])
@pytest.mark.parametrize("kernels", [[Chi2()], ["chi2"], {"own": refusing, "wide": Gaussian()}])
def test_kernels_of_counts_meet_no_negative_values_in_samples_without_structure(histograms, kernels, solver):
    options = {"kernels": kernels, "scale": "none", "solver": solver, "random_state": 0}
    model = WeaveClustering(3, **options).fit(histograms)
    assert model.clarity_ > 0.5
    assert rand_index(model.labels_, np.repeat([0, 1, 2], 40)) > 0.9
    assert WeaveClustering("auto", **options).fit(histograms).n_clusters_ in (2, 3)


@pytest.mark.parametrize("kernels", [[Chi2()], ["chi2"]])
def test_kernels_of_counts_refuse_z_scores_and_name_the_way_out(histograms, kernels):
    with pytest.raises(InvalidInputError, match=r'compares counts or histograms.*scale="none" or scale="unit"'):
        WeaveClustering(3, kernels=kernels).fit(histograms)
