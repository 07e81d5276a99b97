"""Processes that are killed: at each of their file operations in turn, or by a signal while they work."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

# Runs `job(folder)` in a fork for each of its file operations in `folder`, and kills the fork just before that one.
# After each kill `check(folder)` looks at what is there. Audit events are counted, so that the moments do not depend on
# the speed of the machine.
_HARNESS = """
import itertools, os, shutil, signal, sys
from pathlib import Path

root, every = Path(sys.argv[1]), int(sys.argv[2])

{code}

WATCHED = {{"open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "shutil.rmtree"}}


def killed_at(moment):
    left = itertools.count()

    def hook(event, arguments):
        if event in WATCHED and str(root) in str(arguments[0]) and next(left) == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


for moment in itertools.count(0, every):
    folder = root / str(moment)
    folder.mkdir()
    prepare(folder)
    pid = os.fork()
    if pid == 0:
        killed_at(moment)
        job(folder)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    whole = os.WIFEXITED(status)
    assert whole or os.WTERMSIG(status) == signal.SIGKILL, status
    check(folder, whole)
    shutil.rmtree(folder)
    if whole:
        break
print(moment // every)
"""

# a shell that runs the tests in the background has them ignore Ctrl-C, and with them what they start
_INTERRUPTIBLE = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"


@pytest.fixture
def killed_at_every_file_operation(tmp_path):
    """Run code with `prepare(folder)`, `job(folder)` and `check(folder, whole)`; return the number of kills."""

    def call(code: str, every: int = 1) -> int:
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, "-c", _HARNESS.format(code=code), str(tmp_path), str(every)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        assert done.returncode == 0, done.stderr
        return int(done.stdout.splitlines()[-1])

    return call


@pytest.fixture
def started(tmp_path, session):
    """Start `kernelweave` after some code of the test, in a session of its own; whatever is left of it ends after."""
    running = []

    def call(code: str, *arguments: str) -> subprocess.Popen:
        command = [
            sys.executable,
            "-c",
            f"{_INTERRUPTIBLE}{code}\nfrom kernelweave.cli import main\nmain()\n",
            *arguments,
        ]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, start_new_session=True
        )
        running.append(process)
        return process

    yield call
    for process in running:
        process.kill()
        for member in session(process.pid):  # what it left behind, if the test failed
            os.kill(member, signal.SIGKILL)
        process.communicate()


_LOOKS = 60_000  # a hundredth of a second apart, or more: a busy machine makes them take longer


@pytest.fixture
def eventually():
    """Wait until something holds; fail, rather than hang, if it still does not after very many looks."""

    def wait(holds, what: str) -> None:
        for _ in range(_LOOKS):
            if holds():
                return
            time.sleep(0.01)
        pytest.fail(f"never came: {what}")

    return wait


@pytest.fixture
def ended(eventually, session):
    """Wait until a process and all that it started have ended; return its code and what it said on standard error."""

    def wait(process: subprocess.Popen) -> tuple[int, str]:
        eventually(lambda: process.poll() is not None, "the end of the command")
        # processes that stay would hold the pipe, and reading to its end would wait for them
        eventually(lambda: not session(process.pid), "the end of its workers")
        return process.returncode, process.communicate()[1]

    return wait


@pytest.fixture
def reached(eventually):
    """Wait until a running process has come so far that something holds."""

    def wait(process: subprocess.Popen, holds, what: str) -> None:
        eventually(lambda: holds() or process.poll() is not None, what)
        assert process.poll() is None, process.communicate()

    return wait


@pytest.fixture
def session():
    """Return the processes of a session that are running, other than zombies."""

    def members(leader: int) -> list[int]:
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal():
                try:
                    fields = (entry / "stat").read_text().rpartition(")")[2].split()
                except OSError:
                    continue
                if int(fields[3]) == leader and fields[0] != "Z":
                    found.append(int(entry.name))
        return found

    return members
