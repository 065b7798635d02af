"""The name under which a process holds leases, and whether such a process still lives."""

import os
import re
import socket
from pathlib import Path


def this_process(command: str) -> str:
    """Name of this process: what it does, host, process id and when it started."""
    pid = os.getpid()
    return f"{command}@{_host()}:{pid}:{_start_mark(pid)}"


def is_gone(owner: str) -> bool:
    """Whether the process of that name has certainly ended; False where that cannot be told."""
    found = re.fullmatch(r"[^@]*@(.*):(\d+):(\w*)", owner)
    if found is None or found[1] != _host():
        return False
    pid = int(found[2])
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False
    # Process ids are used again; the start mark tells two of the same number apart.
    mark = _start_mark(pid)
    return bool(mark and found[3]) and mark != found[3]


def _start_mark(pid: int) -> str:
    """Start of a process in the kernel's ticks since boot; empty where there is no /proc."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
    except OSError:
        return ""
    # The second field is the program's name in brackets and may hold spaces.
    return boot[:8] + fields.rpartition(")")[2].split()[19]


def _host() -> str:
    # Containers share host names easily, but not the namespace their process ids are counted in.
    try:
        namespace = os.readlink("/proc/self/ns/pid").strip("pid:[]")  # noqa: PTH115  # no such file
    except OSError:
        namespace = ""
    return f"{socket.gethostname()}.{namespace}" if namespace else socket.gethostname()
