"""Files of experiments: what is read, and what is refused with the file, the key and what is possible."""

from dataclasses import replace

import pandas as pd
import pytest

from kernelweave.errors import InvalidInputError
from kernelweave.experiments import available_specs, load_spec
from kernelweave.experiments.spec import Grid, Stage
from kernelweave.experiments.tasks import expand, n_settings

EIGHT = ["SC", "SSR", "MKKM", "RMKKM", "AASC", "KGL", "PMKL", "SMKL"]
SIX = ["GFHF", "LGC", "S3R", "S2LRR", "SCAN", "SMKL"]


@pytest.mark.parametrize("name", ["table1", "table2", "table3", "figure1", "leak"])
@pytest.mark.parametrize("preset", ["quick", "full"])
def test_every_experiment_of_the_package_can_be_read_and_expanded(name, preset):
    spec = load_spec(name, preset)
    tasks = expand(spec)
    assert spec.name == name
    assert len({task.name for task in tasks}) == len(tasks) > 0


def test_the_package_ships_the_experiments_of_the_paper():
    assert {"table1", "table2", "table3", "figure1", "leak"} <= set(available_specs())


def test_the_full_second_table_has_the_papers_methods_and_data():
    spec = load_spec("table2", "full")
    assert [m.name for m in spec.methods if "defaults" not in m.name] == EIGHT
    assert spec.datasets == ("yale", "jaffe", "yeast", "tr11", "tr41", "tr45")


def test_the_full_third_table_has_the_papers_methods_data_and_draws():
    spec = load_spec("table3", "full")
    assert [m.name for m in spec.methods if "defaults" not in m.name] == SIX
    assert set(spec.draws.values()) == {20}
    assert spec.fractions == (0.1, 0.3, 0.5)


@pytest.mark.parametrize("table", ["table2", "table3"])
def test_every_method_with_parameters_searches_at_least_thirty_settings_on_every_data_set(table):
    spec = load_spec(table, "full")
    searched = [m for m in spec.methods if m.name in ("SMKL", "KGL", "PMKL", "S3R", "S2LRR", "SCAN")]
    assert len(searched) >= 3
    for method in searched:
        assert {name: n for name in spec.datasets if (n := n_settings(method, name, "full")) < 30} == {}


@pytest.mark.parametrize("table", ["table2", "table3"])
def test_unit_rows_are_searched_only_where_the_data_is_not_stored_so(table):
    stored_with_unit_rows = {"yale", "jaffe", "tr11", "tr41", "tr45"}
    spec = load_spec(table, "full")
    for method in spec.methods:
        for dataset in stored_with_unit_rows & set(spec.datasets):
            assert not any("unit" in grid.preprocessing for grid in method.grids_for(dataset, "full"))


