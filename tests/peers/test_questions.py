"""What servers ask in the middle of a call reaches the client that made it, and its answer comes back: real servers of either era,
real clients of either era."""

import json
import os
from dataclasses import dataclass

import anyio
import mcp
import pytest
from mcp import StdioServerParameters

import clients
import doors
import sdk
import test_rust_sdk
import test_typescript_sdk
import worlds

REPLIES = {"form": {"name": "Ada"}, "text": "roses are red"}


@dataclass(frozen=True)
class Question:
    """A tool that asks, what the client has to see of it, and what the answer makes of it."""

    tool: str
    arguments: dict
    asks: str
    answer: str


FORM = {
    "everything": Question("trigger-elicitation-request", {}, "Please provide inputs for the following fields:", "Ada"),
} | {server: Question("ask", {}, "Who are you?", "Hello, Ada!") for server in worlds.MODERN}
PROMPT = {
    "everything": Question(
        "trigger-sampling-request",
        {"prompt": "A poem, please."},
        "Resource trigger-sampling-request context: A poem, please.",
        "roses are red",
    ),
} | {server: Question("write", {}, "A poem, please.", "It said: roses are red") for server in worlds.MODERN}
SERVERS = ["everything", *worlds.MODERN]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with worlds.world(tmp_path_factory.mktemp("questions")) as peers:
        yield peers


def target(world, transport: str, path: str) -> dict:
    if transport == "stdio":
        return doors.process(world.daemon, "stdio", "--endpoint", path)
    return {"transport": transport, "url": world.daemon.base + path + ("/sse" if transport == "sse" else "")}


def python(home, target, calls, mode) -> tuple[list, list]:
    callbacks, asked = sdk.answering(**REPLIES)

    async def scenario():
        to = target.get("url") or StdioServerParameters(**{name: target[name] for name in ("command", "args", "env")})
        async with mcp.Client(to, mode=mode, **callbacks) as client:
            return [sdk.plain(await client.call_tool(call["name"], call["arguments"])) for call in calls]

    answers = anyio.run(scenario)
    return asked, answers


def session(home, target, calls) -> tuple[list, list]:
    """The older interface of the Python SDK, which has HTTP+SSE too."""
    callbacks, asked = sdk.answering(**REPLIES)

    async def scenario():
        async with sdk.connect(target, **callbacks) as session:
            return [sdk.plain(await session.call_tool(call["name"], call["arguments"])) for call in calls]

    answers = anyio.run(scenario)
    return asked, answers


def typescript(major, negotiation):
    def visit(home, target, calls):
        saw = test_typescript_sdk.visit(home, major, target, calls, negotiation, REPLIES)
        return saw["asked"], saw["answers"]

    return visit


def fastmcp(home, target, calls, mode) -> tuple[list, list]:
    saw = clients.visit(home, clients.FASTMCP, {"target": target, "mode": mode, "calls": calls, "replies": REPLIES})
    return saw["asked"], saw["answers"]


def rust(home, target, calls, lifecycle) -> tuple[list, list]:
    *answers, asked = test_rust_sdk.session(target, calls, lifecycle, os.environ | {"REPLIES": json.dumps(REPLIES)})[1]
    return asked, answers


# Each client in each of its eras, over the transports that it has in it.
MODERN = "2026-07-28"
CLIENTS = {
    "python session": (session, ["http", "sse", "stdio"]),
    "python legacy": (lambda *it: python(*it, "legacy"), ["http", "stdio"]),
    "python modern": (lambda *it: python(*it, MODERN), ["http", "stdio"]),
    "typescript 1": (typescript(1, None), ["http", "sse", "stdio"]),
    "typescript 2 legacy": (typescript(2, "legacy"), ["http", "sse", "stdio"]),
    "typescript 2 modern": (typescript(2, {"pin": MODERN}), ["http", "stdio"]),
    "fastmcp legacy": (lambda *it: fastmcp(*it, "legacy"), ["http", "sse", "stdio"]),
    "fastmcp modern": (lambda *it: fastmcp(*it, MODERN), ["http", "stdio"]),
    "rust legacy": (lambda *it: rust(*it, "initialize"), ["http", "stdio"]),
    "rust modern": (lambda *it: rust(*it, "discover"), ["http", "stdio"]),
}
WAYS = [(client, transport) for client, (_, transports) in CLIENTS.items() for transport in transports]
# One for each client; the daemon says who asks, whatever the transport.
ONE_WAY_EACH = [(client, of[number % len(of)]) for number, (client, (_, of)) in enumerate(CLIENTS.items())]


def text(answer: dict) -> str:
    assert not answer.get("isError"), answer
    return " ".join(block.get("text", "") for block in answer["content"])


@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_it_is_answered_on_the_servers_own_endpoint(world, home, way):
    """Each client meets each server, over one transport or another."""
    visit, transports = CLIENTS[way[0]]
    at = (transports.index(way[1]) + list(CLIENTS).index(way[0])) % len(transports)
    for server in SERVERS[at :: len(transports)]:
        questions = [FORM[server], PROMPT[server]]
        calls = [{"name": it.tool, "arguments": it.arguments} for it in questions]
        asked, answers = visit(home, target(world, way[1], f"/mcp/server/{server}"), calls)
        assert asked == [it.asks for it in questions], server
        for question, answer in zip(questions, answers, strict=True):
            assert question.answer in text(answer), server


@pytest.mark.parametrize("way", ONE_WAY_EACH, ids=" ".join)
def test_it_is_answered_where_all_servers_are_and_says_who_asks(world, home, way):
    visit = CLIENTS[way[0]][0]
    questions = [(server, FORM[server]) for server in SERVERS]
    calls = [{"name": f"{server}__{it.tool}", "arguments": it.arguments} for server, it in questions]
    asked, answers = visit(home, target(world, way[1], "/mcp/all"), calls)
    assert asked == [f"[{server}] {it.asks}" for server, it in questions]
    for (server, question), answer in zip(questions, answers, strict=True):
        assert question.answer in text(answer), server
