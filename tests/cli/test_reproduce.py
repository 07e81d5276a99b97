"""`kernelweave reproduce` and `kernelweave datasets` as a user meets them."""

import os
import signal
import subprocess
import sys
import time
from typing import NamedTuple

import pytest

from kernelweave.cli import main

SPEC = """
kind = "clustering"

[presets.quick]
datasets = ["iris"]

[[methods]]
name = "MKKM"
estimator = "MKKM"
repeats = 30
parameters = { n_init = 10 }
"""


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(SPEC)
    return str(path)


class Done(NamedTuple):
    """How a command ended, and what it said."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def kernelweave(monkeypatch, capsys):
    """Run a command as the installed program would, in this process."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["kernelweave", *arguments])
        with pytest.raises(SystemExit) as left:
            main()
        return Done(left.value.code or 0, *capsys.readouterr())

    return run


def test_an_experiment_of_ones_own_runs_and_says_where_its_results_are(kernelweave, spec, tmp_path):
    done = kernelweave("reproduce", spec, "--out", str(tmp_path / "out"), "--methods", "mkkm")
    assert done.returncode == 0, done.stderr
    assert "30 rows (0 failed)" in done.stdout
    assert "30 tasks to run" in done.stderr
    assert (tmp_path / "out" / "results.parquet").is_file()
    assert (tmp_path / "out" / "mine.md").is_file()
    again = kernelweave("reproduce", spec, "--out", str(tmp_path / "out"))
    assert "0 tasks to run, 30 already finished" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["table9"], "InvalidInputError: There is no experiment 'table9': choose one of"),
        (["SPEC", "--datasets", "irsi"], "has no data set 'irsi' under this preset: choose of iris"),
        (["SPEC", "--preset", "full"], "there is no preset 'full'; possible are quick"),
        (["SPEC", "--out", "SPEC"], "ResultsError: "),
    ],
)
def test_a_mistake_is_one_message_without_a_traceback_and_exit_code_two(
    kernelweave, spec, tmp_path, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    done = kernelweave("reproduce", *(spec if a == "SPEC" else a for a in arguments))
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


# the second task waits for a signal
WAITING = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for what runs in the background
from kernelweave.cli import main
from kernelweave.experiments import runner

run, first = runner.run_task, iter([True])

def waits(task, shared):
    if next(first, None) is None:
        signal.pause()
    return run(task, shared)

runner.run_task = waits
main()
"""


def test_ctrl_c_says_how_to_resume(spec, tmp_path):
    out = tmp_path / "out"
    command = [sys.executable, "-c", WAITING, "reproduce", spec, "--out", str(out)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not list(out.glob("rows/*.jsonl")) and process.poll() is None:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 130
    assert f"Finished tasks are kept in {out}: run the same command to resume." in said
    assert "Traceback" not in said
    assert not list(out.glob(".*"))


def test_help_does_not_import_what_is_heavy():
    code = (
        "import sys; from kernelweave.cli import build_app; build_app(); "
        "print({'sklearn', 'pandas', 'matplotlib', 'scipy', 'joblib'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_data_sets_are_listed_and_described(kernelweave, shared_data):
    listed = kernelweave("datasets", "list").stdout
    assert [line.split()[0] for line in listed.splitlines()[1:]][:3] == ["yale", "jaffe", "yeast"]
    assert "Belhumeur" in kernelweave("datasets", "info", "YALE").stdout
    unknown = kernelweave("datasets", "info", "yael")
    assert unknown.returncode == 2
    assert "There is no data set 'yael': choose one of yale" in unknown.stderr
    fetched = kernelweave("datasets", "fetch", "yale", "--data-dir", str(shared_data / "paper"))
    assert fetched.stdout.startswith("yale: ")


def test_the_list_of_data_sets_is_filtered_by_views_samples_and_domain(kernelweave):
    listed = kernelweave("datasets", "list", "--views", "3+", "--samples", "100-600", "--domain", "text").stdout
    names = [line.split()[0] for line in listed.splitlines()[1:]]
    assert {"3sources", "20news500", "reuters600"} == set(names)
    wrong = kernelweave("datasets", "list", "--views", "many")
    assert wrong.returncode == 2
    assert (
        "--views takes a number, such as 2, a least number, such as 2+, or a range, such as 2-5; got 'many'"
        in " ".join(wrong.stderr.split())
    )
