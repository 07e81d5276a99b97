"""Mixed tables as users have them: fitted without any flag, saved, and predicted from other tables."""

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import kernelweave
from kernelweave import (
    PMKLClassifier,
    PMKLClustering,
    SMKLClassifier,
    SMKLClustering,
    Views,
    WeaveClassifier,
    WeaveClustering,
    baselines,
    view_importance,
)
from kernelweave.errors import ColumnsWarning, InvalidInputError
from kernelweave.kernels import Mixed, Overlap
from kernelweave.samples.prepared import without_structure
from kernelweave.samples.scaling import scaling_words

EVERY = [
    *(model(3) for model in (WeaveClustering, SMKLClustering, PMKLClustering, baselines.MKKM, baselines.AASC)),
    *(model() for model in (WeaveClassifier, SMKLClassifier, PMKLClassifier)),
]


def penguins(n=120, seed=0):
    """Return a table like the penguins of Palmer station, and the species: some rows lack every measurement."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 3, n)
    table = pd.DataFrame(
        {
            "island": np.where(rng.random(n) < 0.85, np.array(["Torgersen", "Dream", "Biscoe"])[z], "Dream"),
            "bill_length_mm": np.array([38.0, 48.5, 47.5])[z] + rng.normal(0, 2, n),
            "bill_depth_mm": np.array([18.3, 18.4, 15.0])[z] + rng.normal(0, 0.8, n),
            "flipper_length_mm": np.array([190.0, 196, 217])[z] + rng.normal(0, 5, n),
            "body_mass_g": np.array([3700.0, 3730, 5080])[z] + rng.normal(0, 300, n),
            "sex": rng.choice(["male", "female"], n).astype(object),
            "year": rng.integers(2007, 2010, n),
        }
    )
    table["body_mass_g"] += np.where(table["sex"] == "male", 300, -300)
    table.loc[[3, 71], ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g", "year", "sex"]] = None
    table.loc[rng.choice(n, 6, replace=False), "sex"] = None
    table.loc[11, "body_mass_g"] = np.nan
    return table, z


def titanic(n=200, seed=0):
    """Return a table like the passengers of the Titanic, and who survived."""
    rng = np.random.default_rng(seed)
    female = rng.random(n) < 0.4
    first = rng.integers(1, 4, n)
    survived = rng.random(n) < np.where(female, 0.85, 0.15) - 0.1 * (first - 2)
    cabin = np.array([f"{letter}{rng.integers(1, 130)}" for letter in rng.choice(list("ABC"), n)], dtype=object)
    table = pd.DataFrame(
        {
            "PassengerId": np.arange(1, n + 1),
            "Pclass": first,
            "Name": [f"Passenger no. {i}, of {rng.integers(1000)}" for i in range(n)],
            "Sex": np.where(female, "female", "male"),
            "Age": np.where(rng.random(n) < 0.2, np.nan, rng.gamma(6, 5, n).round()),
            "Fare": np.exp(rng.normal(4 - first, 0.5)).round(2),
            "Cabin": np.where(rng.random(n) < 0.77, None, cabin),
            "Embarked": pd.Categorical(rng.choice(["S", "C", "Q"], n, p=[0.7, 0.2, 0.1])),
            "Boarded": pd.to_datetime("1912-04-10") + pd.to_timedelta(rng.integers(0, 3, n), unit="D"),
            "Ship": "Titanic",
        }
    )
    return table, survived.astype(int)


def wine():
    """Return wine with two columns of text."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    rng = np.random.default_rng(0)
    colour = np.where(rng.random(len(y)) < 0.8, np.array(["ruby", "garnet", "purple"])[y], "ruby")
    return X.assign(colour=colour, cork=rng.choice(["natural", "screw"], len(y))), y.to_numpy()


def quietly(action, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnsWarning)
        return action(*arguments)


def answer(model):
    return model.labels_ if hasattr(model, "labels_") else model.transduction_


