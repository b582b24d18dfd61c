"""Signatures of words."""

from alphaswarm.dsl.dialects import Word, table_of


def test_a_signature_has_a_name_and_parameters():
    word = Word("f(x, d, std=4)", "ts_std(x, d) * std", "a note")
    assert word.name == "f"
    assert dict(word.parameters) == {"x": "", "d": "", "std": "4"}
    assert [token.text for token in word.tokens] == ["ts_std", "(", "x", ",", "d", ")", "*", "std", ""]
    assert dict(Word("adv20", "adv(20)").parameters) == {}


def test_words_by_name_keep_their_order():
    first, second = Word("f(x, d)", "ts_max(x, d)"), Word("f(x, y)", "max(x, y)")
    assert table_of([first, Word("g(x)", "x"), second])["f"] == (first, second)


def test_a_word_shows_what_it_is_for():
    assert Word("f(x, d=5)", "ts_max(x, d)").shown == "f(x, d=5)"
    assert Word("f(x, mode)", "x", only={"mode": 2}).shown == "f(x, 2)"
