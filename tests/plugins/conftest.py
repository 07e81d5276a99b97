"""Packages as pip installs them: a folder with the modules and the metadata of their entry points."""

import shutil
import sys
import tomllib
from pathlib import Path

import pytest

TEMPLATE = Path(__file__).parents[2] / "examples" / "plugin_template"


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Return a function that puts a package with entry points on the path; its modules are forgotten afterwards."""
    folders = []

    def add(name, entry_points):
        folder = tmp_path / name
        info = folder / f"{name.replace('-', '_')}-0.1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1.0\n")
        text = [
            f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in names.items()) for group, names in entry_points.items()
        ]
        (info / "entry_points.txt").write_text("\n".join(text))
        monkeypatch.syspath_prepend(str(folder))
        folders.append(str(folder))
        return folder

    yield add
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", "")).startswith(tuple(folders) or "-"):
            del sys.modules[name]


@pytest.fixture
def template(install):
    """Install the template package by its own pyproject.toml; return that file's contents."""
    project = tomllib.loads((TEMPLATE / "pyproject.toml").read_text())["project"]
    folder = install(project["name"], project["entry-points"])
    shutil.copytree(TEMPLATE / "src", folder, dirs_exist_ok=True)
    return project
