"""Figures of the documentation: all of them stored, and the check finds those that are not."""

import json

import pytest

from benchmarks.docs_figures import Declared, check, check_page, decimals, rounds_to, stored_values


@pytest.fixture
def root(tmp_path):
    (tmp_path / "results.json").write_text(json.dumps({"a": [0.7123, {"b": 19.47}], "name": "x", "flag": True}))
    (tmp_path / "results.md").write_text("| digits | 0.852 |\n")
    return tmp_path


def problems(text, root, **declared):
    return [str(problem) for problem in check_page("docs/page.md", text, Declared(**declared), root)]


def test_every_figure_of_the_documentation_has_a_source():
    assert list(map(str, check())) == []


def test_a_figure_that_no_result_holds_is_named_with_its_line(root):
    (found,) = problems("First.\n\nACC .713 and .712.\n", root, sources=("results.json",))
    assert found.startswith("docs/page.md:3: .713: no stored result holds it. Sources: results.json")


def test_figures_are_compared_as_they_are_written(root):
    assert problems("It takes 19.5 s, ACC .71, NMI .852.", root, sources=("results.json", "results.md")) == []
    assert len(problems("It takes 19.4 s, ACC .7122, NMI .851.", root, sources=("results.json", "results.md"))) == 3


def test_without_sources_every_decimal_is_a_problem(root):
    assert len(problems("ACC .712.", root)) == 1


def test_parameters_and_published_figures_are_declared_and_a_stale_declaration_is_named(root):
    text = "Python 3.11, and .6000 in the paper."
    assert problems(text, root, parameters=("3.11",), published=(".6000",)) == []
    (found,) = problems(text, root, parameters=("3.11", "0.5"), published=(".6000",))
    assert "0.5: declared in docs/figures.toml and not on the page" in found


def test_a_page_that_is_not_there_is_named(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("No figures.\n")
    (tmp_path / "docs" / "figures.toml").write_text('["docs/gone.md"]\nparameters = ["0.1"]\n')
    (found,) = check(tmp_path)
    assert "docs/gone.md: there is no such page" in str(found)


def test_code_is_not_read_and_lines_keep_their_numbers():
    text = "`alpha=0.1`\n```python\nx = 0.5\n```\nthen 0.7, version 1.2.3, 10^5 and n^0.87, 3.6e-14.\n"
    assert list(decimals(text)) == [(5, "0.7"), (5, "0.87"), (5, "3.6e-14")]


def test_numbers_of_a_result_are_values_not_flags(root):
    assert stored_values(root / "results.json") == [0.7123, 19.47]
    assert stored_values(root / "results.md") == [0.852]


@pytest.mark.parametrize(
    ("value", "figure", "expected"),
    [(0.8765, ".877", True), (0.8764, ".877", False), (3.58e-14, "3.6e-14", True), (3.5e-14, "3.7e-14", False)],
)
def test_rounding_is_that_of_the_last_digit(value, figure, expected):
    assert rounds_to(value, figure) is expected
