"""The run's file: small, plain, and harmless whatever stands in it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import ormsgpack
import pytest
from langgraph.checkpoint.base import empty_checkpoint

from alphaswarm.agents.checkpoint import KEPT_STEPS, forget_old, open_checkpoint
from alphaswarm.core import StoreError


def test_bytes_in_the_file_run_nothing(tmp_path: Path) -> None:
    made = tmp_path / "made"
    call = ormsgpack.packb(("os", "mkdir", (str(made),)))
    payloads = [ormsgpack.packb({"a": ormsgpack.Ext(kind, call)}) for kind in range(6)]

    async def load() -> None:
        async with open_checkpoint(tmp_path / "c.sqlite") as saver:
            for serde in (saver.serde, saver.with_allowlist([("a.module", "A")]).serde):
                for payload in payloads:
                    serde.loads_typed(("msgpack", payload))
                with pytest.raises(NotImplementedError):
                    serde.loads_typed(("pickle", b"cos\nsystem\n(S'true'\ntR."))

    asyncio.run(load())
    assert not made.exists()


def test_old_steps_are_forgotten_and_other_runs_are_not(tmp_path: Path) -> None:
    async def count(saver: Any, run: str) -> int:
        return len([found async for found in saver.alist({"configurable": {"thread_id": run}})])

    async def go() -> None:
        async with open_checkpoint(tmp_path / "c.sqlite") as saver:
            for run in ("r1", "r2"):
                for step in range(40):
                    where = {"configurable": {"thread_id": run, "checkpoint_ns": ""}}
                    point = empty_checkpoint() | {"id": f"{step:032d}"}
                    await saver.aput(where, point, {"step": step}, {})
            await forget_old(saver, "r1")
            assert await count(saver, "r1") == KEPT_STEPS
            assert await count(saver, "r2") == 40
            last = await saver.aget_tuple({"configurable": {"thread_id": "r1"}})
            assert last is not None
            assert last.metadata["step"] == 39

    asyncio.run(go())


def test_a_place_that_can_not_be_written_is_typed(tmp_path: Path) -> None:
    (tmp_path / "c.sqlite").mkdir()

    async def go() -> None:
        async with open_checkpoint(tmp_path / "c.sqlite"):
            pass

    with pytest.raises(StoreError, match="writable SQLite file"):
        asyncio.run(go())
