"""Reads the summary of a day out of its HTML, on paper or in a mail."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Final

VOID: Final = frozenset({"meta", "link", "br", "input", "rect"})


@dataclass(slots=True)
class Node:
    """An element; texts are among its children."""

    tag: str = ""
    classes: frozenset[str] = frozenset()
    has_colspan: bool = False
    children: list[Node | str] = field(default_factory=list)

    def all(self, *tags: str) -> Iterator[Node]:
        """Those within it, in order."""
        for child in self.children:
            if isinstance(child, Node):
                if child.tag in tags:
                    yield child
                yield from child.all(*tags)

    @property
    def text(self) -> str:
        """What is read, blanks as one."""
        return " ".join("".join(self._texts()).split())

    def _texts(self) -> Iterator[str]:
        for child in self.children:
            if isinstance(child, str):
                yield child
            elif child.tag != "script":
                yield from child._texts()


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open = [Node()]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        node = Node(tag, frozenset((known.get("class") or "").split()), "colspan" in known)
        self.open[-1].children.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop().tag == tag, f"{tag} ends what it did not begin"

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


@dataclass(slots=True)
class Read:
    """`lines`: key figures; `sections`: rows of each by title, its head first; what is no table is a row of one cell.
    `items`: the warnings."""

    title: str = ""
    lines: list[list[str]] = field(default_factory=list)
    sections: dict[str, list[list[str]]] = field(default_factory=dict)
    items: list[str] = field(default_factory=list)


def read_html(html: str) -> Read:
    """Key figures are a list on paper; in a mail they are the first table."""
    builder = _Builder()
    builder.feed(html[max(html.find("<article"), 0) :].partition("</article>")[0])
    root = builder.open[0]
    read, rows = Read(), list[list[str]]()
    for node in root.all("h1", "h2", "dl", "ul", "div", "table", "p"):
        if node.tag == "h1":
            read.title = node.text
        elif node.tag == "h2":
            rows = read.sections[node.text] = []
        elif node.tag == "dl":
            read.lines = [[part.text for part in line.all("dt", "dd")] for line in node.all("div")]
        elif node.tag == "ul" and not read.items:
            read.items = [item.text for item in node.all("li")]
        elif "funnel-row" in node.classes:
            rows.append([next(node.all("h3")).text, " · ".join(part.text for part in node.all("li"))])
        elif node.tag == "table" and not read.lines:
            read.lines = rows_of(node)
        elif node.tag == "table":
            rows += rows_of(node)
        elif node.tag == "p" and read.lines:
            rows.append([node.text])
    read.sections = {title: rows for title, rows in read.sections.items() if rows}
    return read


def rows_of(table: Node) -> list[list[str]]:
    """A name that has a line of its own is the first cell of the line below it."""
    rows: list[list[str]] = []
    name: list[str] = []
    for row in table.all("tr"):
        cells = [*row.all("th", "td")]
        if len(cells) == 1 and cells[0].has_colspan:
            name = [cells[0].text]
        else:
            rows.append([*name, *(cell.text for cell in cells)])
            name = []
    return rows
