"""How names are retired: with a warning that says what to use, and not longer than promised."""

import pytest

from kernelweave import _deprecation
from kernelweave._deprecation import deprecated, warn_deprecated

WORDS = {"since": "0.2", "removed_in": "0.4", "instead": "new()"}


def test_a_deprecated_function_works_and_warns_its_caller():
    @deprecated(**WORDS)
    def old(a, *, b):
        """Add."""
        return a + b

    with pytest.warns(
        FutureWarning, match=r"old\(\) is deprecated since kernelweave 0.2 .* in 0.4: use new\(\)"
    ) as said:
        assert old(1, b=2) == 3
    assert said[0].filename == __file__
    assert (old.__name__, old.__doc__) == ("old", "Add.")


def test_a_deprecated_parameter_warns_the_caller_of_the_function():
    def cluster(scale=None):
        if scale is not None:
            warn_deprecated("cluster(scale=...)", **WORDS)

    cluster()
    with pytest.warns(FutureWarning, match=r"cluster\(scale=\.\.\.\) is deprecated since kernelweave 0\.2") as said:
        cluster(scale=1)
    assert said[0].filename == __file__


@pytest.mark.parametrize("version", ["0.4.0", "0.4.1", "0.10.0", "1.0.0.dev1"])
def test_what_should_be_gone_by_now_is_refused(monkeypatch, version):
    monkeypatch.setattr(_deprecation, "__version__", version)
    with pytest.raises(AssertionError, match=r"was to be removed in kernelweave 0\.4, and this is .*: remove it"):
        deprecated(**WORDS)(lambda: None)


@pytest.mark.parametrize("version", ["0.2.0", "0.3.9"])
def test_before_that_it_is_kept(monkeypatch, version):
    monkeypatch.setattr(_deprecation, "__version__", version)
    with pytest.warns(FutureWarning, match="removed in 0.4"):
        assert deprecated(**WORDS)(lambda: 1)() == 1
