"""A search in two stages: every setting on a few draws, the best ones on all, and what counts as converged."""

import pytest

from kernelweave.errors import InvalidInputError
from kernelweave.experiments import load_spec, run_experiment
from kernelweave.experiments.refining import expected_second_stage, second_stage
from kernelweave.experiments.rows import settled
from kernelweave.experiments.tasks import expand

STAGES = """
kind = "classification"

[labels]
protocol = "per-class"
fractions = [0.1, 0.5]

[presets.quick]
datasets = ["iris"]
draws = 4
coarse = { draws = 2, keep = 2 }

[[methods]]
name = "SCAN"
estimator = "SCAN"
input = "features"

[[methods.grid]]
n_neighbors = [3, 9]
preprocessing = ["none", "unit", "zscore"]

[[methods]]
name = "GFHF"
estimator = "GFHF"
input = "features"
"""


@pytest.fixture
def spec(write):
    return load_spec(str(write(text=STAGES)))


def made(spec, score, outcome=lambda setting: "CONVERGED"):
    """Rows of the coarse stage whose accuracy and outcome are functions of the setting."""
    return {
        task.name: [
            {"acc": score(task.setting(p)), "outcome": outcome(task.setting(p)), "moved": None} for p in task.points
        ]
        for task in expand(spec)
    }


def chosen(tasks):
    return {(task.setting(task.points[0])[0][-2:-1], task.preprocessing) for task in tasks}


def test_the_first_stage_has_all_settings_on_the_first_draws_and_lone_settings_on_all(spec):
    seeds = {name: set() for name in ("SCAN", "GFHF")}
    for task in expand(spec):
        seeds[task.method.name] |= {point.seed for point in task.points}
    assert seeds == {"SCAN": {0, 1}, "GFHF": {0, 1, 2, 3}}


def test_the_second_stage_has_the_other_draws_of_the_best_settings(spec):
    score = {"none": 0.5, "unit": 0.9, "zscore": 0.7}
    second = second_stage(spec, made(spec, lambda s: score[s[2]] + 0.01 * ("9" in s[0])))
    assert chosen(second) == {("9", "unit"), ("3", "unit")}
    assert {point.seed for task in second for point in task.points} == {2, 3}
    assert {task.fraction for task in second} == {0.1, 0.5}


def test_a_setting_that_did_not_converge_or_failed_comes_last(spec):
    def outcome(setting):
        return "MAX_ITER" if setting[2] == "unit" else "CONVERGED"

    def score(setting):
        return None if setting[2] == "none" else {"unit": 0.9, "zscore": 0.2}[setting[2]]

    assert chosen(second_stage(spec, made(spec, score, outcome))) == {("9", "zscore"), ("3", "zscore")}


def test_there_is_no_second_stage_before_the_first_is_complete(spec):
    rows = made(spec, lambda setting: 0.5)
    missing = next(task for task in expand(spec) if task.method.name == "SCAN" and task.fraction == 0.5)
    del rows[missing.name]
    assert {task.fraction for task in second_stage(spec, rows)} == {0.1}
    assert second_stage(spec, {}) == []


def test_the_expected_second_stage_costs_what_the_real_one_does(spec):
    real = second_stage(spec, made(spec, lambda setting: 0.5))
    assert sum(t.cost for t in expected_second_stage(spec)) == sum(t.cost for t in real) > 0


def test_a_run_has_all_draws_of_the_best_settings_and_can_be_resumed(spec, tmp_path, monkeypatch):
    rows = run_experiment(spec, tmp_path / "out")
    scan = rows[rows["method"] == "SCAN"]
    draws = scan.groupby(["fraction", "parameters", "preprocessing"])["seed"].nunique()
    assert sorted(draws) == 2 * [2, 2, 2, 2] + 2 * [4, 4]
    assert len(draws) == 2 * 6
    assert set(rows.loc[rows["method"] == "GFHF", "preprocessing"]) == {"none"}
    monkeypatch.setattr("kernelweave.experiments.runner.run_task", None)  # whoever calls it fails
    assert len(run_experiment(spec, tmp_path / "out")) == len(rows)


def test_preprocessing_changes_the_samples_that_a_method_gets(spec, tmp_path):
    rows = run_experiment(spec, tmp_path / "out", methods=["SCAN"])
    first = rows[(rows["seed"] == 0) & (rows["fraction"] == 0.1) & rows["parameters"].str.contains("9")]
    assert sorted(first["preprocessing"]) == ["none", "unit", "zscore"]
    assert first["acc"].nunique() > 1


