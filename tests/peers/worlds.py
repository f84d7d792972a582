"""Servers of our own, made with the official SDKs of today: each speaks both eras, and the daemon is told or has to choose the newer one."""

from contextlib import contextmanager
from pathlib import Path

import rig
from conftest import Peers

PYTHON, TYPESCRIPT, RUST = rig.PYTHON_SERVER, rig.TYPESCRIPT_SERVER, rig.RUST_SERVER
ON_PIPES = {"python": PYTHON, "typescript": TYPESCRIPT, "rust": RUST}
OVER_HTTP = {"python-http": PYTHON, "typescript-http": TYPESCRIPT, "rust-http": RUST}
MODERN = [*ON_PIPES, *OVER_HTTP]


@contextmanager
def world(folder: Path):
    """A daemon with all of them, and the everything server as one that shakes hands."""
    entries = {
        name: {"command": command[0], "args": command[1:], "protocol_era": "modern"} for name, command in ON_PIPES.items()
    }
    entries["everything"] = rig.stdio_servers(folder)["everything"]
    served = {name: rig.Served(folder / f"{name}.log", *command, "PORT") for name, command in OVER_HTTP.items()}
    entries |= {name: {"type": "http", "url": one.url} for name, one in served.items()}
    # It asks without a handshake only.
    entries["rust-http"]["protocol_era"] = "modern"
    peers = Peers(folder, entries)
    try:
        peers.daemon.start().wait_until_ready()
        yield peers
    finally:
        peers.end()
        for one in served.values():
            one.stop()
