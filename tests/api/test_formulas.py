"""Formulas in the documentation are shown without a network: MathML, made by the docs build."""

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import kernelweave

math = pytest.importorskip("docutils.utils.math.latex2mathml")

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("docs/*.md"), ROOT / "GLOSSARY.md"]
MODULES = [module.name for module in pkgutil.walk_packages(kernelweave.__path__, "kernelweave.")]


def in_pages():
    """Return the formulas between dollar signs, outside of code."""
    for page in PAGES:
        text = re.sub(r"```.*?```|`[^`\n]+`", "", page.read_text(), flags=re.S)
        blocks = re.findall(r"\$\$(.+?)\$\$", text, flags=re.S)
        lines = re.findall(r"\$([^$\n]+)\$", re.sub(r"\$\$.+?\$\$", "", text, flags=re.S))
        yield from ((page.name, formula) for formula in (*blocks, *lines))


def in_docstrings():
    """Return the formulas in the role and the directive "math" of public classes."""
    for name in MODULES:
        module = importlib.import_module(name)
        for public in getattr(module, "__all__", ()):
            text = str(getattr(module, public).__doc__)
            formulas = re.findall(r":math:`([^`]+)`", text) + re.findall(
                r"\.\. math:: (.+?)\n\n", text + "\n\n", flags=re.S
            )
            yield from ((f"{name}.{public}", " ".join(formula.split())) for formula in formulas)


@pytest.mark.parametrize("found", [in_pages, in_docstrings], ids=["pages", "docstrings"])
def test_every_formula_can_be_shown(found):
    formulas = list(found())
    assert len(formulas) > 10
    for where, formula in formulas:
        try:
            math.tex2mathml(formula, as_block=True)
        except ValueError as error:
            pytest.fail(f"{where}: {formula}: {error}")


@pytest.mark.parametrize("found", [in_pages, in_docstrings], ids=["pages", "docstrings"])
def test_fractions_have_braces_since_digits_in_a_row_are_read_as_one_number(found):
    without = [
        (where, formula)
        for where, formula in found()
        if re.search(r"\\[dt]?frac(?!\{[^{}]*(\{[^{}]*\}[^{}]*)*\}\{)", formula)
    ]
    assert not without


def test_the_documentation_asks_for_no_script_of_another_server():
    conf = (ROOT / "docs" / "conf.py").read_text()
    assert 'html_math_renderer = "mathml"' in conf
    assert "mathjax" not in conf
    assert '"write_computation_times": False' in conf
