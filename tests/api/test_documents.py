"""What the documents show must run as written, and what they say must agree with the code."""

import re
import tomllib
from importlib import import_module
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from sklearn.base import BaseEstimator

import kernelweave
from kernelweave import SMKLClustering
from kernelweave.cli import COMMANDS, _arguments
from kernelweave.estimators._learned import SchemeName
from kernelweave.solve import VERSIONS
from kernelweave.tabular import FORMATS, read_table
from kernelweave.weave.choice import SOLVERS

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]
WITH_CODE = sorted(page for page in PAGES if "```python" in page.read_text())
LINKED = sorted([*PAGES, *ROOT.glob("benchmarks/**/*.md")])
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()


@pytest.mark.parametrize("document", WITH_CODE, ids=lambda path: path.name)
def test_every_python_block_runs_as_written(document):
    blocks = re.findall(r"```python\n(.*?)```", document.read_text(), flags=re.S)
    if "import anndata" in "".join(blocks):
        pytest.importorskip("anndata", reason="make test-pandas has none")
    namespace = {"__name__": "document"}
    for block in blocks:
        exec(compile(block, document.name, "exec"), namespace)
    assert blocks


def test_the_readme_begins_with_the_two_commands():
    head = (ROOT / "README.md").read_text().splitlines()[:12]
    assert any("make demo" in line for line in head)
    assert any("make test" in line for line in head)


def test_the_package_is_described_by_the_same_sentence_everywhere():
    sentence = kernelweave.__doc__
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["description"] == sentence
    for page in ("README.md", "docs/index.md"):
        assert (ROOT / page).read_text().splitlines()[2] == f"**{sentence}**"


@pytest.mark.parametrize("document", LINKED, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_relative_link_leads_somewhere(document):
    targets = re.findall(r"\]\(([^)#\s]+)", document.read_text())
    missing = [t for t in targets if "://" not in t and not (document.parent / t).exists()]
    assert not missing


def test_every_page_of_the_documentation_is_in_its_table_of_contents():
    contents = (ROOT / "docs" / "index.md").read_text()
    pages = {page.stem for page in ROOT.glob("docs/*.md")} - {"index"}
    listed = {line.strip() for line in contents.splitlines()}
    assert pages <= listed


def test_the_reference_lists_every_public_name():
    listed = set(re.findall(r"^   (\w+)$", (ROOT / "docs" / "api.md").read_text(), flags=re.M))
    assert set(kernelweave.__all__) <= listed


def classes_in(hint):
    """Return the classes that a type is made of."""
    return {hint} if isinstance(hint, type) else {cls for part in get_args(hint) for cls in classes_in(part)}


def test_the_reference_lists_every_class_that_an_attribute_of_a_model_holds():
    single, modules = (ROOT / "docs" / "api.md").read_text().split("## Modules")
    listed = set(re.findall(r"^   (?:\w+\.)?(\w+)$", single, flags=re.M))
    for name in re.findall(r"^   ([\w.]+)$", modules, flags=re.M):
        listed |= set(import_module(f"kernelweave.{name}").__all__)
    models = [getattr(kernelweave, name) for name in kernelweave.__all__]
    models = [model for model in models if isinstance(model, type) and issubclass(model, BaseEstimator)]
    hints = [(name, hint) for model in models for name, hint in get_type_hints(model).items()]
    held = {cls for name, hint in hints if re.fullmatch(r"[a-z]\w*_", name) for cls in classes_in(hint)}
    ours = {cls.__name__ for cls in held if cls.__module__.startswith("kernelweave")}
    assert {"Version", "SolverChoice", "ClusterEvidence"} <= ours
    assert ours <= listed


def rows(text):
    """Return the cells of all rows of tables, without their marks."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip().strip("`") for cell in line.strip("|").split(" | ")] for line in lines]


CAPABILITIES = {
    "several views": "views",
    "views that lack": "gaps",
    "mixed tables": "mixed",
    'kernels="precomputed"': "precomputed",
    "samples in chunks": "chunks",
    'n_clusters="auto"': "auto",
    "graph`": "graph",
    "gamma`": "gamma",
    "embedding`": "embedding",
    'dtype="float64"': "float64",
}


def test_the_table_of_solvers_says_what_each_of_them_supports():
    text = (ROOT / "docs" / "scaling.md").read_text()
    table = rows(text.split("## What each solver supports")[1].split("\n## ")[0])
    assert [name.lower() for name in table[0][1:]] == list(SOLVERS)
    found = {solver: set() for solver in SOLVERS}
    for what, *answers in table[2:]:
        (capability,) = [name for words, name in CAPABILITIES.items() if what.startswith(words)]
        for solver, answer in zip(SOLVERS, answers, strict=True):
            assert answer in ("yes", "no")
            if answer == "yes":
                found[solver].add(capability)
    assert found == {name: set(solver.supports) for name, solver in SOLVERS.items()}


@pytest.mark.parametrize("name", ["dense", "local"])
def test_the_page_on_scaling_says_up_to_how_many_samples_a_solver_is_chosen(name):
    text = " ".join((ROOT / "docs" / "scaling.md").read_text().split())
    (number,) = re.findall(rf"`{name.capitalize()}` for up to ([\d,]+)", text)
    assert int(number.rstrip(",").replace(",", "")) == SOLVERS[name].up_to


def test_the_page_on_the_command_line_shows_every_command():
    text = (ROOT / "docs" / "command-line.md").read_text()
    shown = set(re.findall(r"^kernelweave (\w+)", text, re.MULTILINE))
    assert sorted(shown) == sorted(COMMANDS)


def test_every_type_of_file_is_named_wherever_types_are_listed():
    shown = (ROOT / "docs" / "tables.md").read_text().split("## File types")[1]
    for text in (shown, read_table.__doc__, get_args(_arguments.Files)[1].help):
        assert [suffix for suffix in FORMATS if not re.search(rf"\{suffix}\b", text)] == []


def test_every_version_of_the_algorithm_is_described():
    assert set(get_args(SchemeName)) == set(VERSIONS)
    assert {row[0].split("`")[0] for row in rows((ROOT / "docs" / "solver.md").read_text())[2:]} >= set(VERSIONS)
    described = SMKLClustering.__doc__.split("scheme : ")[1].split("max_iter : ")[0]
    assert [name for name in VERSIONS if f'"{name}": ' not in described] == []


def test_every_file_that_contributing_names_exists():
    named = re.findall(r"`((?:src|tests|docs|benchmarks)/[\w./-]*)`", CONTRIBUTING)
    assert len(named) > 30
    package = Path(kernelweave.__file__).parent  # not in src where the tests run against an installed wheel
    ours = "src/kernelweave/"
    places = [package / path.removeprefix(ours) if path.startswith(ours) else ROOT / path for path in named]
    assert [str(place) for place in places if not place.exists()] == []


def test_contributing_lists_the_layers_in_their_order():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
    expected = [set(layer.replace("kernelweave.", "").split(" | ")) for layer in layers]
    table = rows(CONTRIBUTING.split("| layer |")[1].split("\n\n")[0])
    assert [set(re.findall(r"\w+", layer)) for layer, _ in table[1:]] == expected


SECTIONS = re.split(r"^## ", (ROOT / "GLOSSARY.md").read_text(), flags=re.M)[1:]


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.splitlines()[0])
def test_a_letter_has_one_meaning_in_each_section_of_the_glossary(section):
    letters = [letter for symbol, *_ in rows(section)[2:] for letter in symbol.split(", ")]
    assert letters
    assert len(set(letters)) == len(letters)
