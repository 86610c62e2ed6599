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
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from peers import Peer

REPOSITORY = Path(__file__).resolve().parents[2]


class Unavailable(Exception):
    """This peer is not to be had here, and the message says what would change that."""


LOOPBACK = "http://127.0.0.1/callback"


@dataclass
class RunningPeer:
    peer: Peer
    issuer: str
    redirect_uri: str = LOOPBACK
    """What the app configures: without a port where the provider accepts any."""
    post_logout_redirect_uri: str = LOOPBACK
    started_in: float = 0.0
    process: subprocess.Popen[str] | None = None
    data: Path | None = None
    start_again: Callable[[], subprocess.Popen[str]] | None = None

    def memory_kib(self) -> int:
        """Resident memory of the provider's processes, the start script left out."""
        if self.process is None:
            return 0
        return sum(_resident_kib(pid) for pid in _descendants(self.process.pid))

    def restart(self) -> None:
        """Ends it as a machine that is shut down does, and starts it on what it kept. Raises Unavailable."""
        if self.start_again is None:
            raise Unavailable(f"{self.peer.name} was started by somebody else, who alone can restart it")
        self._end()
        self.process = self.start_again()
        _ready_line(self.process, self.peer.name, 150)

    def stop(self) -> None:
        self._end()
        if self.data is not None:
            shutil.rmtree(self.data, ignore_errors=True)

    def _end(self) -> None:
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


def start(peer: Peer) -> RunningPeer:
    """The one that an issuer variable names, else a fresh one. Raises Unavailable."""
    if peer.issuer_variable is not None and (issuer := os.environ.get(peer.issuer_variable)):
        # Where only one port will do, it is the one that compose.yaml's clients have.
        logout = "http://127.0.0.1:47001/callback" if peer.exact_logout_port else LOOPBACK
        return RunningPeer(peer, issuer, post_logout_redirect_uri=logout)
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
    running = RunningPeer(peer, issuer="")
    if peer.exact_redirect_port or peer.exact_logout_port:
        registered = f"http://127.0.0.1:{free_port()}/callback"
        environment = {**environment, "REDIRECTS": registered}
        running.post_logout_redirect_uri = registered
        if peer.exact_redirect_port:
            running.redirect_uri = registered
    data = running.data = Path(tempfile.mkdtemp(prefix=f"versola-{peer.name}-"))

    def start_again() -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["bash", str(folder / "run.sh"), str(port), str(data)],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    began = time.monotonic()
    running.process, running.start_again = start_again(), start_again
    try:
        running.issuer = _ready_line(running.process, peer.name, 150)
    except BaseException:
        running.stop()
        raise
    running.started_in = time.monotonic() - began
    return running


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
