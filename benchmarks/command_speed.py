"""CPU seconds of `kernelweave cluster` on a CSV of 1500 x 64, beside the packages that it imports.

`python -m benchmarks.command_speed`: the medians of five processes with one BLAS thread, measured in turn
with the others. Bytecode is cached, as in an installed package. The ratio to the imports depends less on the machine
than the seconds do.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from sklearn.datasets import load_digits

from benchmarks._stored import Page, Rows, line

_REPEATS = 5
_PACKAGES = "import numpy, scipy.linalg, scipy.sparse, pandas, sklearn.cluster"
_COMMAND, _FITTED = "`kernelweave cluster`", "`WeaveClustering.fit` in it"
_IMPORTS = f"`{_PACKAGES}`"
_FIT = (
    "import numpy as np, sys, time; from kernelweave import WeaveClustering\n"
    "X = np.genfromtxt(sys.argv[1], delimiter=',', skip_header=1)[:, 1:]\n"
    "start = time.process_time(); WeaveClustering(10, random_state=0).fit(X); print(time.process_time() - start)"
)


def _environment(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return kept | threads | {"PYTHONPYCACHEPREFIX": str(folder / "bytecode")}


def _seconds(arguments: list[str], environment: dict[str, str]) -> tuple[float, str]:
    """Return the CPU seconds of a process, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, *arguments], env=environment, check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def measure() -> dict[str, float]:
    """Return the median CPU seconds of the command, of its fit and of importing the packages."""
    X = load_digits().data[:1500]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table, environment = folder / "digits.csv", _environment(folder)
        header = ",".join(["id", *(f"p{j}" for j in range(X.shape[1]))])
        rows = [",".join([f"s{i}", *map(str, row)]) for i, row in enumerate(X.tolist())]
        table.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
        command = ["-m", "kernelweave", "cluster", str(table), "-k", "10", "--out", str(folder / "out")]
        _seconds([*command, "--quiet"], environment)  # writes the bytecode
        found: dict[str, list[float]] = {_COMMAND: [], _FITTED: [], _IMPORTS: []}
        for _ in range(_REPEATS):
            found[_COMMAND].append(_seconds([*command, "--quiet", "--force"], environment)[0])
            found[_IMPORTS].append(_seconds(["-c", _PACKAGES], environment)[0])
            found[_FITTED].append(float(_seconds(["-c", _FIT, str(table)], environment)[1]))
    return {name: median(values) for name, values in found.items()}


def table(rows: Rows) -> str:
    """Return the figures as a table."""
    found = rows["cluster"]
    lines = [line(("CPU seconds of", "seconds", "relative to the imports")), line(("---", "---:", "---:"))]
    for name, seconds in found.items():
        lines.append(line((name, f"{seconds:.2f}", f"{seconds / found[_IMPORTS]:.2f}")))
    return "\n".join(lines)


PAGE = Page(
    "command_speed",
    "Time of `kernelweave cluster`",
    "Printed by `python -m benchmarks.command_speed`: a CSV of 1500 x 64 (digits), 10 clusters, all files and the "
    "report. Median of five processes with one thread; the lines are measured in turn.",
    table,
)


def main() -> None:
    """Measure, store and print the figures."""
    for name, seconds in measure().items():
        PAGE.keep("cluster", name, seconds)
    PAGE.write()


if __name__ == "__main__":
    main()
