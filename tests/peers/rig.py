"""The daemon under test, the real servers behind it, and a look at the processes that result."""

import json
import os
import signal
import socket
import subprocess
import time
import uuid
from pathlib import Path

PEERS = Path(os.environ["MCPPROXY_PEERS_DIR"])
BINARY = os.environ["MCPPROXY_BIN"]
RUST_CLIENT = str(PEERS / "rust/debug/rmcp_client")
MODULES = PEERS / "node_modules" / "@modelcontextprotocol"
TIME_SERVER = str(PEERS / "requirements" / "bin" / "mcp-server-time")

# Servers of our own, made with the official SDKs; they speak both eras.
NODE = str(PEERS / "clients/node_modules/.bin/node")
PYTHON_SERVER = [str(PEERS / "requirements/bin/python"), str(Path(__file__).with_name("python_server.py"))]
TYPESCRIPT_SERVER = [NODE, str(Path(__file__).with_name("typescript_server.mjs")), str(PEERS / "clients/node_modules")]
RUST_SERVER = [str(PEERS / "rust/debug/rmcp_server")]

# Every process of a server bears this variable, its children included.
MARK = "PEERS_MARK"


def until(condition, what: str, seconds: float = 60):
    """Polls until `condition` gives something true, and returns that: ever less often, because many a look starts a process."""
    deadline = time.monotonic() + seconds
    pause = 0.05
    while True:
        if found := condition():
            return found
        assert time.monotonic() < deadline, f"still waiting after {seconds} s: {what}"
        time.sleep(pause)
        pause = min(pause * 1.5, 0.5)


def stdio_servers(folder: Path) -> dict[str, dict]:
    """The four servers on pipes, as entries of `mcpServers`. `memory` starts through npx, as users do."""
    files = folder / "files"
    files.mkdir(exist_ok=True)
    (files / "hello.txt").write_text("Grüße aus der Datei\n", encoding="utf-8")
    everything, filesystem = (str(MODULES / name / "dist/index.js") for name in ("server-everything", "server-filesystem"))
    return {
        "everything": {"command": "node", "args": [everything]},
        "files": {"command": "node", "args": [filesystem, str(files)]},
        "memory": {
            "command": "npx",
            "args": ["--no", "--prefix", str(PEERS), "mcp-server-memory"],
            "env": {"MEMORY_FILE_PATH": str(folder / "memory.jsonl")},
        },
        "time": {"command": TIME_SERVER, "args": ["--local-timezone", "UTC"]},
    }


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Served:
    """A server that we start and that is reached by URL. It finds its port in `PORT`, and in the command where that says so."""

    def __init__(self, log: Path, *command: str, path: str = "/mcp"):
        self.log = log
        self.port = free_port()
        self.command = [word.replace("PORT", str(self.port)) for word in command]
        self.url = f"http://127.0.0.1:{self.port}{path}"
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            self.command,
            env=os.environ | {"PORT": str(self.port)},
            stdin=subprocess.DEVNULL,
            stdout=self.log.open("a"),
            stderr=subprocess.STDOUT,
        )

        def ready():
            assert self.process.poll() is None, f"the server ended:\n{self.log.read_text()}"
            return listens(self.port)

        until(ready, "the server to listen")

    def stop(self):
        self.process.kill()
        self.process.wait()


class EverythingOverHttp(Served):
    """The everything server: over Streamable HTTP, or over HTTP+SSE."""

    def __init__(self, log: Path, transport: str = "streamableHttp"):
        program = str(MODULES / "server-everything/dist/index.js")
        super().__init__(log, "node", program, transport, path="/sse" if transport == "sse" else "/mcp")


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


# Servers that ask their clients, `files` for roots as soon as it is met. Once one has, its clients have connections of their own, and the
# one that lists sleeps when it has listed.
ASKING = ("everything", "web", "files")


def is_up(name: str, row: dict) -> bool:
    """Whether a server of the list of servers can be called."""
    is_asleep = name in ASKING and row["state"] == "Disconnected" and row["last_error"] is None and row["tools"]
    return row["state"] == "Ready" or bool(is_asleep)


class Daemon:
    """One `mcpproxy serve` with a data folder of its own."""

    def __init__(self, folder: Path, servers: dict[str, dict], settings: dict | None = None):
        self.folder = folder
        self.mark = uuid.uuid4().hex
        self.log = folder / "daemon.log"
        # Nobody's shell profile is part of the test.
        self.home = folder / "home"
        self.home.mkdir(exist_ok=True)
        self.process: subprocess.Popen | None = None
        self.port = 0
        # Only what runs on a pipe has an environment.
        self.stdio = [name for name, entry in servers.items() if "command" in entry]
        for name in self.stdio:
            servers[name] = servers[name] | {"env": servers[name].get("env", {}) | {MARK: f"{self.mark} {name}"}}
        self.config = folder / "mcp_config.json"
        self.config.write_text(json.dumps((settings or {}) | {"mcpServers": servers}, indent=2))

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def arguments(self) -> list[str]:
        return ["--config", str(self.config), "--data-dir", str(self.folder / "data")]

    def start(self, port: int | None = None):
        """On this port, or on any that is free."""
        self.port = port or free_port()
        self.process = subprocess.Popen(
            [BINARY, "serve", *self.arguments(), "--listen", f"127.0.0.1:{self.port}"],
            env=os.environ | {"HOME": str(self.home), "SHELL_SECRET": "not for children"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self.log.open("a"),
        )

        def ready():
            assert self.process.poll() is None, f"the daemon ended:\n{self.log.read_text()}"
            return listens(self.port)

        until(ready, "the daemon to listen")
        return self

    def cli(self, *arguments: str, code: int = 0) -> str:
        """Runs one command against this daemon's files and returns its standard output."""
        done = subprocess.run(
            [BINARY, *arguments, *self.arguments()],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == code, f"{arguments}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def servers(self) -> dict[str, dict]:
        listed = json.loads(self.cli("upstream", "list", "-o", "json"))
        return {row["name"]: row for row in listed["servers"]}

    def wait_until_ready(self):
        """Wakes every server: one that has not been asked for anything for a while may be asleep."""

        def all_ready():
            rows = self.servers()
            for name, row in rows.items():
                # One may fall asleep while another wakes up.
                if row["state"] == "Disconnected" and not is_up(name, row):
                    self.cli("upstream", "restart", name)
            return all(is_up(name, row) for name, row in rows.items()) and rows

        return until(all_ready, "every server to be Ready", 120)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        """SIGTERM; returns the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def children(self) -> dict[str, list[int]]:
        """The processes of each stdio server, the first of each tree only (npx has children of its own)."""
        marked = self.marked()
        first = {pid: name for pid, name in marked.items() if parent(pid) not in marked}
        return {name: [pid for pid, of in first.items() if of == name] for name in self.stdio}

    def marked(self) -> dict[int, str]:
        """Every living process that bears this daemon's mark, with the server it belongs to."""
        found = {}
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit() and (mark := mark_of(folder)) and mark[0] == self.mark:
                found[int(folder.name)] = mark[1]
        return found


def mark_of(folder: Path) -> list[str] | None:
    try:
        environment = (folder / "environ").read_bytes()
    except OSError:  # gone meanwhile, or not ours
        return None
    prefix = MARK.encode() + b"="
    for entry in environment.split(b"\0"):
        if entry.startswith(prefix):
            return entry[len(prefix) :].decode().split(" ", 1)
    return None


def parent(pid: int) -> int:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    return int(stat.rpartition(")")[2].split()[1])


def has_proc() -> bool:
    return Path("/proc/self/environ").exists()
