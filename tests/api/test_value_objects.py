"""Dataclasses of the numerical code are values: a fitted model that someone changes in place is a wrong answer."""

import dataclasses
import importlib
import inspect
import pkgutil

import pytest

import kernelweave

ROOMS = ("core", "experiments", "kernels", "runtime", "solve", "weave")
CHANGING = {"ViewRelations", "Run", "Leaps", "Workspace", "StageProgress"}  # sums, and the state of a running loop


def declared():
    modules = [importlib.import_module(f"kernelweave.{room}") for room in ROOMS]
    modules += [
        importlib.import_module(found.name)
        for room in ROOMS
        for found in pkgutil.walk_packages([f"{kernelweave.__path__[0]}/{room}"], f"kernelweave.{room}.")
    ]
    classes = [one for module in modules for one in vars(module).values() if inspect.isclass(one)]
    return sorted(
        {one for one in classes if "__dataclass_params__" in vars(one) and one.__module__.split(".")[1] in ROOMS},
        key=lambda one: (one.__module__, one.__qualname__),
    )


@pytest.mark.parametrize("cls", declared(), ids=lambda cls: cls.__name__)
def test_a_dataclass_cannot_be_changed_unless_it_is_a_running_state(cls):
    assert cls.__dataclass_params__.frozen == (cls.__name__ not in CHANGING)


def test_every_running_state_exists():
    assert {cls.__name__ for cls in declared()} >= CHANGING


def test_a_frozen_object_refuses_a_change():
    one = kernelweave.kernels.Gaussian()
    name = dataclasses.fields(one)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError, match=f"cannot assign to field '{name}'"):
        setattr(one, name, 1)
