"""How the documentation is built: `make docs`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import matplotlib

import kernelweave

HERE = Path(__file__).parent
sys.path.append(str(HERE / "_extensions"))
SHARED = HERE.parents[1] / "shared" / "data" / "paper"
if SHARED.is_dir():  # a developer's copy of the paper's data; without it the tutorials use data at hand
    os.environ.setdefault("KERNELWEAVE_DATA", str(SHARED))

project = "kernelweave"
author = copyright = "The kernelweave developers"
version = release = kernelweave.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "mathml",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "**/*.ipynb", "**/*.json"]
templates_path = ["_templates"]
myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]  # the gallery's order is a class, which Sphinx cannot store

html_theme = "furo"
html_math_renderer = "mathml"
html_static_path = ["_static", f"{matplotlib.get_data_path()}/fonts/ttf/DejaVuSerif.ttf"]
html_css_files = ["formulas.css", "tables.css"]
html_title = f"kernelweave {version}"

autosummary_generate = True
autodoc_default_options = {"members": True}
autodoc_typehints = "none"  # the docstrings name the types; a signature with all of them cannot be read
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": ["../examples/tutorials", "../examples/explained"],
    "gallery_dirs": ["tutorials", "explained"],
    "filename_pattern": r"\.py",
    "backreferences_dir": "gen_modules",  # the page "Gallery" asks for it
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "write_computation_times": False,  # its pages load scripts from other servers
    "abort_on_example_error": True,
    "matplotlib_animations": False,
}


def _skip(app: object, what: str, name: str, obj: object, skip: bool, options: object) -> bool | None:
    """Leave out the methods of scikit-learn, whose docstrings link to pages of its own documentation."""
    if name.endswith("_request") or name in ("get_metadata_routing", "set_params", "get_params", "set_output"):
        return True
    return True if name == "score" and getattr(obj, "__module__", "").startswith("sklearn") else None


def setup(app: object) -> None:
    """Connect the function above to Sphinx."""
    app.connect("autodoc-skip-member", _skip)  # type: ignore[attr-defined]
