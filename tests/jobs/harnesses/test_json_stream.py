"""Streamed JSON against Python's own reader."""

import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.harnesses import json_files as json_stream
from jobs.harnesses.json_files import (
    as_list,
    as_number,
    as_object,
    as_text,
    inside,
    list_elements,
    object_entries,
    parse_json,
)
from recurring_eval.errors import InputError

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(), VALUES, max_size=5)


def entries(content: bytes, *lists: str) -> list[tuple[str, object]]:
    return list(object_entries(io.BytesIO(content), lists=lists))


@pytest.fixture(params=[1, 7, 1 << 20])
def chunk(request, monkeypatch):
    monkeypatch.setattr(json_stream, "_CHUNK", request.param)
    return request.param


@settings(max_examples=60, deadline=None)
@given(OBJECTS, st.booleans(), st.sampled_from([1, 3, 1 << 20]))
def test_objects(document, ascii_only, size):
    before, json_stream._CHUNK = json_stream._CHUNK, size
    try:
        content = json.dumps(document, ensure_ascii=ascii_only, indent=1).encode(errors="replace")
        same = json.loads(content.decode())
        assert dict(entries(content)) == same
    finally:
        json_stream._CHUNK = before


@settings(max_examples=60, deadline=None)
@given(st.lists(VALUES, max_size=5))
def test_lists(document):
    content = json.dumps(document).encode()
    assert list(list_elements(io.BytesIO(content))) == json.loads(content)


def test_elements_of_chosen_lists(chunk):
    content = b'\xef\xbb\xbf {"a": [1, [2], 30], "b": [4], "c": {"a": []}, "a": {"x": 1}} '
    assert entries(content, "a") == [
        ("a", 1),
        ("a", [2]),
        ("a", 30),
        ("b", [4]),
        ("c", {"a": []}),
        ("a", {"x": 1}),
    ]


def test_numbers_at_the_end_of_what_was_read(chunk):
    assert entries(b'{"a":12345,"b":-1.5e3,"c":NaN,"d":Infinity}')[:2] == [
        ("a", 12345),
        ("b", -1500),
    ]


@pytest.mark.parametrize("number", ["1", "-2.5", "1e5", "3.25e+16", "-4E-7"])
def test_numbers_cut_or_read_in_pieces(number):
    content = f'{{"a":{number}}}'.encode()
    for length in range(len(content)):
        with pytest.raises(InputError, match=r"is empty|cut short"):
            entries(content[:length])
    for size in range(1, len(content)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(json_stream, "_CHUNK", size)
            assert entries(content) == [("a", json.loads(number))]


@settings(max_examples=100, deadline=None)
@given(OBJECTS.filter(bool), st.data())
def test_cut_anywhere_is_said(document, data):
    content = json.dumps(document).encode()
    cut = content[: data.draw(st.integers(0, len(content) - 1))]
    with pytest.raises(InputError, match=r"is empty|cut short"):
        entries(cut)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"  \n", "is empty"),
        (b"[1]", "is no JSON"),
        (b'{"a" 1}', "is no JSON"),
        (b'{"a": 1} x', "text follows"),
        (b'{"a": nope, "b": 1234567890123456789012345}', "is no JSON"),
        (b'{"a": "\xff"}', "not UTF-8"),
        (b"{1: 2}", "a key is not text"),
        (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
        (b'{"a": ' + b"9" * 5000 + b"}", "no usable JSON"),
    ],
)
def test_what_is_no_json(content, message):
    with pytest.raises(InputError, match=message):
        entries(content)
    with pytest.raises(InputError):
        parse_json(content if content != b"[1]" else b"[1")


def test_an_entry_too_large(monkeypatch):
    monkeypatch.setattr(json_stream, "LARGEST_ENTRY", 1 << 16)
    monkeypatch.setattr(json_stream, "_CHUNK", 1 << 10)
    with pytest.raises(InputError, match="entry of more than"):
        entries(b'{"a": "' + b"x" * (1 << 20))


def test_values_of_another_kind_are_empty():
    assert (as_object([1]), as_list({}), as_text(1)) == ({}, (), "")
    assert as_number("1") != as_number("1")
    assert as_number(True) != as_number(True)
    assert as_number(10**400) != as_number(10**400)
    assert inside({"a": {"b": 2}}, "a", "b") == 2
    assert inside({"a": 1}, "a", "b") is None
