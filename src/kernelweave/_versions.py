"""The versions of kernelweave, of Python and of the packages that it uses, for reports of problems."""

from __future__ import annotations

import os
import platform
import re
import sys
from importlib.metadata import PackageNotFoundError, requires, version

from kernelweave._plural import counted

__all__ = ["show_versions"]

_NOT_LISTED = ("test", "types", "check", "docs")  # extras of developers
_NAME = re.compile(r"[\w.-]+")
_EXTRA = re.compile(r"""extra == ['"]([\w-]+)['"]""")


def show_versions() -> None:
    """Print the versions of everything that may matter for a report of a problem.

    These are kernelweave, Python, the system, the packages that kernelweave uses, those of its extras, and the
    libraries of linear algebra with their numbers of threads.

    Examples
    --------
    >>> import kernelweave
    >>> kernelweave.show_versions()  # doctest: +ELLIPSIS, +NORMALIZE_WHITESPACE
    kernelweave 0.1...
    python 3...
    """
    from kernelweave import __version__

    rows = {
        "kernelweave": __version__,
        "python": platform.python_version(),
        "system": f"{platform.platform()}, {counted(os.cpu_count() or 1, 'core')}",
    }
    rows |= {name: _installed(name) for name in _packages()}
    rows |= _libraries()
    width = max(map(len, rows))
    sys.stdout.writelines(f"{name:{width}} {text}\n" for name, text in rows.items())


def _packages() -> list[str]:
    """Return the packages that the metadata of kernelweave names, without those for developers."""
    names = []
    for line in requires("kernelweave") or []:
        extra, name = _EXTRA.search(line), _NAME.match(line)
        if name is not None and name[0] != "kernelweave" and (extra is None or extra[1] not in _NOT_LISTED):
            names.append(name[0])
    return list(dict.fromkeys(names))


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _libraries() -> dict[str, str]:
    """Return the libraries of BLAS and OpenMP that are loaded."""
    import scipy.linalg  # noqa: F401  # loads the libraries
    from threadpoolctl import threadpool_info

    rows = {}
    for i, found in enumerate(threadpool_info()):
        threads = counted(found["num_threads"], "thread")
        rows[f"{found['user_api']} {i}"] = f"{found['internal_api']} {found['version']}, {threads}"
    return rows
