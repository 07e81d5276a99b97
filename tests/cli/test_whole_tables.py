"""Tables as they are downloaded, like those of the Titanic, of penguins and of wine, need no option to be read."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.metrics import adjusted_rand_score


def titanic(n=160):
    """Return a table like the passengers of the Titanic, of whom mostly women in the first class survived."""
    rng = np.random.default_rng(0)
    lived = rng.random(n) < 0.4
    sex = np.where(lived ^ (rng.random(n) < 0.1), "female", "male")
    ranks = np.where(lived ^ (rng.random(n) < 0.2), 1, 3)
    return pd.DataFrame(
        {
            "PassengerId": np.arange(1, n + 1),
            "Survived": lived.astype(int),
            "Pclass": ranks,
            "Name": [f"Doe, Mr{'s' * (s == 'female')}. Number {i}" for i, s in enumerate(sex)],
            "Sex": sex,
            "Age": np.where(rng.random(n) < 0.2, np.nan, rng.integers(1, 80, n)),
            "Ticket": [f"PC {17000 + i // 2}" for i in range(n)],
            "Fare": (90.0 / ranks + rng.exponential(5, n)).round(4),
            "Cabin": [f"C{i}" if rng.random() < 0.2 else None for i in range(n)],
            "Embarked": rng.choice(["S", "C", "Q", None], n, p=[0.7, 0.18, 0.1, 0.02]),
        }
    )


def penguins(n=120):
    """Return a table like the penguins of Palmer station, with two rows without a measurement."""
    rng = np.random.default_rng(0)
    kind = np.arange(n) % 3
    table = pd.DataFrame(
        {
            "species": np.array(["Adelie", "Chinstrap", "Gentoo"])[kind],
            "island": np.array(["Torgersen", "Dream", "Biscoe"])[kind],
            "bill_length_mm": (np.array([39, 49, 47])[kind] + rng.normal(size=n)).round(1),
            "bill_depth_mm": (np.array([18.3, 18.4, 15])[kind] + 0.5 * rng.normal(size=n)).round(1),
            "flipper_length_mm": (np.array([190, 196, 217])[kind] + 3 * rng.normal(size=n)).round(),
            "body_mass_g": (np.array([3700, 3730, 5080])[kind] + 150 * rng.normal(size=n)).round(-1),
            "sex": rng.choice(["male", "female"], n),
            "year": rng.integers(2007, 2010, n),
        }
    )
    table.loc[[3, 70], list(table)[2:7]] = np.nan
    return table


def wine():
    """Return wine with columns of text, as in a list of a shop."""
    table, y = load_wine(return_X_y=True, as_frame=True)
    land = np.array(["Italy", "France", "Chile"])[y]
    return table.assign(country=land, colour=np.where(np.arange(len(y)) % 5, "red", "white")), y


def test_passengers_are_clustered_and_classified_without_any_flag(run, tmp_path):
    table = titanic()
    table.to_csv(tmp_path / "titanic.csv", index=False)
    code, _, err = run("cluster", "titanic.csv")
    assert code == 0, err
    assert "the column 'PassengerId' holds the ids" in err
    assert "'Name'" in err  # which is left out
    half = table.assign(Survived=table["Survived"].astype(object).where(table.index % 2 == 0))
    half.to_csv(tmp_path / "half.csv", index=False)
    code, out, err = run("classify", "half.csv", "--labels", "Survived", "--json")
    assert code == 0, err
    assert json.loads(out)["n_labelled"] == 80
    found = pd.read_csv("half-classes/labels.csv")
    assert (found["label"] == table["Survived"])[1::2].mean() > 0.7


def test_penguins_are_clustered_and_new_ones_predicted_without_any_flag(run, tmp_path):
    table = penguins()
    table.drop(columns="species")[:90].to_csv(tmp_path / "penguins.csv", index=False)
    code, _, err = run("cluster", "penguins.csv", "-k", 3)
    assert code == 0, err
    labels = pd.read_csv("penguins-clusters/labels.csv")["label"]
    assert adjusted_rand_score(table["species"][:90], labels) > 0.9
    new = table[90:].assign(island="Anvers", notes="late")
    new[["sex", "year", "notes", "body_mass_g", "island", "bill_length_mm", "bill_depth_mm"]].to_csv(
        "new.csv", index=False
    )
    code, out, err = run("predict", "penguins-clusters/model.kw", "new.csv", "--json")
    assert code == 0, err
    assert "'island': 'Anvers' (30)" in err
    assert "1 column of fit absent, read as missing cells: 'flipper_length_mm'" in err
    found = [row["label"] for row in json.loads(out)]
    assert adjusted_rand_score(new["species"], found) > 0.8


def test_wine_with_text_is_clustered_without_any_flag(run, tmp_path):
    table, y = wine()
    table.to_csv(tmp_path / "wine.csv", index=False)
    code, _, err = run("cluster", "wine.csv", "-k", 3)
    assert code == 0, err
    labels = pd.read_csv("wine-clusters/labels.csv")["label"]
    assert adjusted_rand_score(y, labels) > 0.8
    assert set(pd.read_csv("wine-clusters/features.csv")["type"]) == {"number", "category"}


@pytest.mark.parametrize("form", ["csv", "json", "xlsx", "parquet"])
def test_a_mixed_table_keeps_its_labels_when_it_is_predicted_from_another_kind_of_file(run, tmp_path, form):
    table = penguins().drop(columns="species")
    table.to_csv(tmp_path / "data.csv", index=False)
    run("cluster", "data.csv", "-k", 3)
    expected = pd.read_csv("data-clusters/labels.csv")["label"]
    writers = {"csv": "to_csv", "json": "to_json", "xlsx": "to_excel", "parquet": "to_parquet"}
    options = {"json": {"orient": "records"}, "parquet": {}}.get(form, {"index": False})
    if form == "xlsx":
        pytest.importorskip("openpyxl")
    getattr(table[table.columns[::-1]], writers[form])(tmp_path / f"again.{form}", **options)
    code, out, err = run("predict", "data-clusters", f"again.{form}", "--json")
    assert code == 0, err
    assert [int(row["label"]) for row in json.loads(out)] == expected.tolist()
