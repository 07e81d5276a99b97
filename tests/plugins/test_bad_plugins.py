"""A plugin that does not work is named in the error, and disturbs nothing else."""

import pytest
from sklearn.base import ClassifierMixin

from kernelweave import WeaveClustering
from kernelweave.datasets import dataset_info, list_datasets
from kernelweave.errors import InvalidInputError, PluginError
from kernelweave.kernels import as_kernel, recipe
from kernelweave.plugins import load_method, load_plugin, plugin_names


def add(install, code, entry_points, name="bad-plugin"):
    (install(name, entry_points) / "bad_plugin.py").write_text(code)


def test_a_plugin_that_cannot_be_imported_is_named_with_its_package(install):
    add(install, "import there_is_no_such_module", {"kernelweave.kernels": {"odd": "bad_plugin:Odd"}})
    with pytest.raises(
        PluginError, match=r"'odd' .* bad_plugin:Odd of the package bad-plugin 0\.1\.0 .*no_such_module"
    ):
        as_kernel("odd")
    assert len(recipe("released-12")) == 12


def test_a_name_that_two_packages_add_is_refused(install):
    add(install, "A = 1", {"kernelweave.kernels": {"odd": "bad_plugin:A"}})
    add(install, "B = 1", {"kernelweave.kernels": {"odd": "bad_plugin:B"}}, name="another")
    with pytest.raises(PluginError, match=r"several packages \(another 0\.1\.0, bad-plugin 0\.1\.0\)"):
        recipe("odd")


def test_a_plugin_cannot_replace_a_name_of_kernelweave(install):
    entry_points = {
        "kernelweave.kernels": {"released-12": "bad_plugin:A"},
        "kernelweave.datasets": {"yale": "bad_plugin:A"},
    }
    add(install, "A = 1", entry_points)
    assert len(recipe("released-12")) == 12
    assert dataset_info("yale").n_samples == 165
    assert list_datasets().count("yale") == 1


@pytest.mark.parametrize("value", ["1", "{}", "{'a': 'rbf'}", "dict"])
def test_what_is_no_kernel_is_refused(install, value):
    add(install, f"A = {value}", {"kernelweave.kernels": {"odd": "bad_plugin:A"}})
    with pytest.raises(PluginError, match=r"'odd' of the group kernelweave\.kernels must be a class derived from"):
        WeaveClustering(2, kernels="odd").fit([[0.0, 1.0], [1.0, 2.0], [3.0, 4.0]])


def test_a_kernel_without_defaults_is_refused(install):
    code = """
from kernelweave.kernels import Kernel
class A(Kernel):
    def __init__(self, t): ...
    def diag(self, X): ...
"""
    add(install, code, {"kernelweave.kernels": {"odd": "bad_plugin:A"}})
    with pytest.raises(PluginError, match=r"whose parameters all have defaults, but A\(\) fails"):
        as_kernel("odd")


def test_a_data_set_of_another_type_is_refused(install):
    add(install, "A = 1", {"kernelweave.datasets": {"odd": "bad_plugin:A"}})
    with pytest.raises(PluginError, match=r"must be a kernelweave\.datasets\.DatasetInfo of that name; got 1"):
        dataset_info("odd")


def test_a_method_of_another_role_is_refused(install):
    add(install, "from sklearn.cluster import KMeans as A", {"kernelweave.methods": {"odd": "bad_plugin:A"}})
    with pytest.raises(PluginError, match="is needed as a class derived from ClassifierMixin"):
        load_method("odd", ClassifierMixin)


def test_unknown_names_are_refused_as_before(install):
    with pytest.raises(InvalidInputError, match="Unknown kernel recipe 'nobody'"):
        recipe("nobody")
    with pytest.raises(InvalidInputError, match="Unknown kernel 'nobody'"):
        as_kernel("nobody")
    with pytest.raises(KeyError, match="nobody"):
        load_plugin("methods", "nobody")
    assert "nobody" not in plugin_names("methods")
