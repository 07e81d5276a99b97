"""The pages of the reference, as Sphinx makes them from the template and the settings of the documentation."""

import re
from pathlib import Path

import pytest

build = pytest.importorskip("sphinx.cmd.build", reason="Sphinx is not installed")
pytest.importorskip("numpydoc", reason="numpydoc is not installed")

DOCS = Path(__file__).parents[2] / "docs"
PLAIN = """
extensions = ["sphinx.ext.autodoc", "numpydoc"]
templates_path, html_theme, html_math_renderer, html_static_path, html_css_files = [], "basic", "mathjax", [], []
"""


@pytest.mark.parametrize(
    ("model", "methods"),
    [
        ("WeaveClassifier", ["fit", "predict", "predict_proba", "save", "score", "undecided"]),
        ("SMKLClustering", ["fit", "fit_predict", "predict", "predict_proba", "save", "transform", "undecided"]),
    ],
)
def test_the_page_of_a_model_shows_the_methods_that_it_inherits(model, methods, tmp_path):
    page = (DOCS / "_templates" / "autosummary" / "class.rst").read_text(encoding="utf-8")
    page = page.replace("{{ objname | escape | underline }}", "A model\n=======").replace("{{ module }}", "kernelweave")
    (tmp_path / "index.rst").write_text(page.replace("{{ objname }}", model), encoding="utf-8")
    (tmp_path / "conf.py").write_text((DOCS / "conf.py").read_text(encoding="utf-8") + PLAIN, encoding="utf-8")
    assert build.main(["-q", "-b", "text", str(tmp_path), str(tmp_path / "out")]) == 0
    shown = re.findall(r"^   (\w+)\(", (tmp_path / "out" / "index.txt").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert set(methods) <= set(shown)
    assert not {"get_params", "set_params", "set_output"} & set(shown)
