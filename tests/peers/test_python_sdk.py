"""The official Python SDK as a client. Runs under its current major version and the one before."""

import json
import subprocess
import sys
from pathlib import Path

import anyio
import mcp
import pytest

import doors
import sdk


@pytest.mark.parametrize("door", doors.ALL, ids=str)
def test_it_comes_in_through_every_door(peers, door):
    async def scenario():
        async with sdk.connect(door.target(peers.daemon)) as session:
            door.check_list(tool.name for tool in (await session.list_tools()).tools)
            call = door.call()
            doors.check_time(await sdk.call(session, call["name"], call["arguments"]))

    anyio.run(scenario)


def test_it_finds_a_tool_and_calls_it_as_the_search_says(peers):
    async def scenario():
        async with sdk.connect(peers.daemon.base + "/mcp") as session:
            words = "current time in a timezone"
            found = await sdk.find_and_call(session, "time:get_current_time", words, {"timezone": "Asia/Tokyo"})
            assert found["call_with"] == "call_tool_read"
            assert "timezone" in found["inputSchema"]["properties"]
            assert found["answer"]["structuredContent"]["timezone"] == "Asia/Tokyo"

    anyio.run(scenario)


def test_it_lists_and_calls_the_tools_of_all_servers(peers):
    async def scenario():
        async with sdk.connect(peers.daemon.base + "/mcp/all") as session:
            tools = [sdk.plain(tool) for tool in (await session.list_tools()).tools]
            for server in peers.entries:
                mine = [tool for tool in tools if tool["name"].startswith(f"{server}__")]
                assert mine, server
                assert all(tool["description"].startswith(f"[{server}] ") for tool in mine)
            await sdk.every_server_answers(session, peers.folder)

    anyio.run(scenario)


def test_it_writes_and_reads_a_graph(peers):
    async def scenario():
        async with sdk.connect(peers.daemon.base + "/mcp/all") as session:
            name = f"Grace Hopper, met by SDK {mcp.__name__}"
            grace = {"name": name, "entityType": "person", "observations": ["found a moth"]}
            await sdk.call(session, "memory__create_entities", {"entities": [grace]})
            graph = await sdk.call(session, "memory__read_graph", {})
            assert grace.items() <= next(e for e in graph["structuredContent"]["entities"] if e["name"] == name).items()

    anyio.run(scenario)


def test_it_sees_images_and_links(peers):
    async def scenario():
        async with sdk.connect(peers.daemon.base + "/mcp/all") as session:
            image = await sdk.call(session, "everything__get-tiny-image", {})
            assert [block["type"] for block in image["content"]] == ["text", "image", "text"]
            links = await sdk.call(session, "web__get-resource-links", {"count": 3})
            assert [block["type"] for block in links["content"]] == ["text", *["resource_link"] * 3]
            resource = await sdk.call(session, "everything__get-resource-reference", {"resourceType": "Blob", "resourceId": 1})
            assert resource["content"][1]["resource"]["blob"]

    anyio.run(scenario)


@pytest.mark.parametrize("server", ["everything", "files", "memory", "time", "web"])
def test_it_speaks_to_one_server_natively(peers, direct_tools, server):
    async def scenario():
        async with sdk.connect(f"{peers.daemon.base}/mcp/server/{server}") as session:
            names = {tool.name for tool in (await session.list_tools()).tools}
            assert direct_tools[server][0].keys() <= names
            if server in ("everything", "web"):
                assert (await session.list_prompts()).prompts
                assert (await session.list_resources()).resources
                assert sdk.plain(await session.list_resource_templates())["resourceTemplates"]
                prompt = sdk.plain(await session.get_prompt("args-prompt", {"city": "Rom"}))
                assert "Rom" in prompt["messages"][0]["content"]["text"]

    anyio.run(scenario)


def test_progress_reaches_its_callback(peers):
    async def scenario():
        async with sdk.connect(peers.daemon.base + "/mcp/server/everything") as session:
            steps = []

            async def on_progress(progress, total, message):
                steps.append((progress, total))

            arguments = {"duration": 1, "steps": 3}
            await session.call_tool("trigger-long-running-operation", arguments, progress_callback=on_progress)
            assert steps == [(1, 3), (2, 3), (3, 3)]

    anyio.run(scenario)


@pytest.mark.parametrize("path", ["/mcp", "/sse"])
def test_it_answers_what_a_server_asks(peers, path):
    target = {"transport": "sse" if path == "/sse" else "http", "url": peers.daemon.base + path}
    callbacks, asked = sdk.answering({"name": "Ada"}, "roses are red")

    async def scenario():
        async with sdk.connect(target, **callbacks) as session:
            form = await sdk.call(session, "everything__trigger-elicitation-request", {})
            assert "Ada" in json.dumps(form["content"])
            poem = await sdk.call(session, "everything__trigger-sampling-request", {"prompt": "A poem, please."})
            assert "roses are red" in poem["content"][0]["text"]

    anyio.run(scenario)
    assert [question.partition("]")[0] for question in asked][:1] == ["[everything"]
    assert asked[1].endswith("A poem, please.")


def test_an_unknown_tool_is_an_error_that_names_it(peers):
    async def scenario():
        async with sdk.connect(peers.daemon.base + "/mcp/all") as session:
            with pytest.raises(Exception, match="everything__eco"):
                await session.call_tool("everything__eco", {})
            # The session goes on.
            await sdk.call(session, "everything__echo", {"message": "still here"})

    anyio.run(scenario)


def test_the_example_of_the_tool_proxy_runs(peers):
    example = Path(__file__).parents[2] / "examples" / "proxy.py"
    arguments = [peers.daemon.base + "/mcp/proxy", "time__get_current_time", '{"timezone": "UTC"}']
    ran = subprocess.run([sys.executable, example, *arguments], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    tools, resources, prompts, definition, *items = ran.stdout.splitlines()
    assert "time__get_current_time" in tools and "retrieve_tools" in tools
    assert "everything__" in prompts
    assert resources.startswith("resources: ")
    assert definition.startswith("time__get_current_time: [time] ")
    [item] = [json.loads(item) for item in items]
    assert "UTC" in item["text"]
    # The current SDK drops annotations that it does not know.
    if item.get("annotations"):
        assert item["annotations"]["proxyPath"] == "time__get_current_time"
