"""A worker that has escaped already: it runs any Python it is given, with everything worth having imported.

The walls behind the language (audit hook, system call filter, limits) must hold against it.
"""

import ctypes
import gc
import mmap
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import threading
import time

HOSTILE = True
SOURCE = "<program>"
LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
SYSCALL = LIBC.syscall if LIBC else None
FDS = [fd for fd in range(64) if os.path.lexists(f"/proc/self/fd/{fd}")] if LIBC else [0, 1, 2]
EVERYTHING = (gc, mmap, os, resource, select, signal, socket, subprocess, threading, time)


def prepare():
    pass


def place():
    return 7


def work(payload):
    scope = {"answer": {}, "LIBC": LIBC, "SYSCALL": SYSCALL, "FDS": FDS, "ctypes": ctypes}
    scope |= {module.__name__: module for module in EVERYTHING}
    exec(payload["source"], scope)  # noqa: S102
    return scope["answer"]