@pytest.mark.parametrize(
    ("outcome", "moved", "expected"),
    [
        ("CONVERGED", None, True),
        ("LEVEL", None, True),
        ("MAX_ITER", None, False),
        ("MAX_ITER", 0.0, True),
        ("MAX_ITER", 0.01, False),
        ("FAILED", None, False),
    ],
)
def test_a_run_is_settled_if_it_converged_or_its_labels_stay(outcome, moved, expected):
    assert settled(outcome, moved) is expected


def test_a_confirmed_run_says_how_many_labels_twice_the_iterations_change(write, tmp_path):
    short = ("n_neighbors = [3, 9]", "n_neighbors = 9\nmax_iter = [1, 50]"), ('"none", "unit", "zscore"', '"none"')
    text = STAGES.replace('input = "features"', 'input = "features"\nconfirm = true', 1)
    rows = run_experiment(load_spec(str(write(*short, text=text))), tmp_path / "out", methods=["SCAN"])
    stopped = rows["parameters"].str.contains('"max_iter": 1,')
    assert set(rows.loc[stopped, "outcome"]) == {"MAX_ITER"}
    assert rows.loc[stopped, "moved"].between(0, 1).all()
    assert rows.loc[rows["outcome"] == "CONVERGED", "moved"].isna().all()


def test_a_coarse_stage_may_have_its_own_numbers_for_each_data_set(write):
    own = "coarse = { draws = { iris = 1, wine = 3 }, keep = { iris = 1, wine = 2 } }"
    edits = ('datasets = ["iris"]', 'datasets = ["iris", "wine"]'), ("coarse = { draws = 2, keep = 2 }", own)
    spec = load_spec(str(write(*edits, text=STAGES))).narrowed(methods=["SCAN"])
    second = second_stage(spec, made(spec, lambda setting: 0.5))
    for name, first, kept in (("iris", 1, 1), ("wine", 3, 2)):
        seeds = {p.seed for t in expand(spec) for p in t.points if t.data.name == name}
        assert seeds == set(range(first))
        assert len(chosen([t for t in second if t.data.name == name])) == kept


def test_a_coarse_stage_needs_both_of_its_numbers(write):
    with pytest.raises(InvalidInputError, match=r"presets\.quick\.coarse\.keep: this key is missing"):
        load_spec(str(write(("draws = 2, keep = 2", "draws = 2"), text=STAGES)))


def test_a_slow_method_has_a_shorter_coarse_stage(write):
    slow = STAGES.replace('input = "features"\n\n', 'input = "features"\ncoarse = { draws = 1, keep = 9 }\n\n', 1)
    spec = load_spec(str(write(text=slow)))
    assert {point.seed for task in expand(spec) if task.method.name == "SCAN" for point in task.points} == {0}
    second = second_stage(spec, made(spec, lambda s: 0.5 * ("9" in s[0]) + (s[2] == "unit")))
    assert chosen(second) == {("9", "unit"), ("3", "unit")}
    assert {point.seed for task in second for point in task.points} == {1, 2, 3}


def test_only_a_search_over_draws_of_labels_has_a_coarse_stage(write):
    text = 'kind = "clustering"\n\n[presets.quick]\ndatasets = ["iris"]\n\n[[methods]]\nestimator = "SSR"\n'
    with pytest.raises(InvalidInputError, match=r"methods\[0\]\.coarse: only a search over draws of labels"):
        load_spec(str(write(text=f"{text}coarse = {{ draws = 1, keep = 1 }}\n")))


def test_a_grid_with_all_draws_is_run_on_them_in_the_first_stage(write):
    grid = "[[methods.grid]]\nn_neighbors = 5\nall_draws = true\n\n"
    spec = load_spec(str(write(text=STAGES.replace('[[methods]]\nname = "GFHF"', f'{grid}[[methods]]\nname = "GFHF"'))))
    seeds = {}
    for task in expand(spec):
        if task.method.name == "SCAN":
            seeds.setdefault(task.setting(task.points[0])[0][-2:-1], set()).update(p.seed for p in task.points)
    assert seeds == {"3": {0, 1}, "9": {0, 1}, "5": {0, 1, 2, 3}}
    first = {task.name for task in expand(spec)}
    second = second_stage(spec, made(spec, lambda s: float("5" in s[0])))
    assert "5" not in {setting for setting, _ in chosen(task for task in second if task.name not in first)}
