"""The command line answers at once."""

import subprocess
import sys

import pytest

from kernelweave.cli import COMMANDS

HEAVY = ("sklearn", "scipy", "pandas", "matplotlib", "numpy", "jinja2")


def imported(program):
    check = f"import sys\n{program}\nprint([name for name in {HEAVY} if name in sys.modules])"
    return subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_imports_nothing_heavy(command):
    program = f"""
from kernelweave.cli import main
sys.argv = ["kernelweave", *{command.split()}, "--help"]
try:
    main()
except SystemExit as left:
    assert not left.code
"""
    assert imported(program).endswith("[]\n")


def test_the_package_itself_imports_nothing_heavy():
    assert imported("import kernelweave") == "[]\n"


def test_ctrl_c_ends_with_130_and_leaves_nothing(run, csv, monkeypatch, tmp_path):
    from kernelweave import WeaveClustering

    def interrupted(self, X):
        raise KeyboardInterrupt

    monkeypatch.setattr(WeaveClustering, "fit", interrupted)
    code, _, err = run("cluster", csv, "--id", "name", "-k", 3)
    assert code == 130
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == [csv]


def test_completion_can_be_installed(run):
    assert "--install-completion" in run("--help")[1]
