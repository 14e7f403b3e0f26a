"""Syntax tree of one function; an edit leaves the rest of the file unchanged."""

from __future__ import annotations

import ast
from collections.abc import Iterator


class Tree:
    """A function, method or class, and the edited text of its file."""

    def __init__(self, text: str, qualified_name: str) -> None:
        self.text = text
        self._root = defined(ast.parse(text), qualified_name)
        self.nodes = list(_in_order(self._root))
        self._parents = {child: node for node in self.nodes for child in ast.iter_child_nodes(node)}

    def replace(self, node: ast.AST, new: ast.AST) -> None:
        """Replace an expression; an awaited call, with its `await`."""
        if isinstance(node, ast.keyword):
            node = node.value
        parent = self._parents[node]
        if isinstance(node, ast.Call) and isinstance(parent, ast.Await) and not isinstance(new, ast.Call):
            node = parent
        inside = self._whole(node)
        if inside is node:
            self._write(node, f"({ast.unparse(new)})")
        else:
            self._set(node, new)
            self._write(inside, ast.unparse(inside))

    def replace_statement(self, node: ast.AST, *lines: str) -> None:
        statement = self._statement(node)
        indent = "\n" + " " * statement.col_offset
        self._write(statement, indent.join("\n".join(lines).splitlines()))

    def unwrap(self, node: ast.AST) -> None:
        statement = self._statement(node)
        body = getattr(statement, "body", None)
        if not body:
            raise ValueError(f"{type(statement).__name__} has no body")
        self.replace_statement(statement, *(ast.unparse(one) for one in body))

    def drop(self, node: ast.AST) -> None:
        """Remove the node from its parent's list."""
        parent = self._parents[node]
        for _, values in ast.iter_fields(parent):
            if isinstance(values, list) and node in values:
                where = values.index(node)
                del values[where]
                if isinstance(parent, ast.Dict):
                    del parent.keys[where]
                whole = self._whole(parent)
                self._write(whole, ast.unparse(whole))
                return
        raise ValueError(f"{type(parent).__name__} holds no list of these")

    def _statement(self, node: ast.AST) -> ast.stmt:
        while not isinstance(node, ast.stmt):
            node = self._parents[node]
        return node

    def _whole(self, node: ast.AST) -> ast.expr | ast.stmt:
        """Return the smallest enclosing node with a position; f-string parts have none."""
        around = node
        while around in self._parents:
            around = self._parents[around]
            if isinstance(around, ast.JoinedStr):
                node = around
        while not isinstance(node, ast.expr | ast.stmt):
            node = self._parents[node]
        return node

    def _set(self, node: ast.AST, new: ast.AST) -> None:
        parent = self._parents[node]
        for name, value in ast.iter_fields(parent):
            if value is node:
                setattr(parent, name, new)
            elif isinstance(value, list) and node in value:
                value[value.index(node)] = new

    def _write(self, node: ast.expr | ast.stmt, new: str) -> None:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        lines = self.text.encode().splitlines(keepends=True)
        begin = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
        end = sum(map(len, lines[: node.end_lineno - 1])) + node.end_col_offset
        content = self.text.encode()
        self.text = (content[:begin] + new.encode() + content[end:]).decode()


def defined(module: ast.Module, qualified_name: str) -> ast.AST:
    """Return the definition of this name. Raise ValueError unless there is exactly one."""
    found: list[ast.AST] = [module]
    for name in qualified_name.replace("<locals>.", "").split("."):
        found = [one for node in found for one in _definitions(node) if one.name == name]
    if len(found) != 1:
        raise ValueError(f"{qualified_name} is defined {len(found)} times")
    return found[0]


def _definitions(node: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield child
        elif isinstance(child, ast.stmt):
            yield from _definitions(child)


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _in_order(child)