def fit(estimator, table, y, **parameters):
    model = clone(estimator).set_params(**parameters)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    return quietly(model.fit, table, np.where(np.arange(len(y)) % 4 == 0, y, -1))


PENGUINS, SPECIES = penguins()


@pytest.fixture(scope="module")
def model():
    return fit(WeaveClustering(3), PENGUINS, SPECIES)


# without any flag


def test_penguins_are_clustered_without_any_flag_and_a_sentence_says_how():
    with pytest.warns(ColumnsWarning, match="read as a mixed table: 5 columns of numbers and 2 columns of categories"):
        model = WeaveClustering(3, random_state=0).fit(PENGUINS)
    assert adjusted_rand_score(SPECIES, model.labels_) > 0.9
    assert model.view_names_ == ("numbers", "categories")
    assert model.readings_["X"].missing.keys() == set(PENGUINS.columns) - {"island"}
    assert model.feature_names_in_.tolist() == list(PENGUINS)


def test_the_passengers_of_the_titanic_are_classified_without_any_flag():
    table, y = titanic()
    with pytest.warns(ColumnsWarning) as caught:
        model = WeaveClassifier().fit(table, np.where(np.arange(200) % 2 == 0, y, -1))
    first, second = (str(warning.message) for warning in caught)
    assert "4 columns of 'X' are left out" in first
    assert "1 column of 'X' is left out, since it is related to no other column: 'Embarked'." in second
    assert set(model.readings_["X"].left_out) == {"PassengerId", "Name", "Cabin", "Ship", "Embarked"}
    kinds = {column.name: column.kind for column in model.readings_["X"].columns}
    assert [kinds[name] for name in ("Pclass", "Sex", "Boarded")] == ["number", "category", "date"]
    assert (model.transduction_ == y)[1::2].mean() > 0.65


def test_wine_with_columns_of_text_is_clustered_without_any_flag():
    table, y = wine()
    model = quietly(WeaveClustering(3, random_state=0).fit, table)
    assert adjusted_rand_score(y, model.labels_) > 0.8
    assert model.view_shares_.sum() == pytest.approx(1)
    assert (model.view_shares_ > 0.05).all()


def test_two_columns_of_random_words_do_not_outvote_thirteen_measurements():
    bunch = load_wine(as_frame=True)
    rng = np.random.default_rng(0)
    words = {f"word {j}": rng.choice(["a", "b", "c"], 178) for j in range(2)}
    kept = Mixed(kinds=dict.fromkeys(words, "category"))  # they would be left out
    model = fit(WeaveClustering(3, kernels=kept), bunch.data.assign(**words), bunch.target)
    assert dict(zip(model.view_names_, model.view_shares_, strict=True))["categories"] < 0.3
    assert adjusted_rand_score(bunch.target, model.labels_) > 0.8


def test_it_does_not_matter_how_many_kernels_the_categories_have():
    table, y = wine()
    few, many = (
        fit(model(), table, y, kernels=Mixed(categories=categories)).view_shares_
        for model, categories in ((WeaveClassifier, [Overlap()]), (WeaveClassifier, [Overlap(), Overlap(), Overlap()]))
    )
    np.testing.assert_allclose(few, many, atol=0.05)


@pytest.mark.parametrize(
    "kernels", ["default", "mixed", Mixed(categories=[Overlap()])], ids=["default", "mixed", "own"]
)
@pytest.mark.parametrize("estimator", EVERY, ids=lambda model: type(model).__name__)
def test_every_estimator_of_several_kernels_takes_a_mixed_table(estimator, kernels):
    parameters = {} if kernels == "default" else {"kernels": kernels}
    model = fit(estimator, PENGUINS, SPECIES, **parameters)
    assert answer(model).shape == (120,)
    assert set(model.kernel_views_) == {"numbers", "categories"}
    assert_allclose(model.kernel_shares_.sum(), 1)
    if hasattr(model, "predict"):
        assert_array_equal(quietly(model.predict, PENGUINS), answer(model))


