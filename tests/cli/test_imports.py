"""A command imports what it uses, when it uses it."""

import subprocess
import sys

import numpy as np
import pytest

SLOW = ("scipy.stats._stats_py", "scipy.optimize", "sklearn.metrics", "sklearn.cluster", "matplotlib")


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.fixture
def table(tmp_path):
    X = np.random.RandomState(0).randn(30, 3) + 9 * (np.arange(30) % 2)[:, None]
    path = tmp_path / "data.csv"
    np.savetxt(path, X, delimiter=",", header="a,b,c", comments="")
    return path


def test_a_clustering_of_a_table_imports_none_of_the_slow_packages(table, tmp_path):
    command = ["kernelweave", "cluster", str(table), "-k", "2", "--out", str(tmp_path / "out"), "--quiet"]
    already = (
        "import sys\n"
        "from kernelweave.cli._deferred import defer\n"
        "defer('scipy.stats')\n"
        "import sklearn.base\n"
        f"print([name for name in {SLOW!r} if name in sys.modules])"
    )
    code = (
        f"import sys; sys.argv = {command!r}\n"
        "from kernelweave.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        f"print([name for name in {SLOW!r} if name in sys.modules])"
    )
    assert run(code).splitlines()[-1] == run(already).strip()  # scikit-learn 1.6 imports scipy.optimize itself
    assert (tmp_path / "out" / "report.html").exists()


def test_a_deferred_module_is_loaded_when_something_of_it_is_used():
    code = (
        "import sys\n"
        "from kernelweave.cli._deferred import defer\n"
        "defer('scipy.stats')\n"
        "import scipy.stats\n"
        "from scipy import stats\n"
        "import sklearn.base\n"
        "print('scipy.stats._stats_py' in sys.modules, hasattr(stats, '__file__'))\n"
        "from scipy.stats import rankdata\n"
        "print(rankdata([3, 1]), float(stats.norm.cdf(0)), scipy.stats.rankdata is rankdata)\n"
        "import scipy.stats\n"
        "print(sys.modules['scipy.stats'].__file__ is not None)\n"
    )
    assert run(code).splitlines() == ["False False", "[2. 1.] 0.5 True", "True"]


def test_a_module_that_is_loaded_is_not_deferred():
    code = (
        "import json, sys\n"
        "from kernelweave.cli._deferred import defer\n"
        "defer('json')\n"
        "print(sys.modules['json'] is json)"
    )
    assert run(code).strip() == "True"
