"""Signals, full disks and limits: a command ends with a message and a code, and leaves nothing behind."""

import os
import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc, /dev/full and resource limits")

SPEC = """
kind = "clustering"
[presets.quick]
datasets = ["iris"]
[[methods]]
name = "MKKM"
estimator = "MKKM"
repeats = 2000
parameters = { n_init = 10 }
"""


@pytest.fixture
def spec(tmp_path):
    (tmp_path / "mine.toml").write_text(SPEC)
    return "mine.toml"


@pytest.fixture
def table(tmp_path):
    rows = "\n".join(f"{i % 3 * 9 + i % 5 / 7},{i % 3 * i % 4}" for i in range(60))
    (tmp_path / "data.csv").write_text(f"a,b\n{rows}\n")
    return "data.csv"


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_the_workers_too_and_finished_tasks_are_kept(started, reached, ended, spec, tmp_path, sent, code):
    process = started("", "reproduce", spec, "--jobs", "2", "--out", "out")
    reached(process, lambda: len(list(tmp_path.glob("out/rows/*.jsonl"))) >= 2, "two finished tasks")
    process.send_signal(sent)
    found, said = ended(process)
    assert found == code, said
    assert "Finished tasks are kept in out" in said
    assert "Traceback" not in said
    assert len(list(tmp_path.glob("out/rows/*.jsonl"))) >= 2
    assert not list(tmp_path.glob("out/.*"))


# the command waits for a signal while it writes its second file
PAUSED = """
import signal
from pathlib import Path
from kernelweave.cli import _outcome

def frame_writer(frame):
    def pause(path):
        Path("paused").touch()
        signal.pause()
    return pause

_outcome.frame_writer = frame_writer
"""


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_while_results_are_written_leaves_no_folder(started, reached, ended, table, tmp_path, sent, code):
    process = started(PAUSED, "cluster", table, "-k", "3", "--out", "out")
    reached(process, (tmp_path / "paused").exists, "the second file")
    process.send_signal(sent)
    found, said = ended(process)
    assert found == code, said
    assert "Traceback" not in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.csv", "paused"]


def run(tmp_path, *arguments, **more):
    command = [sys.executable, "-m", "kernelweave", *arguments]
    return subprocess.run(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, check=False, **more)


def test_output_to_a_full_disk_is_a_message(tmp_path):
    with open("/dev/full", "w") as full:
        done = run(tmp_path, "datasets", "list", stdout=full)
    assert done.returncode == 2
    assert done.stderr == "OSError: the output: No space left on device.\n"


def test_a_reader_who_has_read_enough_is_no_error(tmp_path):
    read, write = os.pipe()
    os.close(read)
    done = run(tmp_path, "datasets", "list", stdout=write)
    os.close(write)
    assert done.returncode == 1
    assert done.stderr == ""


@pytest.mark.parametrize("command", [("cluster", "data.csv", "-k", "3"), ("reproduce", "mine.toml")])
def test_files_that_may_not_grow_are_a_message_and_leave_nothing(spec, table, tmp_path, command):
    import resource  # not on Windows

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write fails, as on a full disk
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))

    done = run(tmp_path, *command, "--out", "out", stdout=subprocess.DEVNULL, preexec_fn=limit)
    assert done.returncode == 2
    assert "ResultsError" in done.stderr
    assert "cannot be written" in done.stderr
    assert "Traceback" not in done.stderr
    left = {path.name for path in tmp_path.rglob("*") if path.is_file()} - {"data.csv", "mine.toml"}
    assert left <= {"run.json", "spec.toml"}  # what `reproduce` needs to resume


def test_a_lack_of_memory_is_a_message(tmp_path, table):
    code = (
        "import numpy as np, kernelweave\n"
        "from kernelweave.estimators.weaving import WeaveClustering\n"
        "def fit(self, X):\n"
        "    np.empty(2**62, dtype=np.int8)\n"
        "WeaveClustering.fit = fit\n"
        "from kernelweave.cli import main\n"
        "main()\n"
    )
    command = [sys.executable, "-c", code, "cluster", table, "-k", "3", "--out", "out"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "there is not enough memory" in done.stderr
    assert "Traceback" not in done.stderr


def test_of_two_commands_that_write_one_folder_the_first_wins(started, reached, ended, table, tmp_path):
    slow = started(
        "from pathlib import Path\nimport time\n"
        "from kernelweave.cli import _outcome\n"
        "keep = _outcome.write_all\n"
        "def wait(folder, writers, **more):\n"
        "    Path('ready').touch()\n"
        "    while not Path('go').exists():\n"
        "        time.sleep(0.01)\n"
        "    return keep(folder, writers, **more)\n"
        "_outcome.write_all = wait\n",
        "cluster", table, "-k", "2", "--out", "out",
    )  # fmt: skip
    reached(slow, (tmp_path / "ready").exists, "the results")
    assert run(tmp_path, "cluster", table, "-k", "3", "--out", "out", stdout=subprocess.DEVNULL).returncode == 0
    first = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    (tmp_path / "go").touch()
    code, said = ended(slow)
    assert code == 2
    assert "out holds results already" in said
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == first
