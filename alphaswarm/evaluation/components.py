"""The leading principal components of a block of returns, the same bytes whatever else the machine does."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core.jit import jit

__all__ = ["principal_components"]

# The subspace is found when what is left over is this small beside the gap to the first value outside.
_PRECISE = 1e-10
# Below this, beside the largest value, nothing but rounding is left.
_ROUNDING = 4e-16
# Small problems are solved along the way to see whether to stop; each costs more than the steps before it.
_FIRST_LOOK, _NEXT_LOOK = 32, 16


def principal_components(returns: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """The `k` leading right singular vectors of `returns` [W, N], columns standardised.

    Each name's column loses its mean and is divided by its standard deviation (ddof 0). A name with fewer
    than half of its W rows, or without variation, gets no loading; other missing returns count as the mean.

    Computed by the Lanczos process with full reorthogonalisation (Golub and Van Loan, Matrix Computations,
    10.1 and 10.3) and not by LAPACK, whose last bits, and so the hash of a result, change with the number
    of threads. Only the span is meant: signs, and the order among equal values, say nothing.

    Returns:
        float64 [k, N], rows of length 1; NaN for names without a loading, 0 in rows that the data don't fill.
    """
    counted = np.isfinite(returns).sum(axis=0)
    enough = 2 * counted >= returns.shape[0]
    block = np.where(np.isfinite(returns), returns, 0.0)[:, enough]
    here = np.isfinite(returns)[:, enough]
    block = np.where(here, block - block.sum(axis=0) / counted[enough], 0.0)
    spread = np.sqrt((block**2).sum(axis=0) / counted[enough])
    varies = spread > 1e-12 * np.abs(np.nan_to_num(returns[:, enough])).max(axis=0, initial=0.0)
    block = np.ascontiguousarray(block[:, varies] / spread[varies])
    loadings = np.full((k, returns.shape[1]), np.nan)
    loadings[:, np.flatnonzero(enough)[varies]] = _leading(block, np.ascontiguousarray(block.T), k)
    return loadings


@jit
def _leading(block: NDArray[np.float64], turned: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """[k, N]: leading right singular vectors of `block` [W, N], whose transpose is `turned`."""
    rows, names = block.shape
    found = np.zeros((k, names))
    basis = np.zeros((rows, rows))
    diagonal = np.zeros(rows)
    beside = np.zeros(rows)
    # any start that is not orthogonal to what is sought; the constant is, since columns have mean 0
    for t in range(rows):
        basis[0, t] = np.cos(1.0 + t * t)
    basis[0] /= np.sqrt(_dot(basis[0], basis[0]))
    across = np.empty(names)
    image = np.empty(rows)
    size = 0
    look = min(_FIRST_LOOK, rows)
    values = np.zeros(0)
    vectors = np.zeros((0, 0))
    while size < rows:
        across[:] = 0.0
        for t in range(rows):
            _add(across, basis[size, t], block[t])
        image[:] = 0.0
        for i in range(names):
            _add(image, across[i], turned[i])
        diagonal[size] = _dot(image, basis[size])
        for _ in range(2):  # twice is enough (Kahan)
            for j in range(size + 1):
                _add(image, -_dot(image, basis[j]), basis[j])
        left = np.sqrt(_dot(image, image))
        size += 1
        beside[size - 1] = left
        exhausted = size == rows or left <= _ROUNDING * rows * diagonal[:size].max()
        if exhausted or size == look:
            values, vectors = _tridiagonal(diagonal[:size], beside[:size])
            gap = values[k - 1] - values[k] if size > k else 0.0
            reached = size > k
            for j in range(min(k, size)):
                miss = left * abs(vectors[j, size - 1])
                reached = reached and miss <= max(_PRECISE * gap, _ROUNDING * values[0])
            if exhausted or reached:
                break
            look = min(look + _NEXT_LOOK, rows)
        basis[size] = image / left
    for j in range(min(k, size)):
        if values[j] <= _ROUNDING * rows * values[0]:
            break
        image[:] = 0.0
        for step in range(size):
            _add(image, vectors[j, step], basis[step])
        for t in range(rows):
            _add(found[j], image[t], block[t])
        found[j] /= np.sqrt(_dot(found[j], found[j]))
    return found


@jit
def _add(total: NDArray[np.float64], times: float, part: NDArray[np.float64]) -> None:
    for i in range(total.size):
        total[i] += times * part[i]


@jit
def _dot(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@jit
def _tridiagonal(
    diagonal: NDArray[np.float64], beside: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Eigenvalues, largest first, and eigenvectors in rows of a symmetric tridiagonal matrix.

    The QL method with implicit shifts (Bowdler, Martin, Reinsch and Wilkinson 1968, as EISPACK's tql2).

    Args:
        diagonal: [m].
        beside: [m], the element to the right of each diagonal element; the last counts for nothing.
    """
    m = diagonal.size
    d = diagonal.copy()
    e = beside.copy()
    e[m - 1] = 0.0
    rows = np.eye(m)
    for start in range(m):
        for _ in range(60):
            end = start
            while end < m - 1 and abs(e[end]) > 1e-16 * (abs(d[end]) + abs(d[end + 1])):
                end += 1
            if end == start:
                break
            g = (d[start + 1] - d[start]) / (2.0 * e[start])
            r = np.sqrt(g * g + 1.0)
            g = d[end] - d[start] + e[start] / (g + (r if g >= 0.0 else -r))
            s = 1.0
            c = 1.0
            p = 0.0
            whole = True
            for i in range(end - 1, start - 1, -1):
                f = s * e[i]
                b = c * e[i]
                r = np.sqrt(f * f + g * g)
                e[i + 1] = r
                if r == 0.0:
                    d[i + 1] -= p
                    e[end] = 0.0
                    whole = False
                    break
                s = f / r
                c = g / r
                g = d[i + 1] - p
                r = (d[i] - g) * s + 2.0 * c * b
                p = s * r
                d[i + 1] = g + p
                g = c * r - b
                for j in range(m):
                    held = rows[i + 1, j]
                    rows[i + 1, j] = s * rows[i, j] + c * held
                    rows[i, j] = c * rows[i, j] - s * held
            if whole:
                d[start] -= p
                e[start] = g
                e[end] = 0.0
    order = np.argsort(-d)
    return d[order], rows[order]