@pytest.mark.parametrize("estimator", [WeaveClustering(3), WeaveClassifier()], ids=repr)
def test_numbers_and_categories_together_tell_the_species_apart(estimator):
    for seed in range(3):
        model = fit(estimator, *penguins(seed=seed))
        assert adjusted_rand_score(penguins(seed=seed)[1], answer(model)) > 0.85


@pytest.mark.parametrize("make", [lambda table: table, pl.from_pandas], ids=["pandas", "polars"])
def test_the_order_of_samples_and_columns_does_not_matter(make, model):
    order = np.random.default_rng(1).permutation(len(PENGUINS))
    turned = make(PENGUINS[list(PENGUINS)[::-1]].iloc[order].reset_index(drop=True))
    other = quietly(WeaveClustering(3, random_state=0).fit, turned)
    assert adjusted_rand_score(other.labels_, model.labels_[order]) == 1
    assert_allclose(other.consensus_kernel_, model.consensus_kernel_[np.ix_(order, order)], atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_precision_is_that_asked_for(dtype):
    model = fit(WeaveClustering(3), PENGUINS, SPECIES, dtype=dtype)
    assert model.consensus_kernel_.dtype == dtype
    assert_array_equal(quietly(model.predict, PENGUINS), model.labels_)


def test_a_mixed_table_of_numbers_only_has_one_view():
    numbers = PENGUINS[["bill_length_mm", "body_mass_g"]].dropna()
    model = WeaveClustering(3, kernels="mixed", random_state=0).fit(numbers)
    assert model.view_names_ == ("numbers",)
    reason = model.scaling_[0].scalings["numbers"].reason
    assert reason == "the columns of a mixed table are standardised when it is read"
    with pytest.raises(ValueError, match="contains NaN"):
        WeaveClustering(3).fit(PENGUINS[["bill_length_mm", "body_mass_g"]])
    gappy = WeaveClustering(3, kernels=Mixed(gaps=False), random_state=0).fit(
        PENGUINS[["bill_length_mm", "body_mass_g"]]
    )
    assert gappy.readings_["X"].missing == {"bill_length_mm": 2, "body_mass_g": 3}


def test_categories_alone_are_clustered():
    rng = np.random.default_rng(0)
    z = np.arange(90) % 3
    answers = {f"q{j}": np.where(rng.random(90) < 0.8, np.array(list("abc"))[z], "b") for j in range(6)}
    model = quietly(WeaveClustering(3, random_state=0).fit, pd.DataFrame(answers))
    assert model.view_names_ == ("categories",)
    assert adjusted_rand_score(z, model.labels_) > 0.9


# pipelines


def test_mixed_tables_pass_through_pipelines_and_cross_validation():
    table, y = titanic(80)
    table = table[["Sex", "Age", "Fare", "Embarked"]]
    pipe = make_pipeline(
        FunctionTransformer(lambda X: X.assign(Fare=np.log1p(X["Fare"]))), WeaveClassifier(kernels="mixed")
    )
    assert quietly(lambda: cross_val_score(pipe, table, y, cv=3)).mean() > 0.55
    grid = clone(pipe).set_params(weaveclassifier__kernels=Mixed(standardize=False))
    assert quietly(grid.fit, table, y).predict(table[:3]).shape == (3,)


def test_columns_of_a_mixed_table_may_be_split_into_views():
    views = {"body": ["bill_length_mm", "body_mass_g", "sex"], "place": ["island", "year"]}
    model = fit(WeaveClustering(3, views=views), PENGUINS, SPECIES)
    assert model.view_names_ == ("body: numbers", "body: categories", "place: numbers", "place: categories")
    assert_array_equal(quietly(model.predict, PENGUINS[list(PENGUINS)[::-1]]), model.labels_)


def test_the_importance_of_numbers_and_categories_is_told():
    found = quietly(
        lambda: view_importance(WeaveClustering(3, random_state=0), PENGUINS, n_resamples=2, random_state=0)
    )
    assert found.view_names == ("numbers", "categories")


# what the model remembers


def changed(table):
    """Return new samples: columns turned and one added, an unknown category, values moved a little."""
    new = table[list(table)[::-1]].assign(observer=["x", "y"] * (len(table) // 2))
    new["bill_length_mm"] += 0.01
    new.loc[5, "island"] = "Mars"
    return new


def test_a_fitted_saved_and_loaded_model_keeps_its_labels(model, tmp_path):
    model.save(tmp_path / "model.kw")
    again = kernelweave.load(tmp_path / "model.kw")
    assert again.readings_ == model.readings_
    assert_array_equal(quietly(again.predict, PENGUINS), model.labels_)
    new = changed(PENGUINS)
    with pytest.warns(ColumnsWarning) as caught:
        found = again.predict(new)
    said = " ".join(str(warning.message) for warning in caught)
    assert "1 column not seen in fit, and not used: 'observer'" in said
    assert "in 1 cell: 'island': 'Mars' (1)" in said
    assert_array_equal(found, quietly(model.predict, new))
    assert (found == model.labels_).mean() > 0.97


# not PMKL, whose weights gather on one kernel: without its view there is nothing left to compare
SEVERAL_KERNELS = [model for model in (*EVERY[:2], *EVERY[5:]) if not type(model).__name__.startswith("PMKL")]


@pytest.mark.parametrize("estimator", SEVERAL_KERNELS, ids=lambda model: type(model).__name__)
def test_a_view_that_is_absent_is_a_gap_of_every_new_sample(estimator, tmp_path):
    model = fit(estimator, PENGUINS, SPECIES)
    model.save(tmp_path / "model.kw")
    numbers = PENGUINS.drop(columns=["island", "sex"]).drop([3, 71])
    with pytest.warns(ColumnsWarning, match="2 columns of fit absent, read as missing cells: 'island', 'sex'"):
        found = kernelweave.load(tmp_path / "model.kw").predict(numbers)
    rows = numbers.index.to_numpy()
    assert (found == answer(model)[rows]).mean() > 0.75
    assert_array_equal(found, quietly(model.predict, numbers))


@pytest.mark.parametrize("estimator", [WeaveClustering(3), WeaveClassifier()], ids=repr)
def test_a_table_that_is_absent_is_a_gap_too(estimator):
    tables = {"sizes": PENGUINS.iloc[:, 1:5].fillna(0.0), "place": PENGUINS[["island", "year"]].fillna({"year": 2008})}
    model = fit(estimator, tables, SPECIES)
    assert (model.predict({"sizes": tables["sizes"] + 0.01}) == answer(model)).mean() > 0.8


def test_a_solver_without_gaps_refuses_an_absent_view_and_names_one_that_has_them():
    model = fit(WeaveClustering(3, solver="local", kernels=Mixed(gaps=False)), PENGUINS, SPECIES)
    assert adjusted_rand_score(SPECIES, model.labels_) > 0.8
    assert_array_equal(quietly(model.predict, PENGUINS), model.labels_)
    tables = {"a": PENGUINS.iloc[:, 1:3].fillna(0.0), "b": PENGUINS.iloc[:, 3:5].fillna(0.0)}
    model = fit(WeaveClustering(3, solver="local"), tables, SPECIES)
    with pytest.raises(InvalidInputError, match=r'lack the view \'a\', .*solver="local".*fit it with solver="dense"'):
        model.predict({"b": tables["b"]})


def test_views_that_were_read_by_themselves_are_refused_unless_they_were_read_alike(model):
    tables = {"t": PENGUINS}
    fitted = fit(WeaveClustering(3), tables, SPECIES)
    other = quietly(Views, {"t": PENGUINS.iloc[:40]})
    with pytest.raises(InvalidInputError, match="hold 't' in another form than that of fit"):
        fitted.predict(other)
    alike = Views({"t": PENGUINS.iloc[:40]}, readings=fitted.readings_)
    assert_array_equal(fitted.predict(alike), fitted.labels_[:40])


# what is refused


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"solver": "landmark"}, 'solver="landmark" does not take .*a mixed table'),
        ({"scale": {"numbers": "auto", "categories": "zscore"}}, r"scale\['categories'\] = 'zscore' scales numbers"),
        ({"kernels": Mixed(kinds={"weight": "number"})}, "kinds names the column 'weight'"),
    ],
)
def test_what_a_mixed_table_does_not_allow_is_refused(parameters, message):
    with pytest.raises(InvalidInputError, match=message):
        fit(WeaveClustering(3), PENGUINS, SPECIES, **parameters)


