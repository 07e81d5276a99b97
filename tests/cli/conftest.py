"""Run commands as a shell would, and files for them."""

import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

from kernelweave.cli import main


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Run a command in an empty folder; return its exit code, what it printed, and what it said on the error stream."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["kernelweave", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        printed = capsys.readouterr()
        return left.value.code or 0, printed.out, printed.err

    return call


@pytest.fixture
def refused(run, tmp_path):
    """Run a command that must end with one message, exit code 2, and every file as it was; return the message."""

    def call(*arguments):
        before = {path: path.read_bytes() if path.is_file() else None for path in tmp_path.rglob("*")}
        code, out, err = run(*arguments)
        assert code == 2, err
        assert out == ""
        assert "Traceback" not in err
        after = {path: path.read_bytes() if path.is_file() else None for path in tmp_path.rglob("*")}
        assert after == before
        return " ".join(err.split())

    return call


@pytest.fixture
def table():
    """60 samples with a name, four features and a class."""
    X, y = make_blobs(60, centers=3, n_features=4, cluster_std=0.5, random_state=0)
    frame = pd.DataFrame(X.round(3), columns=list("abcd"))
    frame.insert(0, "name", [f"{i:03}" for i in range(60)])
    frame["kind"] = np.array(["red", "green", "blue"])[y]
    return frame


@pytest.fixture
def csv(table, tmp_path):
    """Write the table without its classes."""
    path = tmp_path / "data.csv"
    table.drop(columns="kind").to_csv(path, index=False)
    return path