@pytest.mark.parametrize(
    ("dataset", "setting"),
    [
        ("yale", {"alpha": 1e-4, "beta": 10, "gamma": 1}),
        ("jaffe", {"alpha": 1e-2, "beta": 100, "gamma": 0.3}),
        ("tr11", {"alpha": 1e-6, "beta": 100, "gamma": 0.01}),
        ("tr41", {"alpha": 1e-5, "beta": 100, "gamma": 0.1}),
        ("tr45", {"alpha": 1e-5, "beta": 100, "gamma": 0.3}),
        ("yeast", {"alpha": 1e-5, "beta": 1000, "gamma": 1}),
    ],
)
def test_the_search_of_smkl_holds_the_settings_known_to_come_near_the_published_figures(dataset, setting):
    smkl = next(m for m in load_spec("table2", "full").methods if m.name == "SMKL")
    settings = [s for grid in smkl.grids_for(dataset, "full") for s in grid.settings()]
    assert any(s["scheme"] == "released" and setting.items() <= s.items() for s in settings)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('kind = "clustering"', "kind = ", "small.toml is not valid TOML"),
        ('kind = "clustering"', 'kind = "clusters"', "kind: got 'clusters'.*did you mean 'clustering'"),
        ('title = "Small"', 'titel = "Small"', "titel: unknown key .did you mean 'title'"),
        ('"wine", "iris"', '"wine", "irsi"', "presets.quick.datasets: got 'irsi'.*'iris'"),
        ('"MKKM"\nrep', '"MKMK"\nrep', r"methods\[1\].estimator: got 'MKMK'.*'MKKM'"),
        ("n_init = 1 }", "n_initial = 1 }", r"methods\[1\].parameters.n_initial: unknown key .did you mean 'n_init'"),
        ("beta = 100.0", "bta = 100.0", r"methods\[2\].grid\[0\].bta: unknown key .did you mean 'beta'"),
        ("alpha = [1e-4, 1e-2]", "alpha = []", r"grid\[0\].alpha: the list is empty"),
        ("parameters = { n_init = 3 }", 'selection = "best"', "selection: got 'best'; possible are 'oracle'"),
        ("parameters = { n_init = 3 }", 'selection = "fixed"', "selection: 'fixed' chooses nothing"),
        ("parameters = { n_init = 3 }", 'kernels = "12"', "kernels: got '12'; possible are 'released-12'"),
        ("repeats = 2\nparameters = { n_init = 2 }", "repeats = 0", r"methods\[0\].repeats: .* at least 1, got 0"),
        ("repeats = 2\nparameters = { n_init = 2 }", 'repeats = "x"', r"methods\[0\].repeats: expected int, got 'x'"),
        ('input = "each-kernel"', 'input = "one-kernel"', "input: got 'one-kernel'"),
        ('estimator = "MKKM"', 'estimator = "LMVSC"\ninput = "kernels"', "input: LMVSC takes no kernels; possible is"),
        ("path = true\nalpha = [1e-2, 1e-5, 1e-4]", "path = true", "path: a path runs over values of alpha"),
        ('name = "MKKM"', 'name = "SC"', "two methods have the name 'SC'"),
        ("repeats = 2\nparameters = { n_init = 2 }", "confirm = true", "confirm: the estimator has no max_iter"),
        ("parameters = { n_init = 3 }", "confirm = true", "confirm: the runs of a path start from each other"),
        ("beta = 100.0", 'preprocessing = ["units"]', r"preprocessing: got 'units' .did you mean 'unit'"),
        ("beta = 100.0", "preprocessing = []", "preprocessing: the list is empty"),
        ("beta = 100.0", 'kernels = ["12"]', r"grid\[0\].kernels: got '12'; possible are 'released-12'"),
        ("parameters = { n_init = 3 }", 'input = "features"\n[[methods.grid]]\nkernels = ["printed-7"]',
         r"grid\[0\].kernels: the input of the method is 'features'"),
        ("[presets.full]", "coarse = { draws = 1, keep = 1 }\n[presets.full]", "coarse: only a search over draws"),
        ("[presets.full]", "[labels]\n[presets.full]", "labels: only a classification draws labels"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_file_is_named_with_what_is_possible(write, old, new, message):
    with pytest.raises(InvalidInputError, match=message):
        load_spec(str(write((old, new))))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('protocol = "per-class"', 'protocol = "random"', "labels.protocol: got 'random'; possible are 'per-class'"),
        ("[0.1, 0.5]", "[10, 50]", r"labels.fractions: expected numbers between 0 and 1, got \[10, 50\]"),
        ("[0.1, 0.5]", "[0.1, 1.0]", r"labels.fractions: expected numbers between 0 and 1, got \[0.1, 1.0\]"),
        ("[0.1, 0.5]", "[0.0, 0.5]", r"labels.fractions: expected numbers between 0 and 1, got \[0.0, 0.5\]"),
        ("[0.1, 0.5]", "[true, 0.5]", r"labels.fractions: expected numbers between 0 and 1, got \[True, 0.5\]"),
        ("[0.1, 0.5]", "[]", r"labels.fractions: expected numbers between 0 and 1, got \[\]"),
        ("fractions =", "fraction = 1\nfractions =", "labels.fraction: unknown key .did you mean 'fractions'"),
        ("draws = 3", "draws = 3\ncoarse = { draws = 1, kept = 1 }", "coarse.kept: unknown key .did you mean 'keep'"),
        ('["iris"]', "[]", "presets.quick.datasets: .*(empty|names no data set)"),
        ("draws = 3", "", "presets.quick.draws: this key is missing"),
        ("draws = 3", "draws = { wine = 3 }", "presets.quick.draws.wine: unknown key; possible are iris"),
        ('"WeaveClassifier"', '"WeaveClustering"', "estimator: got 'WeaveClustering'"),
    ],
)
def test_a_mistake_in_the_labels_of_a_file_is_named(write, labels_text, old, new, message):
    with pytest.raises(InvalidInputError, match=message):
        load_spec(str(write((old, new), text=labels_text)))