def test_chunks_are_refused_for_mixed_tables(model):
    with pytest.raises(InvalidInputError, match="fitted on a mixed table, but X is read in chunks"):
        model.predict(iter([PENGUINS]))
    with pytest.raises(InvalidInputError, match="kernels are 'mixed', but X is read in chunks"):
        WeaveClustering(3, kernels="mixed").fit(iter([PENGUINS]))
    parts = [quietly(model.predict, PENGUINS.iloc[i : i + 50]) for i in (0, 50, 100)]
    assert_array_equal(np.concatenate(parts), model.labels_)


def test_a_model_of_one_kernel_says_that_it_takes_one_table():
    with pytest.raises(InvalidInputError, match=r"X holds 2 views \(numbers, categories\)"):
        quietly(baselines.KernelKMeans(3).fit, PENGUINS)


def test_one_sample_is_too_few():
    with pytest.raises(InvalidInputError, match="Found 1 sample in X"):
        WeaveClustering(1).fit(PENGUINS[:1])


def test_columns_named_by_numbers_are_those_of_new_samples_too():
    frame = pd.DataFrame({0: [3, 1, 2, 9, 7, 8] * 2, 1: ["a", "b", "b"] * 4, 2: [*range(0, 24, 2)]})
    model = WeaveClustering(2, kernels="mixed", random_state=0).fit(frame)
    assert_array_equal(model.predict(frame), model.labels_)
    assert_array_equal(model.predict(frame[[2, 1, 0]].iloc[:5]), model.labels_[:5])


