"""What earlier runs taught: told apart by verdict, else by evidence; capped; nothing obeyed."""

from __future__ import annotations

from typing import Any

from alphaswarm.agents.lessons import LESSONS_OF_A_KIND, MAX_TEXT, lessons_of


def document(name: str, z: float | None = None, verdict: str = "search evidence only, not judged") -> dict[str, Any]:
    summary = {"rank_ic_t": 0.1, "critique": f"about {name}"} | ({} if z is None else {"evidence_z": z})
    return {"expression": name, "digest": f"d-{name}", "verdict": verdict, "summary": summary, "text": "words"}


def kinds(*documents: Any) -> list[tuple[str, str]]:
    return [(lesson["kind"], lesson["expression"]) for lesson in lessons_of(documents)]


def test_evidence_teaches_where_nothing_was_judged() -> None:
    found = kinds(document("a", 3.4), document("b", -5.0), document("c", 0.3), document("d", 2.5))
    assert found == [("works", "a"), ("works", "b"), ("fails", "c")]
    assert kinds(document("old")) == [("fails", "old")]  # of an earlier version: the t of its RankIC


def test_a_verdict_goes_before_the_evidence() -> None:
    assert kinds(document("a", 9.0, "unconfirmed: the selection window does not bear it out")) == [("fails", "a")]
    assert kinds(document("b", 9.0, "redundant: like a stronger one")) == [("crowded", "b")]
    assert kinds(document("c", 1.0, "confirmed, not tradable")) == [("works", "c")]
    long = "held: " + "x" * 60 + " confirmed"  # a word far behind is of another sentence
    assert kinds(document("d", 2.5, long)) == []


def test_a_lesson_says_what_was_said() -> None:
    (lesson,) = lessons_of([document("a", 3.4)])
    assert lesson == {
        "kind": "works",
        "expression": "a",
        "digest": "d-a",
        "text": "about a",
        "verdict": "search evidence only, not judged",
        "evidence_z": 3.4,
    }


def test_each_once_and_few_of_a_kind() -> None:
    many = [document(f"e{number}", 4.0) for number in range(9)]
    assert len(lessons_of([*many, *many])) == LESSONS_OF_A_KIND
    assert [lesson["expression"] for lesson in lessons_of(many)] == ["e0", "e1", "e2", "e3"]


def test_documents_of_another_shape_teach_nothing_and_long_ones_are_cut() -> None:
    shapeless = {"expression": "a", "digest": "d", "summary": "x", "verdict": None}
    assert lessons_of([{}, {"expression": 3}, shapeless]) == []
    assert lessons_of([document("a") | {"summary": {"evidence_z": True, "rank_ic_t": "9"}}]) == []
    (long,) = lessons_of([document("a", 5.0) | {"summary": {"evidence_z": 5.0, "critique": "y" * 9000}}])
    assert len(long["text"]) == MAX_TEXT
