"""Tasks: what is computed together, what identifies a row, and that rows are what single fits give."""

import numpy as np
import pytest

from kernelweave import SMKLClustering, smkl_path
from kernelweave.baselines import AASC, MKKM, SSR, KernelSpectralClustering
from kernelweave.datasets.registry import DATASETS
from kernelweave.experiments import load_spec
from kernelweave.experiments.data import known_datasets, load_samples
from kernelweave.experiments.execute import run_task
from kernelweave.experiments.methods import shares_a_fit
from kernelweave.experiments.store import SharedData
from kernelweave.experiments.tasks import expand, n_settings
from kernelweave.kernels import recipe
from kernelweave.metrics import clustering_accuracy


@pytest.fixture
def tasks(write):
    return expand(load_spec(str(write())))


def test_tasks_come_in_a_stable_order_small_data_sets_first(tasks, write):
    again = expand(load_spec(str(write())))
    assert [task.name for task in tasks] == [task.name for task in again]
    assert [task.data.n_samples for task in tasks] == sorted(task.data.n_samples for task in tasks)
    assert len({key for task in tasks for key in task.row_keys}) == sum(len(task.points) for task in tasks)


def test_a_task_is_the_same_whatever_else_is_run(tasks, write):
    alone = expand(load_spec(str(write())).narrowed(["wine"], ["SMKL"]))
    assert {task.name for task in alone} < {task.name for task in tasks}


def test_a_task_is_another_if_a_parameter_changes(tasks, write):
    other = expand(load_spec(str(write(("beta = 100.0", "beta = 10.0")))))
    changed = {task.name for task in tasks} ^ {task.name for task in other}
    assert len(changed) == 2 * 2 * 2  # two alphas, two data sets, before and after


def test_a_path_is_one_task_per_value_of_the_other_parameters_with_alpha_rising(tasks):
    paths = [task for task in tasks if task.path]
    assert len(paths) == 2 * 2
    assert [point.parameters["alpha"] for point in paths[0].points] == [1e-5, 1e-4, 1e-2]


def test_overlapping_grids_give_each_setting_once(write):
    again = 'scheme = "released"\nbeta = 100.0\nalpha = 1e-2'
    spec = load_spec(str(write(("path = true\nalpha = [1e-2, 1e-5, 1e-4]", again))))
    assert len(expand(spec.narrowed(["iris"], ["SMKL"]))) == 2 + 2  # gamma 0.1 and 1.0 stand in the second grid only


@pytest.fixture
def shared(tmp_path, tasks):
    return SharedData.build(tmp_path, [task for task in tasks if task.data.name == "iris"], None)


def rows_of(tasks, shared, method):
    return [row for t in tasks if t.data.name == "iris" and t.method.name == method for row in run_task(t, shared)]


def test_the_rows_of_a_path_are_those_of_smkl_path(tasks, shared):
    X, y = samples_of("iris")
    found = [row["acc"] for t in tasks if t.path and t.data.name == "iris" for row in run_task(t, shared)]
    H = recipe("released-12").fit_grams(X)
    expected = []
    for gamma in (0.1, 1.0):
        model = SMKLClustering(3, kernels="precomputed", gamma=gamma, n_init=3, random_state=0)
        expected += [clustering_accuracy(y, m.labels_) for m in smkl_path(model, H, {"alpha": [1e-5, 1e-4, 1e-2]})]
    assert found == expected


def test_a_row_of_each_kernel_is_that_of_a_fit_with_that_kernel_and_seed(tasks, shared):
    X, y = samples_of("iris")
    bank = recipe("released-7")
    H = dict(zip(bank.names, bank.fit_grams(X), strict=True))
    rows = rows_of(tasks, shared, "SC")
    assert len(rows) == 7 * 2
    for row in rows[-4:]:
        model = KernelSpectralClustering(3, kernel="precomputed", n_init=2, random_state=row["seed"])
        assert row["acc"] == clustering_accuracy(y, model.fit(H[row["kernel"]]).labels_)


def test_a_grid_runs_on_the_kernels_of_every_recipe_that_it_names(write, tmp_path):
    grid = 'parameters = { n_init = 2 }\n\n[[methods.grid]]\nkernels = ["released-7", "printed-7"]\n'
    spec = load_spec(str(write(("parameters = { n_init = 2 }\n", grid)))).narrowed(["iris"], ["SC"])
    tasks = expand(spec)
    assert n_settings(spec.methods[0], "iris", "quick") == len(tasks) == 14
    rows = rows_of(tasks, SharedData.build(tmp_path, tasks, None), "SC")
    X, y = samples_of("iris")
    for bank, suffix in (("released-7", ""), ("printed-7", " of printed-7")):
        K = recipe(bank).fit_grams(X)[0]
        model = KernelSpectralClustering(3, kernel="precomputed", n_init=2, random_state=0)
        expected = clustering_accuracy(y, model.fit(K).labels_)
        assert [r["acc"] for r in rows if r["kernel"] == f"gaussian(t=0.1){suffix}" and r["seed"] == 0] == [expected]


@pytest.mark.filterwarnings("ignore:The graph of AASC")  # whose kernels are nearly the identity: see its notes
@pytest.mark.parametrize(
    "model",
    [
        KernelSpectralClustering(3, n_init=2),
        SSR(3, n_init=2),
        AASC(3, init="released", n_init=2),
        SMKLClustering(3, n_init=2),
        SMKLClustering(3, n_init=2, scheme="released", beta=100),
    ],
    ids=str,
)
def test_repeats_that_share_a_fit_are_what_fits_of_their_own_give(model):
    X, _ = samples_of("iris")
    fitted = model.set_params(random_state=0).fit(X)
    assert shares_a_fit(type(model), model.get_params())
    labels = [fitted.labels_for(seed) for seed in range(3)]
    for seed, found in enumerate(labels):
        np.testing.assert_array_equal(found, model.set_params(random_state=seed).fit(X).labels_)


def test_repeats_that_start_at_random_or_have_no_embedding_need_fits_of_their_own():
    assert not shares_a_fit(SMKLClustering, {"scheme": "printed"})
    assert not shares_a_fit(MKKM, {})


def samples_of(name):
    samples = load_samples(name)
    return samples.X, samples.y


def test_experiments_know_data_sets_of_one_table_and_refuse_those_of_several_views():
    views = {info.name: info.n_views for info in DATASETS}
    assert 2 in views.values()
    known = set(known_datasets())
    assert {name for name, count in views.items() if count == 1} <= known
    assert known.isdisjoint(name for name, count in views.items() if count > 1)