@pytest.mark.parametrize(
    "names",
    [
        [0, 1, 2],
        [1.5, 2.5, 3.5],
        pd.to_datetime(["2020-01-01", "2020-02-01", "2020-03-01"]),
        pd.MultiIndex.from_tuples([("a", "x"), ("a", "y"), ("b", "z")]),
    ],
    ids=["numbers", "decimals", "dates", "levels"],
)
def test_a_table_whose_columns_are_not_named_by_texts_is_found_to_be_mixed(names):
    frame = pd.DataFrame({0: [3, 1, 2, 9, 7, 8] * 2, 1: ["a", "b", "b"] * 4, 2: [*range(0, 24, 2)]})
    frame.columns = names
    with pytest.warns(ColumnsWarning, match="read as a mixed table: 2 columns of numbers and 1 column of categories"):
        model = WeaveClustering(2, random_state=0).fit(frame)
    assert_array_equal(model.predict(frame.iloc[:5, ::-1]), model.labels_[:5])


# numbers and categories compared together


def answers(n, seed=0, columns=5):
    """Return categories that tell three groups apart, beside three numbers that hardly do, and the groups."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 3, n)
    table = pd.DataFrame({f"x{i}": rng.normal(size=n) + 0.3 * rng.normal(size=3)[z] for i in range(3)})
    for j in range(columns):
        given = np.where(rng.random(n) < 0.8, rng.permutation(3)[z], rng.integers(0, 3, n))
        table[f"c{j}"] = np.array(["a", "b", "c"])[given]
    return table, z


@pytest.mark.parametrize("solver", ["dense", "local"])
def test_categories_tell_groups_apart_that_are_alike_in_numbers(solver):
    for seed in range(2):
        table, z = answers(400, seed)
        model = quietly(WeaveClustering(3, solver=solver, random_state=0).fit, table)
        assert adjusted_rand_score(z, model.labels_) > 0.85
        moved = table.assign(x0=table["x0"] + 1e-6)
        assert (quietly(model.predict, moved) == model.labels_).mean() > 0.97
        few = np.where(np.arange(400) % 13 == 0, z, -1)
        found = quietly(WeaveClassifier(solver=solver).fit, table, few).transduction_
        assert (found == z)[few < 0].mean() > 0.8


def test_numbers_and_categories_are_compared_together_in_a_version_of_their_own():
    table, _ = answers(90)
    model = quietly(WeaveClustering(3, random_state=0).fit, table)
    assert [version.name for version in model.scaling_] == ["given", "together"]
    assert_allclose(sum(version.share for version in model.scaling_), 1)
    assert_allclose(model.kernel_shares_.sum(), 1)
    plain = quietly(WeaveClustering(3, random_state=0).fit, table.filter(like="c"))
    assert "together" not in [version.name for version in plain.scaling_]


@pytest.mark.parametrize("columns", [5, 2])
def test_new_samples_are_compared_as_those_of_fit_are(columns):
    table, _ = answers(90, columns=columns)
    model = quietly(WeaveClustering(3, random_state=0).fit, table)
    consensus = model._graph_model.joiner.consensus
    new = quietly(model._read_again, table)
    assert_allclose(consensus.rows(new), consensus.matrix, rtol=1e-5, atol=1e-6)
    assert_allclose(consensus.training_rows(np.arange(90)), consensus.matrix, rtol=1e-5, atol=1e-6)


def noise(n, numbers, categories, seed=0):
    """Return a table without groups."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({f"x{i}": rng.normal(size=n) for i in range(numbers)})
    return table.assign(**{f"c{j}": rng.choice(["a", "b", "c"], n) for j in range(categories)})


