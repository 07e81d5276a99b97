"""The printed figures: all there, as printed, and a file with a mistake says which."""

import re

import pytest

from kernelweave.datasets import list_datasets
from kernelweave.errors import InvalidInputError
from kernelweave.experiments.published import load_published, published_names

OWN = """
source = "Someone, 2020"
table = "Table 9"
caption = "Figures"
unit = "{unit}"
keys = {keys}
[figures{place}]
{figures}
"""


@pytest.fixture
def own(tmp_path):
    def write(unit="share", keys='["dataset", "method"]', place=".iris.A", figures="acc = 0.5"):
        path = tmp_path / "own.toml"
        path.write_text(OWN.format(unit=unit, keys=keys, place=place, figures=figures))
        return path

    return write


@pytest.fixture
def paper(shared_data):
    path = shared_data.parent / "reference" / "paper.tex"
    if not path.is_file():
        pytest.skip("the text of the paper is not beside this checkout")
    return path.read_text()


def body(tex, first):
    """The rows of the tabular that holds the given words, as lists of fields without their dressing."""
    start = tex.index(first)
    text = tex[start : tex.index(r"\end{tabular}", start)]
    text = re.sub(r"\\(textbf|textrm)\{(.*?)\}", r"\2", text)
    text = re.sub(r"\\multirow\{\d\}\{4em\}\{(\w+)\}", r"\1", text)
    text = re.sub(r"\\(hline|cline\{.*?\})", "", text)
    return [[field.strip() for field in line.split("&")] for line in text.split(r"\\")[1:] if "&" in line]


def test_table_1_holds_what_the_paper_prints(paper):
    table = load_published("table1")
    printed = {name.lower(): tuple(map(int, sizes)) for name, *sizes in body(paper, r"\textrm{\# instances}")}
    assert len(printed) == 6
    for name, sizes in printed.items():
        assert tuple(table.find(name, metric).value for metric in ("instances", "features", "classes")) == sizes


def test_table_2_holds_what_the_paper_prints(paper):
    table = load_published("table2")
    methods = ("SC", "SSR", "MKKM", "RMKKM", "AASC", "KGL", "PMKL", "SMKL")
    name, seen = None, 0
    for first, metric, *figures in body(paper, r"Metric\ \ "):
        name = first.lower() or name
        for method, figure in zip(methods, figures, strict=True):
            assert table.find(name, metric.lower(), method).value == float(figure)
            seen += 1
    assert seen == len(table.figures) == 96


def test_table_3_holds_what_the_paper_prints(paper):
    table = load_published("table3")
    methods = ("GFHF", "LGC", "S3R", "S2LRR", "SCAN", "SMKL")
    name, seen = None, 0
    for first, labels, *figures in body(paper, "Data &Labeled"):
        name = first.lower() or name
        for method, figure in zip(methods, figures, strict=True):
            found = table.find(name, "acc", method, int(labels))
            assert (found.value, found.std) == tuple(map(float, figure.split(r"$\pm$")))
            seen += 1
    assert seen == len(table.figures) == 72


def test_the_text_of_the_paper_gives_ba_39_classes(paper):
    assert "there are 39 classes and each class has 39 samples" in paper
    figure = load_published("table1").find("ba", "classes")
    assert (figure.value, figure.where) == (39, "Section 5.1")


@pytest.mark.parametrize("name", published_names())
def test_every_shipped_table_names_its_source_and_known_data(name):
    table = load_published(name)
    assert "IJCAI 2018" in table.source
    assert {figure.dataset for figure in table.figures} <= set(list_datasets())
    keys = [(f.dataset, f.metric, f.method, f.labels) for f in table.figures]
    assert len(keys) == len(set(keys))


def test_percent_and_share_are_told_apart():
    assert load_published("table2").scale == 1
    assert load_published("table3").scale == 100


def test_reads_a_file_of_your_own(own):
    table = load_published(own(unit="percent", figures="acc = 50.0\nacc_std = 2.0"))
    assert table.metrics == ("acc",)
    assert table.find("iris", "acc", "A").std == 2
    assert table.find("iris", "acc", "B") is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"unit": "furlongs"}, "unit must be one of share, percent, count, got 'furlongs'"),
        ({"keys": '["method"]'}, "keys must name dataset"),
        ({"keys": '["dataset", "colour"]'}, "keys must name dataset"),
        ({"figures": "acc = 50.0"}, r"figures\.iris\.A\.acc must be a number from 0 to 1 .* got 50\.0"),
        ({"figures": 'acc = "good"'}, "acc must be a number .* got 'good'"),
        ({"figures": "acc_std = 0.1"}, "acc_std is the deviation of acc, which is missing"),
        ({"keys": '["dataset", "labels", "method"]'}, r"figures\.iris\.A must be a whole percentage"),
        ({"place": "", "figures": "iris = 3"}, r"figures\.iris must be a table of method, got 3"),
        ({"place": "", "figures": ""}, "figures is empty"),
    ],
)
def test_says_where_a_file_is_wrong(own, change, message):
    with pytest.raises(InvalidInputError, match=message):
        load_published(own(**change))


def test_says_what_is_missing_unknown_or_no_toml(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text("table = 3")
    with pytest.raises(InvalidInputError, match="source must be a str, got None"):
        load_published(path)
    path.write_text("table =")
    with pytest.raises(InvalidInputError, match="is not a TOML file"):
        load_published(path)
    with pytest.raises(InvalidInputError, match="no published figures 'table7': choose one of table1"):
        load_published("table7")


def test_a_key_that_nobody_reads_is_refused(own):
    path = own()
    path.write_text("colour = 1\n" + path.read_text())
    with pytest.raises(InvalidInputError, match="unknown colour"):
        load_published(path)
