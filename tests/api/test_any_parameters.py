"""Parameters have types: `Any` is left only where no type can say what is meant."""

import ast
from pathlib import Path

import kernelweave

ROOT = Path(kernelweave.__file__).parent
MOST = 31


def test_few_public_functions_and_classes_take_parameters_of_type_any():
    found = [f"{place}: {name}" for place, node in _public_definitions() for name in _taking_any(node)]
    assert len(found) <= MOST, "\n".join(found)


def test_a_parameter_of_type_any_is_found_in_functions_methods_and_fields():
    source = """
def f(x: Any): ...
def g(*args: Any | None): ...
def h(x: dict[str, Any], y: int): ...
class C:
    def __init__(self, x: int, *, y: Any = None): ...
    def _private(self, x: Any): ...
@dataclass(frozen=True)
class D:
    x: Any
class E:
    x: Any
"""
    assert [name for node in ast.parse(source).body for name in _taking_any(node)] == ["f", "g", "C", "D"]


def _public_definitions():
    """Yield the functions and classes of public modules, each after its module."""
    for path in sorted(ROOT.rglob("*.py")):
        place = path.relative_to(ROOT)
        if not any(part.startswith("_") and part != "__init__.py" for part in place.parts):
            for node in ast.parse(path.read_text()).body:
                if not getattr(node, "name", "_").startswith("_"):
                    yield place, node


def _taking_any(node):
    """Return the name of a function or class if a parameter of it, or of its public methods, may be anything."""
    functions, fields = [node], []
    if isinstance(node, ast.ClassDef):
        functions = [one for one in node.body if getattr(one, "name", "_")[0] != "_" or _is_call(one)]
        made = any("dataclass" in ast.unparse(one) for one in node.decorator_list)
        fields = [one.annotation for one in node.body if made and isinstance(one, ast.AnnAssign)]
    annotations = [annotation for one in functions for annotation in _annotations(one)]
    return [node.name] if any(map(_is_any, annotations + fields)) else []


def _is_call(node):
    return getattr(node, "name", "") in ("__init__", "__call__")


def _annotations(node):
    return [one.annotation for one in ast.walk(node.args) if isinstance(one, ast.arg) and one.annotation is not None]


def _is_any(annotation):
    """Tell whether an annotation is Any, or a union with it, which says no more."""
    return "Any" in ast.unparse(annotation).split(" | ")
