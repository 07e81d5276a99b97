"""CPU seconds of `kernelweave reproduce table2 --preset quick`: `python -m benchmarks.quick_preset`.

The command runs once, in one process with one BLAS thread. Its tasks do not depend on each other, so with `--jobs 2` on
two idle cores it takes about half of the CPU seconds.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile

from benchmarks._stored import Page, Rows, line

_CORES = 2
_COMMAND = ("reproduce", "table2", "--preset", "quick")


def measure() -> float:
    """Return the CPU seconds of the command, user and system."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "kernelweave", *_COMMAND, "--out", folder]
        subprocess.run(command, env={**os.environ, **threads}, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def table(rows: Rows) -> str:
    """Return the figures as a table."""
    lines = [line(("command", "CPU seconds", "minutes on two cores")), line(("---", "---:", "---:"))]
    for name, found in rows["quick"].items():
        seconds = found["cpu_seconds"]
        lines.append(line((f"`kernelweave {name}`", f"{seconds:.0f}", f"{seconds / _CORES / 60:.1f}")))
    return "\n".join(lines)


PAGE = Page(
    "quick_preset",
    "Time of the preset quick",
    "Printed by `python -m benchmarks.quick_preset`: Table 2 on YALE, JAFFE and TR11. The command runs once, in one "
    "process with one BLAS thread; minutes on two cores are half of its CPU seconds, as its tasks are independent.",
    table,
)


def main() -> None:
    """Measure, store and print the figures."""
    PAGE.keep("quick", " ".join(_COMMAND), {"cpu_seconds": measure()})
    PAGE.write()


if __name__ == "__main__":
    main()
