"""Trials: what methods are given, limits, resuming, and methods of one's own."""

import json
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from kernelweave import Views
from kernelweave.datasets import dataset_info
from kernelweave.errors import InvalidInputError, PluginError, ResultsError
from kernelweave.leaderboard import Protocol, find_entrant, run_benchmark, trial_runs
from kernelweave.leaderboard.entrants import Entrant, default_entrants
from kernelweave.leaderboard.limits import OutOfTimeError, PeakMemory, limited
from kernelweave.leaderboard.trial_data import TrialData, _with_gaps, _with_noise, prepare, trial_data
from kernelweave.leaderboard.trial_runs import run_trial
from kernelweave.leaderboard.trials import Trial, plan

QUICK = Protocol(seeds=2, max_samples=60, max_seconds=120)


def trial(method, condition="plain", protocol=QUICK, dataset="iris"):
    return Trial(dataset_info(dataset), find_entrant(method), condition, 0, protocol)


@pytest.fixture
def views(rng):
    words = sparse.csr_array(rng.random((20, 30)) * (rng.random((20, 30)) < 0.05))
    return Views({"numbers": rng.normal(3, 2, (20, 4)), "words": words})


@pytest.mark.parametrize("method", [e.name for e in default_entrants() if e.role == "clusterer"])
def test_every_clusterer_has_a_row_with_scores_time_memory_and_provenance(method):
    (row,) = run_trial(trial(method))
    assert row["error"] == ""
    assert row["outcome"] in ("FINISHED", "MAX_ITER")
    assert 0 < row["acc"] <= 1
    assert 0 <= row["nmi"] <= 1
    assert (row["n_samples"], row["n_classes"]) == (60, 3)
    assert row["seconds"] > 0
    assert row["data_sha256"] == ""  # of scikit-learn, which has no file
    assert json.loads(row["protocol"])["max_seconds"] == 120


@pytest.mark.parametrize("method", [e.name for e in default_entrants() if e.role == "classifier"])
def test_every_classifier_is_scored_on_the_samples_without_labels(method):
    (row,) = run_trial(trial(method, "labels"))
    assert row["error"] == ""
    assert row["acc"] > 0.5
    assert row["nmi"] is None


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        ("raise InvalidInputError('one table only')", "REFUSED"),
        ("raise ValueError('no')", "FAILED"),
        ("self.labels_ = [0, 1]", "FAILED"),
    ],
)
def test_only_a_fit_refuses_samples_and_wrong_labels_are_a_failure(body, outcome, tmp_path, monkeypatch):
    name = f"method_{len(body)}"
    (tmp_path / f"{name}.py").write_text(
        textwrap.dedent(f"""
            from sklearn.base import BaseEstimator, ClusterMixin
            from kernelweave.errors import InvalidInputError

            class Own(ClusterMixin, BaseEstimator):
                def __init__(self, n_clusters=3):
                    self.n_clusters = n_clusters

                def fit(self, X, y=None):
                    {body}
                    return self
            """)
    )
    monkeypatch.syspath_prepend(tmp_path)
    (row,) = run_trial(trial(f"{name}:Own"))
    assert row["outcome"] == outcome
    assert row["acc"] is None


def test_a_method_that_finds_the_number_of_clusters_is_not_told_it():
    (row,) = run_trial(trial("NEMO", "unknown"))
    assert row["n_found"] >= 1
    assert find_entrant("NEMO").build(None, 0).n_clusters == "auto"
    assert find_entrant("NEMO").build(5, 0).n_clusters == 5


def test_a_larger_data_set_is_cut_to_the_same_samples_for_all_methods():
    first = trial_data("digits", "plain", 0, QUICK, None)
    second = trial_data("digits", "labels", 7, QUICK, None)
    assert first.views.n_samples == 60
    assert_array_equal(first.views.tables[0], second.views.tables[0])
    assert first.labelled is None
    assert second.labelled.sum() >= second.n_classes


def test_gaps_are_drawn_by_the_seed_and_leave_every_sample_in_a_view(views):
    one, two = (_with_gaps(views, 0.5, np.random.default_rng(seed)) for seed in (0, 1))
    assert (~one.present).sum() == 10
    assert one.present.any(axis=0).all()
    assert (one.present != two.present).any()


def test_noise_is_a_view_with_its_rows_permuted(views):
    noisy = _with_noise(views, np.random.default_rng(0))
    assert noisy.names == ("numbers", "words", "noise")
    source = views.tables[views.widths.index(noisy.widths[2])]
    values = [np.sort((t.toarray() if sparse.issparse(t) else t).sum(axis=1)) for t in (source, noisy.tables[2])]
    assert_allclose(*values)


