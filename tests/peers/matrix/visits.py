"""Makes the visits: each feature through the daemon, and directly by a client that the server serves as the daemon has to serve ours."""

import asyncio
import json
import time
from collections import defaultdict
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import doors
import rig
from .cells import Cell, Visit
from .client import Client, Http, Pipe, Sse, capabilities
from .features import FEATURES, FORM, Record
from .servers import SERVERS, Server


@dataclass
class Outcome:
    """One cell: what came of it through the daemon and directly."""

    visit: Visit
    feature: str
    ours: Record
    theirs: Record


async def done(client: Client, feature: str) -> Record:
    try:
        return await asyncio.wait_for(FEATURES[feature](client), 60)
    except Exception as error:  # noqa: BLE001
        return {"failed": f"{type(error).__name__}: {error}"[:300]}


async def all_of(client: Client, features: list[str]) -> dict[str, Record]:
    async with client:
        return {feature: await done(client, feature) for feature in features}


class Matrix:
    """All servers, once each, and one daemon before them."""

    def __init__(self, folder: Path, servers: list[Server] = SERVERS, settings: dict | None = None):
        self.folder = folder
        self.servers = servers
        self.settings = settings
        self.urls: dict[Server, str | None] = {}
        self.stack = ExitStack()
        self.known: dict[tuple, dict[str, Record]] = {}

    def __enter__(self):
        with ExitStack() as stack:
            entries = {}
            for server in self.servers:
                served = None if server.transport == "pipe" else server.serve(self.folder)
                if served:
                    stack.callback(served.stop)
                self.urls[server] = served and served.url
                entries[server.name] = server.entry(self.urls[server])
            self.daemon = rig.Daemon(self.folder, entries, self.settings)
            self.daemon.start()
            stack.callback(self.daemon.stop)
            rig.until(lambda: all(row["tools"] for row in self.daemon.servers().values()), "every server to be listed", 300)
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self.stack.close()

    def through(self, visit: Visit) -> Client:
        path = f"/mcp/server/{visit.server.name}"
        match visit.way:
            case "http":
                return Http(self.daemon.base + path, visit.revision)
            case "sse":
                return Sse(f"{self.daemon.base}{path}/sse", visit.revision)
            case "pipe":
                start = doors.process(self.daemon, "stdio", "--endpoint", path)
                return Pipe([start["command"], *start["args"]], visit.revision, start["env"])

    async def direct(self, server: Server, revision: str, able: dict, features: list[str]) -> dict[str, Record]:
        """The same without the daemon, done once for each revision and for what the client can do."""
        known = self.known.setdefault((server, revision, json.dumps(able)), {})
        if wanted := [feature for feature in features if feature not in known]:
            known |= await all_of(server.direct(self.urls[server], revision, able), wanted)
        return known

    async def visit(self, visit: Visit, features: list[str]) -> list[Outcome]:
        ours = await all_of(self.through(visit), features)
        spoken = visit.server.spoken_for(visit.revision)
        theirs = await self.direct(visit.server, spoken, capabilities(visit.revision), features)
        return [Outcome(visit, it, ours[it], theirs[it]) for it in features]

    async def first(self, server: Server) -> list[Outcome]:
        """The first client of a server is alone with it: the first question that the server ever asks reaches it. From then on each
        client has a connection to itself."""
        return await self.visit(Visit(server, "2025-11-25", "http"), [FORM])

    async def visits_of(self, server: Server, cells: list[Cell]) -> list[Outcome]:
        """One visit at a time, so that nobody hears what another one did."""
        features = defaultdict(list)
        for visit, feature in cells:
            if visit.server == server:
                features[visit].append(feature)
        outcomes = await self.first(server)
        for visit, wanted in features.items():
            began = time.monotonic()
            ordered = [feature for feature in FEATURES if feature in wanted]
            try:
                outcomes += await self.visit(visit, ordered)
            except Exception as error:
                raise AssertionError(f"{visit}: {error!r}") from error
            print(f"{time.monotonic() - began:5.1f} s  {visit}: {len(wanted)}")
        return outcomes

    async def examine(self, cells: list[Cell]) -> list[Outcome]:
        found = await asyncio.gather(*(self.visits_of(server, cells) for server in self.servers))
        return [outcome for outcomes in found for outcome in outcomes]

