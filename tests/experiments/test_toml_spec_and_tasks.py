"""Settings read from files, the tasks that they become, and what identifies a row, case by case."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from kernelweave.errors import InvalidInputError, ResultsError
from kernelweave.experiments import load_spec
from kernelweave.experiments._toml import TomlTable, read_toml
from kernelweave.experiments.cells import budget_table
from kernelweave.experiments.data import Identity
from kernelweave.experiments.published import load_published
from kernelweave.experiments.rows import COLUMNS, Results
from kernelweave.experiments.selection import Cell
from kernelweave.experiments.spec import Grid, Method, Spec
from kernelweave.experiments.tasks import Point, Task, expand, n_settings, two_stages

TABLE = TomlTable(
    Path("f.toml"), "a.b", {"word": "red", "list": ["red", "blue", "red"], "n": 1, "yes": True, "x": 0.5, "t": {"k": 2}}
)


def test_values_of_the_right_kind_are_taken():
    assert (TABLE.take("n", int), TABLE.take("x", float), TABLE.take("yes", bool)) == (1, 0.5, True)
    assert TABLE.take("x", (int, float)) == 0.5
    assert TABLE.take("none", int, None) is None
    assert TABLE.word("word", ("red", "blue")) == "red"
    assert TABLE.word("none", ("red",), "blue") == "blue"
    assert TABLE.words("list", ("red", "blue")) == ("red", "blue")
    assert TABLE.words("none", ("red",), ("blue",)) == ("blue",)
    assert (TABLE.count("n"), TABLE.count("none", None), TABLE.count("n", 5)) == (1, None, 1)
    assert TABLE.table("t").values == {"k": 2}
    assert TABLE.table("t").place == "a.b.t"
    assert TABLE.table("none", {}).values == {}
    assert TABLE.tables("none") == []
    assert "n" in TABLE
    assert "none" not in TABLE
    TABLE.only(("word", "list", "n", "yes", "x", "t"))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: t.take("none", int), "f.toml: a.b.none: this key is missing."),
        (lambda t: t.take("word", int), "f.toml: a.b.word: expected int, got 'red'."),
        (lambda t: t.take("yes", int), "f.toml: a.b.yes: expected int, got True."),
        (lambda t: t.take("n", (str, dict)), "f.toml: a.b.n: expected text or a table, got 1."),
        (lambda t: t.word("word", ("read", "blue")),
         "f.toml: a.b.word: got 'red' (did you mean 'read'?); possible are 'read', 'blue'."),
        (lambda t: t.word("word", ("1", "2")), "f.toml: a.b.word: got 'red'; possible are '1', '2'."),
        (lambda t: t.word("none", ("red",)), "f.toml: a.b.none: this key is missing."),
        (lambda t: t.words("list", ("red",)), "f.toml: a.b.list: got 'blue'; possible are 'red'."),
        (lambda t: t.check("n", 1, ("red",)), "f.toml: a.b.n: got 1; possible are 'red'."),
        (lambda t: TomlTable(t.path, "", {"n": 0}).count("n"),
         "f.toml: n: expected a whole number of at least 1, got 0."),
        (lambda t: t.count("none"), "f.toml: a.b.none: this key is missing."),
        (lambda t: t.tables("list"),
         "f.toml: a.b.list: expected tables ([[list]]), got ['red', 'blue', 'red']."),
        (lambda t: t.only(("word", "lists", "n", "yes", "x", "t")),
         "f.toml: a.b.list: unknown key (did you mean 'lists'?); possible are word, lists, n, yes, x, t."),
        (lambda t: t.table("n"), "f.toml: a.b.n: expected a table, got 1."),
    ],
)  # fmt: skip
def test_values_of_another_kind_are_refused_with_their_place(call, message):
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        call(TABLE)


def test_tables_of_a_list_are_numbered_from_0():
    found = TomlTable(Path("f.toml"), "", {"m": [{"a": 1}, {"a": 2}]}).tables("m")
    assert [(one.place, one.values) for one in found] == [("m[0]", {"a": 1}), ("m[1]", {"a": 2})]


@pytest.mark.parametrize(("extra", "read"), [(0, True), (1, False)])
def test_a_file_of_a_mebibyte_is_read_and_a_longer_one_is_not(tmp_path, extra, read):
    path = tmp_path / "long.toml"
    text = "a = 1\n#"
    path.write_text(text + "x" * (2**20 - len(text) + extra))
    if read:
        assert read_toml(path).values == {"a": 1}
    else:
        with pytest.raises(InvalidInputError, match=r"long\.toml has 1048577 bytes; .* at most 1048576"):
            read_toml(path)


# experiments


def test_a_file_becomes_the_experiment_that_it_describes(write):
    spec = load_spec(str(write()))
    assert (spec.name, spec.title, spec.kind, spec.preset) == ("small", "Small", "clustering", "quick")
    assert (spec.datasets, spec.protocol, spec.fractions, spec.draws) == (("wine", "iris"), None, (), {})
    assert (spec.most_repeats, spec.coarse, spec.classifies, spec.filename) == (None, None, False, "small.toml")
    sc, mkkm, smkl = spec.methods
    assert (sc.input, sc.kernels, sc.selection, sc.repeats, sc.batch) == ("each-kernel", "released-7", "oracle", 2, 1)
    assert (mkkm.input, mkkm.kernels, mkkm.selection, mkkm.confirm) == ("kernels", "released-12", "fixed", False)
    assert (smkl.selection, smkl.repeats, smkl.parameters, smkl.coarse) == ("oracle", 1, {"n_init": 3}, None)
    first, second = smkl.grids
    assert (first.path, second.path) == (False, True)
    assert first.values == {"scheme": ("released",), "alpha": (1e-4, 1e-2), "beta": (100.0,)}
    assert (first.preprocessing, first.kernels, first.all_draws) == (("none",), (), False)
    assert first.presets == ("quick", "full")
    assert [len(grid.settings()) for grid in smkl.grids] == [2, 6]
    assert spec.sha256 != load_spec(str(write()), "full").sha256


def test_an_experiment_with_labels_has_its_protocol_and_kernels_of_classes(write, labels_text):
    spec = load_spec(str(write(text=labels_text)))
    assert (spec.name, spec.protocol, spec.fractions, spec.draws) == ("small", "per-class", (0.1, 0.5), {"iris": 3})
    assert spec.classifies
    gfhf, weave = spec.methods
    assert (gfhf.kernels, gfhf.batch, weave.name, weave.selection) == ("released-7", 2, "Weave defaults", "fixed")


def method(**more):
    given = {"name": "A", "estimator": "SSR", "selection": "oracle", "input": "kernels", "kernels": "released-12"}
    return Method(**(given | {"parameters": {}, "grids": (), "repeats": 5, "batch": 1} | more))


def experiment(**more):
    given = {"name": "e", "title": "", "kind": "clustering", "preset": "quick", "path": Path("e.toml")}
    given |= {"datasets": ("iris",), "methods": (method(),), "protocol": None, "fractions": (), "draws": {}}
    return Spec(**(given | {"most_repeats": None} | more))


@pytest.mark.parametrize(("most", "seeds"), [(None, 5), (3, 3), (5, 5), (9, 5)])
def test_a_preset_may_allow_fewer_repeats(most, seeds):
    assert experiment(most_repeats=most).seeds(method(), "iris") == range(seeds)
    drawn = experiment(kind="classification", draws={"iris": 7}, most_repeats=most)
    assert drawn.seeds(method(), "iris") == range(7)


def test_a_method_has_the_grids_of_its_data_set_and_preset():
    one = Grid({"a": (1,)}, ("iris",), ("quick",), path=False)
    other = Grid({"a": (2,)}, ("wine", "iris"), ("full",), path=False)
    made = method(grids=(one, other))
    assert made.grids_for("iris", "quick") == (one,)
    assert made.grids_for("iris", "full") == (other,)
    assert made.grids_for("wine", "quick") == ()
    (alone,) = method().grids_for("iris", "quick")
    assert (alone.settings(), alone.path) == ([{}], False)


def test_rows_of_sizes_have_no_methods_to_narrow_to():
    import pandas as pd

    spec = experiment(kind="data", datasets=("iris", "wine"), methods=())
    assert spec.with_rows(pd.DataFrame({"dataset": ["wine"]})).datasets == ("wine",)


# tasks


DATA = Identity("iris", "abc", 150, 4, 3)


def task(**more):
    given = {"experiment": "e", "preset": "quick", "kind": "clustering", "data": DATA, "method": method()}
    return Task(**(given | {"points": (Point({"a": 1}, "k", 0), Point({"a": 2}, "k", 1))} | more))


@pytest.mark.parametrize(
    "change",
    [
        {"data": replace(DATA, sha256="abd")}, {"method": method(name="B")}, {"method": method(estimator="MKKM")},
        {"method": method(input="features")}, {"method": method(kernels="released-7")},
        {"method": method(parameters={"b": 1})}, {"protocol": "per-class", "fraction": 0.1}, {"preprocessing": "unit"},
        {"path": True},
    ],
)  # fmt: skip
def test_whatever_changes_the_result_changes_the_keys_of_rows(change):
    assert set(task(**change).row_keys).isdisjoint(task().row_keys)
    assert task(**change).name != task().name


def test_what_does_not_change_the_result_leaves_the_keys():
    same = task(experiment="other", preset="full", method=method(repeats=9, selection="fixed", batch=3))
    assert same.row_keys == task().row_keys
    assert same.name == task().name
    assert task(points=task().points[:1]).row_keys == task().row_keys[:1]
    assert task(path=True, points=task().points[:1]).row_keys != task(path=True).row_keys[:1]
    assert len(set(task().row_keys)) == 2


def test_a_task_is_named_by_its_data_and_method_and_costs_what_its_fits_do():
    named = task(method=method(name="My Method +1"))
    assert named.name.startswith("iris-my-method-1-")
    assert len(named.name) == len("iris-my-method-1-") + 16
    assert (named.label, task(method=None).label) == ("My Method +1", "clustering")
    assert (named.place, task(method=None).place) == (("iris", "My Method +1", None), ("iris", "", None))
    again = task(points=(Point({"a": 1}, "k", 0), Point({"a": 1}, "k", 1)))  # repeats share a fit
    assert (task().cost, again.cost) == (2 * 150**2.5, 150**2.5)
    assert task(points=again.points, fraction=0.1).cost == 2 * 150**2.5
    assert task(data=replace(DATA, n_samples=10)).cost == 2 * 100**2.5
    kernels = task(points=(Point({}, "k", 0), Point({}, "l", 0)))
    assert kernels.cost == 2 * 150**2.5


def test_a_setting_has_the_parameters_of_method_and_point():
    one = task(method=method(parameters={"b": 2, "a": 9}), preprocessing="unit")
    assert one.setting(one.points[0]) == ('{"a": 1, "b": 2}', "k", "unit")
    assert task(method=None).setting(Point({}, "", 0)) == ("{}", "", "none")


def test_settings_are_counted_once_over_grids_preprocessings_and_kernels():
    grid = Grid({"a": (1, 2), "b": (3,)}, ("iris",), ("quick",), path=False, preprocessing=("none", "unit"))
    same = replace(grid, values={"b": (3,), "a": (2,)}, preprocessing=("unit",))
    assert n_settings(method(grids=(grid, same)), "iris", "quick") == 4
    assert n_settings(method(grids=(grid,), input="features"), "iris", "quick") == 4
    assert n_settings(method(grids=(replace(grid, kernels=("released-7", "printed-7")),)), "iris", "quick") == 8
    assert n_settings(method(input="each-kernel", kernels="released-7"), "iris", "quick") == 7
    assert n_settings(method(), "iris", "quick") == 1


@pytest.mark.parametrize(("draws", "keep", "staged"), [(3, 1, True), (4, 1, False), (3, 2, False), (3, 3, False)])
def test_a_search_has_two_stages_with_more_draws_and_settings_than_the_first_keeps(write, draws, keep, staged):
    text = (
        'kind = "classification"\n[labels]\nprotocol = "per-class"\nfractions = [0.1]\n[presets.quick]\n'
        f'datasets = ["iris"]\ndraws = 4\ncoarse = {{ draws = {draws}, keep = {keep} }}\n[[methods]]\n'
        'estimator = "SCAN"\ninput = "features"\n[[methods.grid]]\nn_neighbors = [3, 9]\n'
    )
    spec = load_spec(str(write(text=text)))
    assert (two_stages(spec, spec.methods[0], "iris") is not None) is staged
    assert sum(len(one.points) for one in expand(spec)) == 2 * (draws if staged else 4)


@pytest.mark.parametrize(("batch", "groups"), [(1, [1, 1, 1]), (2, [2, 1]), (3, [3]), (9, [3])])
def test_draws_are_batched(write, labels_text, batch, groups):
    spec = load_spec(str(write(("batch = 2", f"batch = {batch}"), text=labels_text))).narrowed(None, ["GFHF"])
    tasks = [one for one in expand(spec) if one.fraction == 0.1 and one.points[0].kernel == "linear"]
    assert [len(one.points) for one in tasks] == groups
    assert [point.seed for one in tasks for point in one.points] == [0, 1, 2]
    assert {one.protocol for one in tasks} == {"per-class"}


def test_sizes_need_one_task_per_data_set(write):
    spec = load_spec(str(write(text='kind = "data"\n[presets.quick]\ndatasets = ["wine", "iris"]\n')))
    assert [(one.data.name, one.method, one.points) for one in expand(spec)] == [
        ("iris", None, (Point({}, "", 0),)),
        ("wine", None, (Point({}, "", 0),)),
    ]


# published figures, stored rows, budgets


def own(tmp_path, unit, figures, keys='["dataset", "labels"]', place='."iris".10'):
    path = tmp_path / "own.toml"
    path.write_text(
        f'source = "S"\ntable = "T"\ncaption = "C"\nunit = "{unit}"\nkeys = {keys}\n[figures{place}]\n{figures}\n'
    )
    return load_published(path)


@pytest.mark.parametrize(("unit", "largest", "scale"), [("share", 1, 1), ("percent", 100, 100), ("count", 10**9, 1)])
def test_figures_are_from_0_to_the_largest_of_their_unit(tmp_path, unit, largest, scale):
    found = own(tmp_path, unit, f'acc = {largest}\nnmi = 0\nnmi_std = 0.5\nwhere = "there"')
    assert [(f.metric, f.value, f.std, f.dataset, f.labels, f.where) for f in found.figures] == [
        ("acc", largest, None, "iris", 10, "there"),
        ("nmi", 0, 0.5, "iris", 10, "there"),
    ]
    assert (found.scale, found.unit, found.metrics) == (scale, unit, ("acc", "nmi"))
    assert (found.source, found.table, found.caption) == ("S", "T", "C")
    assert found.find("iris", "acc", None, 10).value == largest
    assert found.find("iris", "acc", None, 30) is None
    for bad in ("-0.1", "true", *([f"{largest}.1"] if unit != "count" else [])):
        with pytest.raises(InvalidInputError, match="acc must be a number from 0 to"):
            own(tmp_path, unit, f"acc = {bad}")


@pytest.mark.parametrize("keys", ['["dataset", "dataset"]', '["labels"]', '["dataset", "x"]'])
def test_keys_name_the_data_set_and_nothing_twice(tmp_path, keys):
    with pytest.raises(InvalidInputError, match="keys must name dataset"):
        own(tmp_path, "share", "acc = 0.5", keys)


class Stored:
    def __init__(self, name, *keys):
        self.name, self.row_keys = name, keys


def row(key, **more):
    return dict.fromkeys(COLUMNS) | {"key": key, "dataset": "iris"} | more


def test_rows_are_kept_by_task_and_the_last_of_a_key_counts(tmp_path):
    results = Results(tmp_path)
    (tmp_path / "rows").mkdir()
    first, second = Stored("a", "1", "2"), Stored("b", "2", "3")
    results.add(second, [row("2", acc=0.75), row("3", acc=0.5)])
    results.add(first, [row("1", acc=0.1), row("2", acc=0.2)])
    assert list(results.finished([first, Stored("c", "9")])) == ["a"]
    frame = results.consolidate([first, second])
    assert frame["key"].tolist() == ["1", "2", "3"]
    assert frame["acc"].tolist() == [0.1, 0.75, 0.5]
    assert results.consolidate_all()["key"].tolist() == ["1", "2", "3"]
    assert len((tmp_path / "results.csv").read_text().splitlines()) == 4
    with pytest.raises(ResultsError, match="it has 2 rows, not the 1 of its task"):
        results.finished([Stored("a", "1")])


def test_a_line_that_lacks_columns_is_named_with_the_first_three(tmp_path):
    (tmp_path / "rows").mkdir()
    results = Results(tmp_path)
    (tmp_path / "rows" / "a.jsonl").write_text(json.dumps(row("1")) + "\n{}\n")
    with pytest.raises(ResultsError, match=r"line 2 lacks experiment, preset, dataset\."):
        results.finished([Stored("a", "1", "2")])
    (tmp_path / "rows" / "a.jsonl").write_text(json.dumps(row("1")) + "\n[]\n")
    with pytest.raises(ResultsError, match="line 2 lacks experiment"):
        results.finished([Stored("a", "1", "2")])


def test_the_table_of_budgets_has_the_fewest_settings_and_runs():
    def cell(dataset, method, n_settings, n_runs, labels=None):
        return Cell(dataset, method, labels, "oracle", None, {}, "", n_settings, 0, 0, n_runs, 1.0, True)

    cells = [
        cell("iris", "A", 5, 20, 10),
        cell("iris", "A", 6, 3, 30),
        cell("wine", "B", 2, 1),
        cell("wine", "A", 9, 2),
    ]
    table = budget_table(cells, {("iris", "A"): 6, ("wine", "B"): 2}, "Title")
    assert (table.title, table.header, table.words) == ("Title", ["Method", "IRIS", "WINE"], 1)
    assert [[entry.text for entry in line] for line in table.rows] == [
        ["A", "5 of 6 × 3", "9 × 2"],
        ["B", "–", "2 × 1"],
    ]
