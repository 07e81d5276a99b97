"""The command line answers at once."""

import inspect
import subprocess
import sys

import pytest
import typer

from kernelweave.cli import COMMANDS
from kernelweave.kernels import RECIPES

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


def functions():
    """Return every function that runs a command, with the words that call it."""
    for name, command in COMMANDS.items():
        if isinstance(command, typer.Typer):
            for one in command.registered_commands:
                yield f"{name} {one.name or one.callback.__name__}", one.callback
        else:
            yield name, command


@pytest.mark.parametrize(("words", "function"), [pytest.param(*pair, id=pair[0]) for pair in functions()])
def test_the_help_ends_with_an_example(words, function):
    assert inspect.getdoc(function).split("\n\n")[-1].startswith(f"kernelweave {words}")


def test_the_recipes_of_kernels_are_listed_in_the_help(run):
    listed = " ".join(run("cluster", "--help")[1].replace("│", " ").split())
    assert all(recipe in listed for recipe in (*RECIPES, "mixed"))


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
