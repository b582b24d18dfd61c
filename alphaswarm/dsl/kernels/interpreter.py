"""Run a program: for every block of stocks, each instruction in turn.

The interpreter holds no kernel: it calls the address that stands in the instruction. Runs of element-wise
instructions go through all of a run for some rows before the next rows, so that what one writes and the next
reads is still in the cache.
"""

from __future__ import annotations

import threading
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from alphaswarm.core.jit import jit, parallel, part
from alphaswarm.dsl.kernels.words import (
    ELEMENTS,
    INDEX,
    KERNEL,
    OUT,
    PER_BLOCK,
    PER_THREAD,
    REFUSED,
    RESOLVED,
    ROWS,
    SCRATCH,
    STEP,
    call,
)

__all__ = ["Program", "run_blocks", "run_days"]

# [instructions, WORDS]
Program = NDArray[np.int64]
# Rows of element-wise work between two instructions of a run.
CHUNK = 4096
# numba's last resort among its threading layers kills the process when two Python threads use it at once.
_ONE_AT_A_TIME = threading.Lock()


@part
def _resolve(program: Program, i: int, block: int, thread: int, words: NDArray[np.int64]) -> None:
    for k in range(RESOLVED):
        words[k] = program[i, k]
    for k in range(5):
        words[SCRATCH + k] += block * program[i, PER_BLOCK + k] + thread * program[i, PER_THREAD + k]
    words[INDEX] = block


@part
def _range(program: Program, first: int, last: int, thread: int) -> None:
    words = np.zeros(RESOLVED, np.int64)
    address = words.ctypes.data
    for block in range(first, last):
        i = 0
        while i < program.shape[0]:
            run = program[i, ELEMENTS]
            if run == 0:
                _resolve(program, i, block, thread, words)
                call(program[i, KERNEL], address)
                if words[REFUSED] != 0:
                    program[i, REFUSED] = 1
                i += 1
                continue
            for row in range(0, program[i, ROWS], CHUNK):
                for j in range(i, i + run):
                    _resolve(program, j, block, thread, words)
                    words[ROWS] = min(CHUNK, program[j, ROWS] - row)
                    for k in range(OUT, OUT + 4):
                        words[k] += row * words[k + STEP]
                    call(program[j, KERNEL], address)
            i += run


@jit
def _blocks_serial(program: Program, blocks: int) -> None:
    _range(program, 0, blocks, 0)


@parallel
def _blocks_parallel(program: Program, blocks: int, threads: int) -> None:
    for thread in numba.prange(threads):
        _range(program, blocks * thread // threads, blocks * (thread + 1) // threads, thread)


@jit
def _days_serial(program: Program) -> None:
    for i in range(program.shape[0]):
        call(program[i, KERNEL], program[i:].ctypes.data)


@parallel
def _days_parallel(program: Program) -> None:
    for i in numba.prange(program.shape[0]):
        call(program[i, KERNEL], program[i:].ctypes.data)


def run_blocks(program: Program, blocks: int, threads: int) -> None:
    """Run every instruction on blocks 0 .. `blocks` - 1; marks those that refused their data."""
    if threads == 1 or blocks == 1:
        _blocks_serial(program, blocks)
    else:
        _share(threads, _blocks_parallel, program, blocks, min(threads, blocks))


def run_days(program: Program, threads: int) -> None:
    """Run instructions, each on days of its own."""
    if threads == 1 or len(program) == 1:
        _days_serial(program)
    else:
        _share(threads, _days_parallel, program)


def _share(threads: int, function: Any, *arguments: Any) -> None:
    with _ONE_AT_A_TIME:
        before = numba.get_num_threads()
        numba.set_num_threads(min(threads, int(vars(numba.config)["NUMBA_NUM_THREADS"])))
        try:
            function(*arguments)
        finally:
            numba.set_num_threads(before)
