# SPDX-License-Identifier: Apache-2.0
"""Installs and starts a peer from the folder of provider scripts, on loopback, with state that is thrown away."""

from __future__ import annotations

import contextlib
import os
import selectors
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from peers import Peer

REPOSITORY = Path(__file__).resolve().parents[2]


class Unavailable(Exception):
    """This peer is not to be had here, and the message says what would change that."""


@dataclass(frozen=True)
class RunningPeer:
    peer: Peer
    issuer: str
    redirect_uri: str
    """What the app configures: without a port where the provider accepts any."""
    started_in: float = 0.0
    process: subprocess.Popen[str] | None = None
    data: Path | None = None

    def memory_kib(self) -> int:
        """Resident memory of the provider's processes, the start script left out."""
        if self.process is None:
            return 0
        return sum(_resident_kib(pid) for pid in _descendants(self.process.pid))

    def stop(self) -> None:
        if self.process is None:
            return
        # The whole group: a start script that dies of its own leaves its children to us.
        _signal_group(self.process, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(20)
        _signal_group(self.process, signal.SIGKILL)
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
        if self.data is not None:
            shutil.rmtree(self.data, ignore_errors=True)


def start(peer: Peer) -> RunningPeer:
    """The one that an issuer variable names, else a fresh one. Raises Unavailable."""
    if peer.issuer_variable is not None and (issuer := os.environ.get(peer.issuer_variable)):
        return RunningPeer(peer, issuer, "http://127.0.0.1/callback")
    folder = _own_copy(_source(peer), peer.folder)
    environment = {**os.environ, **peer.settings, "PEERS": str(_cache() / "installed")}
    _install(peer, folder, environment)
    return _run(peer, folder, environment)


def _source(peer: Peer) -> Path:
    named = os.environ.get("VERSOLA_PEERS_DIR")
    source = Path(named) if named else REPOSITORY.parent / "shared" / "providers"
    if not (source / peer.folder / "run.sh").is_file():
        hint = f", or {peer.issuer_variable} to the issuer of one that runs" if peer.issuer_variable else ""
        raise Unavailable(f"{peer.name}: set VERSOLA_PEERS_DIR to a folder with {peer.folder}/run.sh{hint}")
    return source


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(home) / "versola-tests"


def _own_copy(source: Path, folder: str) -> Path:
    """The scripts may lie on a read-only disk, and Python and Java like to write beside what they run."""
    copies = _cache() / "providers"
    for name in (folder, "lib"):
        target = copies / name
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source / name, target)
        for path in (target, *target.rglob("*")):
            path.chmod(path.stat().st_mode | 0o200)
    return copies / folder


def _install(peer: Peer, folder: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(
        ["bash", str(folder / "install.sh")],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )
    if done.returncode != 0:
        raise Unavailable(f"{peer.name}: install.sh ended with {done.returncode}: {done.stdout[-1000:]}")


def _run(peer: Peer, folder: Path, environment: dict[str, str]) -> RunningPeer:
    port = free_port(peer.consecutive_ports)
    redirect_uri = "http://127.0.0.1/callback"
    if peer.exact_redirect_port:
        redirect_uri = f"http://127.0.0.1:{free_port()}/callback"
        environment = {**environment, "REDIRECTS": redirect_uri}
    began = time.monotonic()
    data = Path(tempfile.mkdtemp(prefix=f"versola-{peer.name}-"))
    process = subprocess.Popen(
        ["bash", str(folder / "run.sh"), str(port), str(data)],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    running = RunningPeer(peer, "", redirect_uri, 0.0, process, data)
    try:
        issuer = _ready_line(process, peer.name, 150)
    except BaseException:
        running.stop()
        raise
    return RunningPeer(peer, issuer, redirect_uri, time.monotonic() - began, process, data)


def _ready_line(process: subprocess.Popen[str], name: str, seconds: float) -> str:
    """The issuer from the line `NAME: issuer URL …`."""
    assert process.stdout is not None
    seen: list[str] = []
    end = time.monotonic() + seconds
    with selectors.DefaultSelector() as ready:
        ready.register(process.stdout, selectors.EVENT_READ)
        while ready.select(max(0.0, end - time.monotonic())):
            line = process.stdout.readline()
            if not line:
                break
            if line.startswith(f"{name}: issuer "):
                return line.split()[2]
            seen.append(line)
    raise Unavailable(f"{name} did not start: {''.join(seen)[-1000:]}")


def free_port(consecutive: int = 1) -> int:
    """The first of so many neighbouring ports that nobody listens on now."""
    for _ in range(100):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            first = int(probe.getsockname()[1])
        if first + consecutive < 65536 and all(_is_free(first + offset) for offset in range(consecutive)):
            return first
    raise Unavailable("no free ports")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def _signal_group(process: subprocess.Popen[str], which: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, which)


def _descendants(pid: int) -> list[int]:
    found: list[int] = []
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, children.read_text().split()):
            found += [child, *_descendants(child)]
    return found


def _resident_kib(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0
