"""What a report of a problem shows."""

import re
from importlib.metadata import version

import kernelweave
from kernelweave import _versions


def shown(capsys):
    kernelweave.show_versions()
    lines = capsys.readouterr().out.splitlines()
    return {line.split()[0]: " ".join(line.split()[1:]) for line in lines}


def test_the_versions_are_those_of_the_installed_packages(capsys):
    found = shown(capsys)
    assert found["kernelweave"] == kernelweave.__version__
    for name in ("numpy", "scipy", "scikit-learn", "joblib"):
        assert found[name] == version(name)


def test_packages_of_extras_are_listed_but_not_those_of_developers(capsys):
    found = shown(capsys)
    assert {"pandas", "openpyxl", "dask"} <= set(found)
    assert not {"pytest", "mypy", "sphinx", "kernelweave[cli]"} & set(found)


def test_a_package_that_is_missing_is_said_to_be(monkeypatch, capsys):
    monkeypatch.setattr(_versions, "_packages", lambda: ["there-is-no-such-package"])
    kernelweave.show_versions()
    assert re.search(r"^there-is-no-such-package +not installed$", capsys.readouterr().out, flags=re.M)


def test_the_libraries_of_linear_algebra_are_listed(capsys):
    kernelweave.show_versions()
    assert re.search(r"^blas \d +\w+ .*, \d+ threads?$", capsys.readouterr().out, flags=re.M)
