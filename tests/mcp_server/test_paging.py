"""Answers fit, and say how to get the rest."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from alphaswarm.mcp_server.paging import cut, size


def test_everything_when_it_fits() -> None:
    assert cut(["a", "b"], 10, 0) == (["a", "b"], "")


def test_the_note_leads_to_the_next_page() -> None:
    assert cut(list("abcde"), 2, 1) == (["b", "c"], "2 to 3 of 5 shown; offset=3 gives the next")
    assert cut(list("abc"), 2, 7) == ([], "offset 7 is past the last of 3")
    assert cut([], 2, 0) == ([], "")


@given(st.lists(st.text(max_size=40), max_size=30), st.integers(1, 10), st.integers(10, 200))
def test_the_pages_together_are_the_whole(items: list[str], limit: int, room: int) -> None:
    got: list[str] = []
    while True:
        shown, note = cut(items, limit, len(got), room)
        assert len(shown) <= limit
        assert len(shown) == 1 or sum(size(item) for item in shown) <= room
        got += shown
        if not note:
            break
        assert f"offset={len(got)}" in note
    assert got == items