def test_conditions_on_views_need_several():
    with pytest.raises(InvalidInputError, match="iris has one view: the condition 'gaps' needs two or more"):
        trial_data("iris", "gaps", 0, QUICK, None)


def test_kernel_matrices_are_not_entered():
    with pytest.raises(InvalidInputError, match="flower17 has kernel matrices and no samples"):
        trial_data("flower17", "plain", 0, QUICK, None)


def test_the_usual_scaling_is_z_scores_or_unit_rows_where_most_is_zero(views):
    given = prepare(Entrant("x", "sklearn.cluster:KMeans"), TrialData(views, np.zeros(20, dtype=np.int64)))
    assert_allclose(given.tables[0].mean(axis=0), 0, atol=1e-12)
    lengths = np.sqrt((given.tables[1] ** 2).sum(axis=1))
    assert set(np.round(lengths, 9)) <= {0.0, 1.0}


def test_one_table_has_all_columns_with_views_of_equal_size_and_means_in_gaps(views):
    entrant = Entrant("x", "sklearn.cluster:KMeans", given="table")
    lacking = _with_gaps(views, 0.5, np.random.default_rng(0))
    X = prepare(entrant, TrialData(lacking, np.zeros(20, dtype=np.int64)))
    assert X.shape == (20, 34)
    assert_allclose([(block**2).sum(axis=1).mean() for block in (X[:, :4], X[:, 4:])], 1)
    gone = ~lacking.present[0]
    assert_allclose(X[gone][:, :4], np.tile(X[~gone][:, :4].mean(axis=0), (gone.sum(), 1)), atol=1e-12)


def test_rows_are_standardised_for_gmc_as_its_authors_do(views):
    given = prepare(find_entrant("GMC"), TrialData(views, np.zeros(20, dtype=np.int64)))
    assert_allclose(given.tables[0].mean(axis=1), 0, atol=1e-12)
    assert_allclose(given.tables[0].std(axis=1, ddof=1), 1)


def test_a_fit_is_stopped_at_the_limit_of_cpu_time():
    with pytest.raises(OutOfTimeError), limited(0.05, 4):  # noqa: PT012
        while True:
            pass


def test_a_fit_that_needs_too_much_memory_is_stopped_and_the_limit_is_lifted():
    with pytest.raises(MemoryError, match=r"(?i)allocate"), limited(60, 0.2):
        np.ones(2**26)
    assert np.ones(2**26).nbytes == 2**29


def test_peak_memory_counts_what_was_freed():
    peak = PeakMemory()
    if peak.mib() is None:
        pytest.skip("the system does not tell the peak of memory")
    np.ones(2**23).sum()
    assert 60 < peak.mib() < 100


def test_what_does_not_finish_is_a_row_that_says_so():
    (row,) = run_trial(trial("WeaveClustering", protocol=Protocol(max_seconds=0.01), dataset="digits"))
    assert row["outcome"] == "NOT FINISHED"
    assert row["error"] == "stopped after 0.01 s of CPU time"
    assert row["acc"] is None


def test_trials_go_seed_by_seed_and_leave_out_what_makes_no_sense():
    entrants = [find_entrant(name) for name in ("GMC", "Ward", "WeaveClassifier")]
    data = [dataset_info(name) for name in ("msrcv1", "iris")]
    trials = plan(data, entrants, ["plain", "unknown", "gaps", "labels"], QUICK)
    told = [(t.data.name, t.entrant.name, t.condition, t.seed) for t in trials]
    assert told[0] == ("iris", "GMC", "plain", 0)
    assert [t for t in told if t[1] == "Ward" and t[2] == "plain"] == [
        ("iris", "Ward", "plain", 0),
        ("msrcv1", "Ward", "plain", 0),
    ]
    assert {t[0] for t in told if t[2] == "gaps"} == {"msrcv1"}
    assert {t[1] for t in told if t[2] == "labels"} == {"WeaveClassifier"}
    assert not [t for t in told if t[2] == "unknown"]
    assert [t[3] for t in told] == sorted(t[3] for t in told)
    assert len({t.name for t in trials}) == len(trials)


def test_finished_trials_are_not_run_again_and_more_are_added(tmp_path, monkeypatch):
    limits = Protocol(seeds=1, max_samples=60)
    first = run_benchmark(tmp_path / "out", ["iris"], ["KMeans"], protocol=limits)
    monkeypatch.setattr(trial_runs, "run_trial", lambda *a, **k: pytest.fail("a finished trial was run again"))
    again = run_benchmark(str(tmp_path / "out"), ["iris"], ["KMeans"], protocol=limits)
    assert first.equals(again)
    monkeypatch.undo()
    more = run_benchmark(tmp_path / "out", ["wine"], ["Ward"], protocol=Protocol(seeds=3, max_samples=60))
    assert set(zip(more["dataset"], more["method"], strict=True)) == {("iris", "KMeans"), ("wine", "Ward")}
    with pytest.raises(ResultsError, match="holds rows of 'leaderboard' under the preset '300 s, 4 GiB'"):
        run_benchmark(tmp_path / "out", ["wine"], ["Ward"], protocol=Protocol(max_seconds=50))


