from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from alphaswarm.research.lease import Holder

ME = Holder.new()


def test_text_and_back() -> None:
    assert Holder.parse(str(ME)) == ME
    assert Holder.new() != ME
    assert ME.pid == os.getpid()


@pytest.mark.parametrize("expired", [False, True])
def test_a_live_process_on_this_machine_keeps_what_it_has(expired: bool) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        from alphaswarm.research import lease

        holder = replace(ME, pid=child.pid, born=lease._born(child.pid))
        assert not holder.may_be_replaced(ME, expired=expired)
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # dead, and nobody has waited for it
        assert holder.may_be_replaced(ME, expired=expired)
    assert holder.may_be_replaced(ME, expired=expired)


def test_a_later_process_of_the_same_number_is_another() -> None:
    assert replace(ME, born="1").may_be_replaced(ME, expired=False)


def test_the_same_process_waits_for_the_expiry() -> None:
    other = replace(ME, number=ME.number + 1)
    assert other.may_be_replaced(ME, expired=True)
    assert not other.may_be_replaced(ME, expired=False)
    assert ME.may_be_replaced(ME, expired=False)


def test_another_machine_waits_for_the_expiry() -> None:
    far = replace(ME, host="elsewhere/boot/pid:[1]")
    assert far.may_be_replaced(ME, expired=True)
    assert not far.may_be_replaced(ME, expired=False)
