"""Every way into the daemon: how to get in, what is listed there, and one call that needs no model."""

from dataclasses import dataclass

import rig

UTC = {"timezone": "UTC"}
# What is listed, and the call of the time server's `get_current_time`, by endpoint.
SEARCH = {"retrieve_tools", "call_tool_read", "call_tool_write", "call_tool_destructive"}
EVERYTHING = {"everything__echo", "files__read_text_file", "memory__read_graph", "time__get_current_time", "web__echo"}
FACES = {
    "/mcp": (SEARCH, "call_tool_read", {"name": "time:get_current_time", "args": UTC}),
    "/mcp/all": (EVERYTHING, "time__get_current_time", UTC),
    "/mcp/server/time": ({"get_current_time", "convert_time"}, "get_current_time", UTC),
}


@dataclass(frozen=True)
class Door:
    """One transport to one endpoint. `name` is what a test is called after."""

    name: str
    transport: str
    endpoint: str
    # A URL's path, or the words after `mcpproxy`.
    way: str

    def target(self, daemon: rig.Daemon) -> dict:
        """What a client has to be told to come in here."""
        if self.transport == "stdio":
            return process(daemon, *self.way.split())
        return {"transport": self.transport, "url": daemon.base + self.way}

    def call(self) -> dict:
        _, tool, arguments = FACES[self.endpoint]
        return {"name": tool, "arguments": arguments}

    def check_list(self, names):
        """All that belongs here is listed, and nothing that does not."""
        wanted, listed = FACES[self.endpoint][0], set(names)
        assert wanted <= listed, listed
        if self.endpoint == "/mcp":
            assert not [name for name in listed if "__" in name], listed
        if self.endpoint == "/mcp/server/time":
            assert wanted == listed

    def __str__(self):
        return self.name


HTTP = [Door(f"http {path}", "http", path, path) for path in FACES]
SSE = [Door(f"sse {path}/sse", "sse", path, f"{path}/sse") for path in FACES] + [Door("sse /sse", "sse", "/mcp", "/sse")]
STDIO = [Door(f"stdio {path}", "stdio", path, f"stdio --endpoint {path}") for path in FACES]
ALL = HTTP + SSE + STDIO
# Each transport and each endpoint, for programs that are started anew each time. The SDKs come in through all.
SOME = [HTTP[0], SSE[1], STDIO[2]]


def process(daemon: rig.Daemon, *words: str) -> dict:
    """`mcpproxy WORDS`, for clients that can only start a process."""
    args = [*words, *daemon.arguments()]
    return {"transport": "stdio", "command": rig.BINARY, "args": args, "env": {"HOME": str(daemon.home), "SHELL": "/bin/sh"}}


def check_time(result: dict):
    """The answer of `get_current_time`, whatever it was called through."""
    assert not result.get("isError"), result
    assert result["structuredContent"]["timezone"] == "UTC", result
