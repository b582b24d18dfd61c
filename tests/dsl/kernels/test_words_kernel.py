"""No two things stand in one word."""

from __future__ import annotations

from alphaswarm.dsl.kernels import words as w


def test_words_do_not_overlap():
    block = [w.ROWS, w.OP, w.WINDOW, w.SCRATCH, w.P, w.Q, w.MIN_OBS, w.INDEX, w.REFUSED, w.KERNEL, w.ELEMENTS]
    for operand in range(4):
        block += [w.OUT + operand, w.OUT + operand + w.STEP]
    block += [w.PER_BLOCK + k for k in range(5)] + [w.PER_THREAD + k for k in range(5)]
    assert len(block) == len(set(block))
    assert max(block) < w.WORDS
    across = [w.BLOCKS, w.BLOCK_BYTES, w.MEMBERS, w.CODES, w.NATURAL, w.COLUMNS, w.GROUPS]
    shared = [w.ROWS, w.OP, w.SCRATCH, w.OUT, w.A, w.P, w.KERNEL]
    assert len({*across, *shared}) == len(across) + len(shared)
    assert w.BLOCK % w.LANE_STEP == 0