def test_a_method_without_a_grid_for_a_data_set_is_refused(write):
    wine = 'datasets = ["wine"]'
    path = write(('scheme = "released"', wine), ("path = true", wine))
    with pytest.raises(InvalidInputError, match="no grid of 'SMKL' is for the data set 'iris' under"):
        load_spec(str(path))


def test_unknown_experiments_files_and_presets_are_named(write, tmp_path):
    with pytest.raises(InvalidInputError, match=r"no experiment 'table9': choose one of .*table2"):
        load_spec("table9")
    with pytest.raises(InvalidInputError, match=r"nothing.toml cannot be read: No such file"):
        load_spec(str(tmp_path / "nothing.toml"))
    with pytest.raises(InvalidInputError, match="there is no preset 'huge'; possible are quick, full"):
        load_spec(str(write()), "huge")


@pytest.mark.parametrize(
    ("values", "preprocessing", "kernels", "searches"),
    [
        ({}, ("none",), (), False),
        ({"alpha": (1,)}, ("none",), ("released-12",), False),
        ({"alpha": (1, 2)}, ("none",), (), True),
        ({"alpha": (1,)}, ("none", "unit"), (), True),
        ({"alpha": (1,)}, ("none",), ("released-12", "printed-7"), True),
    ],
)
def test_a_grid_searches_if_it_has_more_than_one_setting(values, preprocessing, kernels, searches):
    grid = Grid(values, (), (), path=False, preprocessing=preprocessing, kernels=kernels)
    assert grid.searches is searches


def test_a_slow_method_has_a_coarse_stage_of_its_own_that_is_never_larger(write, labels_text):
    spec = load_spec(str(write(("draws = 3", "draws = 3\ncoarse = { draws = 2, keep = 4 }"), text=labels_text)))
    first = spec.methods[0]
    assert spec.coarse_stage(first, "iris") == Stage(2, 4)
    assert spec.coarse_stage(replace(first, coarse=Stage(1, 9)), "iris") == Stage(1, 4)
    assert spec.coarse_stage(replace(first, coarse=Stage(9, 1)), "iris") == Stage(2, 1)
    assert replace(spec, coarse=None).coarse_stage(first, "iris") is None


def test_an_experiment_is_narrowed_to_what_rows_have(write):
    rows = pd.DataFrame({"dataset": ["iris", "iris"], "method": ["SMKL", "SC"]})
    spec = load_spec(str(write())).with_rows(rows)
    assert (spec.datasets, [method.name for method in spec.methods]) == (("iris",), ["SC", "SMKL"])


def test_an_experiment_is_narrowed_by_names_in_any_case_and_order(write):
    spec = load_spec(str(write())).narrowed(["IRIS"], ["smkl", "sc"])
    assert spec.datasets == ("iris",)
    assert [method.name for method in spec.methods] == ["SC", "SMKL"]
    with pytest.raises(InvalidInputError, match="has no method 'KGL' under this preset: choose of SC, MKKM, SMKL"):
        load_spec(str(write())).narrowed(None, ["KGL"])


def test_methods_of_an_experiment_without_any_are_refused():
    with pytest.raises(InvalidInputError, match="'KGL' under this preset: it has no method at all, so give none"):
        load_spec("table1").narrowed(None, ["KGL"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a = " + "[" * 5000 + "]" * 5000, r"deep\.toml is nested too deeply to be read|deep\.toml is not valid TOML"),
        ("a = " + "9" * 5000, r"deep\.toml is not valid TOML: Exceeds the limit"),
        ("a = '" + "9" * 2_000_000 + "'", r"deep\.toml has 2000006 bytes; a file of settings has at most 1048576"),
        (b"a = '\xff'", r"deep\.toml is not valid TOML"),
    ],
    ids=["deep", "digits", "long", "encoding"],
)
def test_settings_made_to_harm_are_refused(content, message, tmp_path):
    path = tmp_path / "deep.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InvalidInputError, match=message):
        load_spec(str(path))