@pytest.mark.parametrize(("numbers", "categories"), [(4, 3), (12, 4)])
def test_combinations_of_categories_are_no_clusters(numbers, categories):
    model = quietly(WeaveClustering("auto", random_state=0).fit, noise(240, numbers, categories))
    assert model.n_clusters_ == 1


@pytest.mark.parametrize("kind", ["normal", "permuted"])
def test_samples_without_structure_have_one_category_in_every_column(kind):
    views = quietly(Views, {"X": noise(60, 2, 3)})
    drawn = without_structure(views, np.random.RandomState(0), kind)
    before, after = views.tables[1], drawn.tables[1]
    assert views.kinds == drawn.kinds == ("numbers", "categories")
    assert_array_equal(after.sum(axis=0), before.sum(axis=0))
    for j in range(3):
        own = slice(3 * j, 3 * j + 3)
        assert_array_equal(after[:, own].sum(axis=1), 1)
        assert not np.array_equal(after[:, own], before[:, own])


def test_the_words_tell_the_versions_of_a_mixed_table_apart():
    model = quietly(WeaveClustering(3, random_state=0).fit, answers(90)[0])
    (said,) = scaling_words(model.scaling_)
    assert re.fullmatch(
        r"The samples were compared in 2 versions: numbers standardised when read, categories compared by match "
        r"\(\d+% of the weight\) and the first of these with numbers and categories together \(\d+% of the weight\)\.",
        said,
    )


@pytest.mark.parametrize("model", [WeaveClassifier(), SMKLClassifier(), PMKLClassifier()], ids=str)
def test_the_warning_says_which_kernels_numbers_have_once_the_table_is_meant_to_be_mixed(model):
    table, species = penguins()
    with pytest.warns(ColumnsWarning, match='kernels="mixed" says that this is meant, and takes the recipe "auto" for'):
        found = clone(model).fit(table, species)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnsWarning)  # of columns that are left out
        names = {
            kernels: clone(model).set_params(kernels=kernels).fit(table, species).kernel_names_
            for kernels in ("mixed", "auto", Mixed(numbers=model.kernels))
        }
    assert names["mixed"] == names["auto"]
    assert names[Mixed(numbers=model.kernels)] == found.kernel_names_
