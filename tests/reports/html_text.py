"""What a browser would make of a page, by the standard library's parser."""

import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = {"meta", "link", "br", "img", "hr", "input"}


@dataclass
class Document(HTMLParser):
    """Tags, attributes and texts of a page, with a check that tags nest."""

    tags: list[str] = field(default_factory=list)
    attributes: list[tuple[str, str, str]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    open_tags: list[str] = field(default_factory=list)

    def __post_init__(self):
        HTMLParser.__init__(self)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, key, value or "") for key, value in attrs]
        if tag not in _VOID:
            self.open_tags.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, key, value or "") for key, value in attrs]

    def handle_endtag(self, tag):
        assert self.open_tags.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self):
        return " ".join(self.texts)


def parse(page: str) -> Document:
    """Parse a complete page; fails when its tags do not nest."""
    document = Document()
    document.feed(page)
    document.close()
    assert document.open_tags == []
    return document


def remembered(render: Callable[..., str]) -> Callable[..., str]:
    """Render each page once; pages of equal values are the same."""
    known: dict[bytes, str] = {}

    def rendering(page) -> str:
        key = pickle.dumps(page)
        if key not in known:
            known[key] = render(page)
        return known[key]

    return rendering
