"""The fixture server over each transport, and the daemon that stands before them."""

import json
import os
import signal
import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

BINARY = os.environ["MCPPROXY_BIN"]
FIXTURE = os.environ["MCPPROXY_FIXTURE"]
MODULES = Path(os.environ["MCPPROXY_CONFORMANCE_DIR"]) / "node_modules"

# The suite's own server, where somebody has put it beside the checkout.
OWN_SERVER = Path(os.environ["MCPPROXY_OWN_SERVER"])

# How the daemon reaches the fixture; the names of its entries.
TRANSPORTS = ("stdio", "http", "sse")

# What the entry of a server on a pipe says.
PROTOCOL_ERAS = {"both": "auto", "legacy": "legacy", "modern": "modern"}


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def until(condition, what: str, seconds: float = 60):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"still waiting after {seconds} s: {what}")
        time.sleep(0.05)


@contextmanager
def listening(command: list[str], port: int, log: Path, env: dict[str, str] | None = None):
    """A process that listens on the port for as long as the context is open."""
    with log.open("a") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=os.environ | (env or {})
        )
    try:

        def listens():
            if process.poll() is not None:
                raise RuntimeError(f"{command[0]} ended:\n{log.read_text()}")
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0

        until(listens, f"{command[0]} to listen")
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def fixture(transport: str, era: str, folder: Path):
    """The fixture over HTTP or HTTP+SSE; gives its URL."""
    port = free_port()
    command = [FIXTURE, transport, "--era", era, "--listen", f"127.0.0.1:{port}"]
    with listening(command, port, folder / f"fixture-{transport}.log"):
        yield f"http://127.0.0.1:{port}/{'sse' if transport == 'sse' else 'mcp'}"


@contextmanager
def own_server(source: Path, folder: Path):
    """The suite's own server, which speaks both eras over HTTP; gives its URL. Its packages stand beside those of the suite."""
    script = MODULES.parent / "own-server.mts"
    script.write_bytes(source.read_bytes())
    port = free_port()
    command = [str(MODULES / ".bin" / "node"), str(MODULES / "tsx" / "dist" / "cli.mjs"), str(script)]
    with listening(command, port, folder / "own-server.log", {"PORT": str(port)}):
        yield f"http://127.0.0.1:{port}/mcp"


@contextmanager
def daemon(era: str, pipe_era: str, folder: Path):
    """The daemon with the fixture behind it over each transport, over pipes opened as one of `pipe_era`; gives the URL of each by its
    transport."""
    with fixture("http", era, folder) as http, fixture("sse", era, folder) as sse:
        servers = {
            "stdio": {"command": FIXTURE, "args": ["stdio", "--era", era], "protocol_era": PROTOCOL_ERAS[pipe_era]},
            "http": {"type": "http", "url": http},
            "sse": {"type": "sse", "url": sse},
        }
        with daemon_before(servers, folder) as base:
            yield {transport: f"{base}/mcp/server/{transport}" for transport in TRANSPORTS}


@contextmanager
def daemon_before(servers: dict[str, dict], folder: Path):
    """The daemon with these entries of `mcpServers`; gives its base URL."""
    config = folder / "mcp_config.json"
    config.write_text(json.dumps({"mcpServers": servers}, indent=2))
    # Nobody's shell profile is part of the test.
    home = folder / "home"
    home.mkdir(exist_ok=True)
    port = free_port()
    command = [BINARY, "serve", "--config", str(config), "--data-dir", str(folder / "data")]
    command += ["--listen", f"127.0.0.1:{port}"]
    with listening(command, port, folder / "daemon.log", {"HOME": str(home)}):
        yield f"http://127.0.0.1:{port}"
