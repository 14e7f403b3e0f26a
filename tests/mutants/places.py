"""Places in a function's code, and their possible changes.

Numbers count from 1 in source order, nested code included.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from tests.mutants.tree import Tree

Edit = Callable[[Tree, ast.AST], None]
Found = TypeVar("Found", bound=ast.AST)


@dataclass(frozen=True)
class Change:
    place: Place
    edit: Edit

    def make(self, tree: Tree) -> None:
        """Edit the tree. Raise ValueError if the place is missing or unfit."""
        self.edit(tree, self.place.find(tree))


@dataclass(frozen=True)
class Place:
    """A node of a function's syntax tree, found again in each version."""

    find: Callable[[Tree], ast.AST]

    def part(self, number: int) -> Place:
        """Return an operand, an argument, an element or a dictionary value."""
        return Place(lambda tree: _numbered(parts(self.find(tree)), number))

    def removed(self) -> Change:
        return Change(self, lambda tree, node: tree.replace_statement(node, "pass"))

    def unwrapped(self) -> Change:
        """Replace a compound statement with its body."""
        return Change(self, lambda tree, node: tree.unwrap(node))

    def dropped(self) -> Change:
        return Change(self, lambda tree, node: tree.drop(node))

    def only(self, number: int) -> Change:
        """Replace the expression with one of its parts."""
        return Change(self, lambda tree, node: tree.replace(node, _numbered(parts(node), number)))

    def always(self) -> Change:
        return self.becomes("True")

    def never(self) -> Change:
        return self.becomes("False")

    def calls(self, other: object) -> Change:
        return Change(self, lambda tree, node: tree.replace(node, _with_callee(node, name_of(other))))

    def becomes(self, source: str) -> Change:
        """Replace the expression. Renames do not reach it: prefer literals."""
        return Change(self, lambda tree, node: tree.replace(node, ast.parse(source, mode="eval").body))


def condition(number: int = 1) -> Place:
    """Return a test of an `if`, a `while`, a conditional expression, a comprehension or a `case`."""
    return Place(lambda tree: _numbered(_conditions(tree), number))


def call_of(called: object, number: int = 1) -> Place:
    name = name_of(called)
    return Place(
        lambda tree: _numbered((one for one in _all(tree, ast.Call) if _called(one) == name), number)
    )


def value_of(local: str, number: int = 1) -> Place:
    return Place(lambda tree: _numbered(_assigned(tree, local), number))


def returned(number: int = 1) -> Place:
    return Place(lambda tree: _numbered((one.value for one in _all(tree, ast.Return) if one.value), number))


def type_of(field: str) -> Place:
    return Place(
        lambda tree: _numbered(
            (one.annotation for one in _all(tree, ast.AnnAssign) if getattr(one.target, "id", "") == field), 1
        )
    )


def nth(kind: type[ast.AST], number: int = 1) -> Place:
    """Return a node of this kind, such as `nth(ast.Compare, 2)`."""
    return Place(lambda tree: _numbered(_all(tree, kind), number))


def unwrapped(defined: object) -> object:
    """Return the function beneath a property or decorator."""
    if isinstance(defined, property):
        defined = defined.fget
    if isinstance(defined, functools.cached_property):
        defined = defined.func
    while hasattr(defined, "__wrapped__"):
        defined = defined.__wrapped__
    return defined


def name_of(defined: object) -> str:
    return str(getattr(unwrapped(defined), "__name__"))  # noqa: B009 -- a type of its own has it, `object` has not


def parts(node: ast.AST) -> list[ast.AST]:
    match node:
        case ast.BoolOp(values=values) | ast.Dict(values=values) | ast.JoinedStr(values=values):
            return [*values]
        case ast.Call(args=arguments, keywords=keywords):
            return [*arguments, *keywords]
        case ast.Compare(left=left, comparators=others):
            return [left, *others]
        case ast.BinOp(left=left, right=right):
            return [left, right]
        case ast.UnaryOp(operand=operand):
            return [operand]
        case ast.IfExp(body=body, orelse=otherwise):
            return [body, otherwise]
        case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
            return [*elements]
        case ast.Subscript(value=value, slice=key):
            return [value, key]
        case ast.For(iter=iterated) | ast.AsyncFor(iter=iterated):
            return [iterated]
        case ast.keyword(value=value) | ast.MatchValue(value=value):
            return [value]
    raise ValueError(f"{type(node).__name__} has no parts")


def _all(tree: Tree, kind: type[Found]) -> Iterator[Found]:
    return (node for node in tree.nodes if isinstance(node, kind))


def _conditions(tree: Tree) -> Iterator[ast.AST]:
    for node in tree.nodes:
        match node:
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
                yield test
            case ast.comprehension(ifs=tests):
                yield from tests
            case ast.match_case(guard=ast.expr() as guard):
                yield guard


def _called(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _assigned(tree: Tree, local: str) -> Iterator[ast.AST]:
    for node in tree.nodes:
        match node:
            case ast.Assign(targets=targets, value=value):
                named = [one for target in targets for one in ast.walk(target)]
            case (
                ast.AnnAssign(target=target, value=ast.expr() as value)
                | ast.AugAssign(target=target, value=value)
            ):
                named = [target]
            case ast.NamedExpr(target=target, value=value):
                named = [target]
            case _:
                continue
        if any(local in (getattr(one, "id", ""), getattr(one, "attr", "")) for one in named):
            yield value


def _numbered(nodes: Iterator[ast.AST] | list[ast.AST], number: int) -> ast.AST:
    found = list(nodes)
    if not 0 < number <= len(found):
        raise ValueError(f"{len(found)} such places, not {number}")
    return found[number - 1]


def _with_callee(node: ast.AST, name: str) -> ast.Call:
    if not isinstance(node, ast.Call):
        raise ValueError(f"{type(node).__name__} is no call")
    called: ast.expr = ast.Name(name, ast.Load())
    if isinstance(node.func, ast.Attribute):
        called = ast.Attribute(node.func.value, name, ast.Load())
    return ast.Call(called, node.args, node.keywords)
