"""The changes that are tried: one operator, constant, comparison or call of a module at a time."""

from __future__ import annotations

import ast
import builtins
import copy
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["Mutant", "holder_at", "mutants_of", "mutated", "names_of"]

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.MatMult: ast.Add,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
_CALLED = {
    "min": "max", "max": "min", "argmin": "argmax", "argmax": "argmin", "minimum": "maximum", "maximum": "minimum",
    "floor": "ceil", "ceil": "floor", "any": "all", "all": "any", "sum": "mean", "mean": "sum", "median": "min",
}  # fmt: skip


# keywords that change time, memory or a check of our own data, and no result: (name, value)
_NO_RESULT = {
    ("check_finite", False), ("check_finite", True), ("copy", False), ("overwrite_a", True), ("overwrite_b", True),
    ("overwrite", True), ("strict", True), ("slots", True),
}  # fmt: skip


class Mutant(NamedTuple):
    """One change: where it is, and what it is."""

    path: str
    line: int
    place: int  # of the changed node among all nodes of the module, in the order of `ast.walk`
    what: str
    source: str  # the line of the change, without indentation
    copy: int  # how many changes of the module before this one have the same line and are called the same

    @property
    def key(self) -> str:
        """Return a name that stays the same while other lines change."""
        return f"{self.path}: {self.source} [{self.what}{f', {self.copy + 1}' if self.copy else ''}]"

    @property
    def name(self) -> str:
        """Return the name that results are stored under."""
        return f"{self.path}:{self.line} [{self.place}] {self.what}"


def mutants_of(path: Path, root: Path) -> list[Mutant]:
    """Return all changes of a module."""
    text = path.read_text()
    tree, lines = ast.parse(text), text.splitlines()
    skipped = {id(node) for part in _not_run(tree) for node in ast.walk(part)}
    found, seen = [], Counter[tuple[str, str]]()
    for place, node in enumerate(ast.walk(tree)):
        if id(node) not in skipped:
            what = _change(copy.deepcopy(node))
            if what:
                line = getattr(node, "lineno", 0)
                source = lines[line - 1].strip()
                name = str(path.relative_to(root))
                found.append(Mutant(name, line, place, what, source, seen[source, what]))
                seen[source, what] += 1
    return found


def mutated(source: str, place: int) -> ast.Module:
    """Return the tree of a module with one node changed."""
    tree = ast.parse(source)
    for number, node in enumerate(ast.walk(tree)):
        if number == place:
            _change(node)
    return ast.fix_missing_locations(tree)


def holder_at(source: str, place: int) -> str | None:
    """Return what a change can be made in without importing the module again: a function or a constant, or None.

    It is the outermost function whose body holds the node, by its qualified name, or a constant of the module that only
    functions use.
    """
    tree = ast.parse(source)
    wanted = next(node for number, node in enumerate(ast.walk(tree)) if number == place)
    return _function(tree, wanted, "") or _constant_of(tree, wanted)


def _function(parent: ast.AST, wanted: ast.AST, prefix: str) -> str | None:
    for child in ast.iter_child_nodes(parent):
        if isinstance(child, ast.FunctionDef):
            if any(node is wanted for part in child.body for node in ast.walk(part)):
                return prefix + child.name
        else:
            found = _function(child, wanted, f"{prefix}{child.name}." if isinstance(child, ast.ClassDef) else prefix)
            if found is not None:
                return found
    return None


def _constant_of(tree: ast.Module, wanted: ast.AST) -> str | None:
    """Return the private constant of the module whose value holds the node, unless it is read while importing."""
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and any(node is wanted for node in ast.walk(statement.value)):
            (name, *others) = names_of(statement)
            private = name.startswith("_") and name.isupper() and not others
            return name if private and not _read_at_import(tree, name) else None
    return None


def names_of(statement: ast.Assign) -> list[str]:
    """Return the names that a statement assigns to."""
    return [node.id for target in statement.targets for node in ast.walk(target) if isinstance(node, ast.Name)]


def _read_at_import(parent: ast.AST, name: str) -> bool:
    if isinstance(parent, ast.Name):
        return parent.id == name and isinstance(parent.ctx, ast.Load)
    inside = parent.body if isinstance(parent, ast.FunctionDef) else []
    return any(_read_at_import(child, name) for child in ast.iter_child_nodes(parent) if child not in inside)


def _not_run(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield what tests cannot notice: annotations, docstrings, messages, imports for types, exported names.

    Also keywords that change no result, such as `copy=False`, which saves memory.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.returns is not None:
            yield node.returns
        elif isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
            yield node if ast.unparse(node.annotation) == "TypeAlias" else node.annotation
        elif isinstance(node, ast.JoinedStr | ast.Raise) or _is_for_readers(node):
            yield node


def _is_for_readers(node: ast.AST) -> bool:
    if isinstance(node, ast.keyword) and isinstance(node.value, ast.Constant):
        return (node.arg, node.value.value) in _NO_RESULT
    if isinstance(node, ast.If):
        return ast.unparse(node.test) == "TYPE_CHECKING"
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in ("__all__", "msg")


def _change(node: ast.AST) -> str:
    """Change a node in place; return what was done, or nothing if there is nothing to change."""
    change: Callable[..., str] | None = _CHANGES.get(type(node))
    return change(node) if change else ""


def _compare(node: ast.Compare) -> str:
    before = type(node.ops[0])
    if before not in _COMPARED:
        return ""
    node.ops[0] = _COMPARED[before]()
    return f"{before.__name__} -> {_COMPARED[before].__name__}"


def _compute(node: ast.BinOp | ast.AugAssign) -> str:
    before = type(node.op)
    if before not in _COMPUTED:
        return ""
    node.op = _COMPUTED[before]()
    return f"{before.__name__} -> {_COMPUTED[before].__name__}"


def _constant(node: ast.Constant) -> str:
    before = node.value
    if isinstance(before, bool):
        node.value = not before
    elif isinstance(before, int):
        node.value = before + 1
    elif isinstance(before, float):
        node.value = before * 2 if before else 1.0
    else:
        return ""
    return f"{before!r} -> {node.value!r}"


def _join(node: ast.BoolOp) -> str:
    before = type(node.op)
    node.op = ast.Or() if before is ast.And else ast.And()
    return f"{before.__name__} -> {type(node.op).__name__}"


def _negate(node: ast.If | ast.While | ast.IfExp) -> str:
    node.test = ast.UnaryOp(ast.Not(), node.test)
    return "condition negated"


def _call(node: ast.Call) -> str:
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name not in _CALLED:
        return ""
    if isinstance(function, ast.Attribute):
        function.attr = _CALLED[name]
    elif isinstance(function, ast.Name) and hasattr(builtins, _CALLED[name]):
        function.id = _CALLED[name]
    else:
        return ""
    return f"{name} -> {_CALLED[name]}"


def _drop(node: ast.Expr) -> str:
    if not isinstance(node.value, ast.Call):
        return ""
    what = ast.unparse(node.value).split("(")[0]
    node.value = ast.Constant(None)
    return f"call of {what} dropped"


_CHANGES: dict[type[ast.AST], Callable[..., str]] = {
    ast.Compare: _compare, ast.BinOp: _compute, ast.AugAssign: _compute, ast.Constant: _constant, ast.BoolOp: _join,
    ast.If: _negate, ast.While: _negate, ast.IfExp: _negate, ast.Call: _call, ast.Expr: _drop,
}  # fmt: skip
