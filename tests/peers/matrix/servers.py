"""The servers of the matrix: each official SDK in each of its eras, over each of its transports."""

from dataclasses import dataclass
from pathlib import Path

import rig
from .client import MODERN, Client, Http, Pipe, Sse

HERE = Path(__file__).parent
PROGRAMS = {
    "python 1": [str(rig.PEERS / "requirements-sdk1/bin/python"), str(HERE / "server.py")],
    "python 2": [str(rig.PEERS / "requirements/bin/python"), str(HERE / "server.py")],
    "fastmcp 4": [str(rig.PEERS / "requirements-fastmcp/bin/python"), str(HERE / "server.py")],
    "typescript 2": [rig.NODE, str(HERE / "server.mjs"), str(rig.PEERS / "clients/node_modules")],
    "rust 3": [str(rig.PEERS / "rust/debug/rmcp_everything")],
}


COLUMNS = [
    "with a handshake",
    "without",
    "both, on a pipe",
    "both, over HTTP with sessions",
    "both, over HTTP without sessions",
]


@dataclass(frozen=True)
class Server:
    """A server as it is started. `name` is that of its entry."""

    program: str
    transport: str
    # `legacy`, `modern` or `both`; over HTTP with `sessions`, or without.
    eras: str
    mode: str = ""

    @property
    def name(self) -> str:
        return "-".join(filter(None, [self.program.replace(" ", ""), self.transport, self.mode]))

    @property
    def column(self) -> str:
        """Which servers of the table it is one of."""
        over = "pipe" if self.transport == "pipe" else "HTTP"
        match self.eras, self.mode, over:
            case "legacy", _, _:
                return COLUMNS[0]
            case "modern", _, _:
                return COLUMNS[1]
            case _, _, "pipe":
                return COLUMNS[2]
            case _, "both", _:
                return COLUMNS[4]
        return COLUMNS[3]

    def command(self, port: int | str | None = None) -> list[str]:
        program = PROGRAMS[self.program]
        how = self.mode if self.program.startswith("rust") else self.transport
        if self.program.startswith("typescript"):
            return [*program, self.mode, *([str(port)] if port else [])]
        return [*program, *([how, str(port)] if port else [])]

    def serve(self, folder: Path) -> rig.Served:
        path = "/sse" if self.transport == "sse" else "/mcp"
        return rig.Served(folder / f"{self.name}.log", *self.command("PORT"), path=path)

    def entry(self, url: str | None) -> dict:
        if url is None:
            command, *args = self.command()
            return {"command": command, "args": args} | ({"protocol_era": "modern"} if self.eras == "modern" else {})
        return {"type": self.transport, "url": url}

    def direct(self, url: str | None, revision: str, able: dict) -> Client:
        match self.transport:
            case "pipe":
                return Pipe(self.command(), revision, able=able)
            case "http":
                return Http(url, revision, able)
            case "sse":
                return Sse(url, revision, able)

    def spoken_for(self, revision: str) -> str:
        """The revision that a direct client has to have for being served as the daemon has to serve one of `revision`: its own, or the newest
        of the other era."""
        is_modern = revision == MODERN
        match self.column:
            case column if column in (COLUMNS[0], COLUMNS[2]):
                return "2025-11-25" if is_modern else revision
            case column if column in (COLUMNS[1], COLUMNS[4]):
                return MODERN
        return revision


SERVERS = [
    Server("python 1", "pipe", "legacy"),
    Server("python 1", "http", "legacy"),
    Server("python 1", "sse", "legacy"),
    Server("typescript 2", "pipe", "modern", "modern"),
    Server("typescript 2", "http", "modern", "modern"),
    Server("python 2", "pipe", "both"),
    Server("fastmcp 4", "pipe", "both"),
    Server("typescript 2", "pipe", "both", "both"),
    Server("rust 3", "pipe", "both"),
    Server("python 2", "http", "both"),
    Server("fastmcp 4", "http", "both"),
    Server("typescript 2", "http", "both", "sessions"),
    Server("rust 3", "http", "both", "sessions"),
    Server("typescript 2", "http", "both", "both"),
    Server("rust 3", "http", "both", "both"),
]