def test_two_processes_compute_the_same_figures(tmp_path):
    some = {"datasets": ["iris", "wine"], "methods": ["KMeans", "Ward"], "protocol": Protocol(seeds=1, max_samples=60)}
    one = run_benchmark(tmp_path / "one", **some)
    two = run_benchmark(tmp_path / "two", **some, jobs=2)
    assert_array_equal(one[["dataset", "method"]], two[["dataset", "method"]])
    assert_allclose(one["acc"], two["acc"], rtol=0)


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        (
            "nobody",
            InvalidInputError,
            "no method 'nobody': choose one of WeaveClustering, .*or give a class as module:Class",
        ),
        ("no_such_module:A", InvalidInputError, "no_such_module:A cannot be imported: No module named"),
        ("sklearn.cluster:k_means", PluginError, "must be an estimator class with a method fit"),
        ("sklearn.decomposition:PCA", PluginError, "must be a clusterer or a classifier"),
    ],
)
def test_what_is_no_method_is_refused(name, error, message):
    with pytest.raises(error, match=message):
        find_entrant(name)


def test_an_unknown_condition_is_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="no condition 'rain': choose of plain, unknown, gaps, noise, labels"):
        run_benchmark(tmp_path, ["iris"], ["KMeans"], conditions=["rain"])


@pytest.mark.parametrize(("field", "value"), [("seeds", 0), ("max_samples", 3), ("gap_share", 1.0), ("max_gib", 0.0)])
def test_impossible_limits_are_refused(field, value):
    with pytest.raises(InvalidInputError, match=f"{field} must be"):
        Protocol(**{field: value})


OWN = textwrap.dedent(
    """
    import numpy as np
    from sklearn.base import BaseEstimator, ClusterMixin

    class {name}(ClusterMixin, BaseEstimator):
        {views}
        def __init__(self, n_clusters=2, random_state=None):
            self.n_clusters = n_clusters
            self.random_state = random_state

        def fit(self, X, y=None):
            first = X.tables[0] if hasattr(X, "tables") else X
            self.labels_ = np.arange(len(first)) % self.n_clusters
            return self
    """
)


def test_a_method_of_ones_own_joins_by_its_module_and_class(tmp_path, monkeypatch):
    (tmp_path / "my_own_method.py").write_text(OWN.format(name="Mine", views=""))
    monkeypatch.syspath_prepend(str(tmp_path))
    rows = run_benchmark(tmp_path / "out", ["iris"], ["KMeans", "my_own_method:Mine"], protocol=QUICK)
    assert set(rows["method"]) == {"KMeans", "Mine"}
    assert rows.set_index("method").loc["Mine", "estimator"].iloc[0] == "my_own_method:Mine"
    assert find_entrant("my_own_method:Mine").given == "table"
    sys.modules.pop("my_own_method")


def test_a_method_of_ones_own_may_ask_for_all_views(tmp_path, monkeypatch):
    (tmp_path / "my_view_method.py").write_text(OWN.format(name="Mine", views="takes_views = True"))
    monkeypatch.syspath_prepend(str(tmp_path))
    assert find_entrant("my_view_method:Mine").given == "views"
    sys.modules.pop("my_view_method")


def test_leiden_finds_the_groups_where_igraph_is_installed(rng):
    pytest.importorskip("igraph", reason="igraph is not installed")
    from kernelweave.leaderboard.leiden import Leiden

    X = np.vstack([rng.normal(c, 0.1, (40, 2)) for c in (0, 5, 10)])
    one, two = (Leiden(random_state=0).fit(X).labels_ for _ in range(2))
    assert_array_equal(one, two)
    assert len(set(zip(one.tolist(), np.repeat(range(3), 40).tolist(), strict=True))) == len(set(one.tolist()))


def test_a_trial_outside_the_main_thread_is_refused_before_it_starts():
    with (
        ThreadPoolExecutor(1) as pool,
        pytest.raises(InvalidInputError, match="needs Linux or macOS and the main thread"),
    ):
        pool.submit(run_trial, trial("KMeans")).result()


def test_limits_are_the_same_protocol_however_their_numbers_are_written():
    assert Protocol(max_seconds=60, max_gib=4).limits == Protocol(max_seconds=60.0, max_gib=4.0).limits
    assert Protocol(max_seconds=60).limits != Protocol(max_seconds=61).limits
