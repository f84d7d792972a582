"""The official Rust SDK as a client."""

import json
import subprocess

import pytest

import doors
import rig


def session(target: dict, calls: list[dict], lifecycle: str = "initialize", environment=None) -> tuple[list[str], list[dict]]:
    to = [target["url"]] if "url" in target else [target["command"], *target["args"]]
    done = subprocess.run(
        [rig.RUST_CLIENT, lifecycle, *to],
        input="".join(json.dumps(call) + "\n" for call in calls),
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    names, *results = map(json.loads, done.stdout.splitlines())
    return names, results


@pytest.mark.parametrize("door", doors.HTTP + doors.STDIO, ids=str)
@pytest.mark.parametrize("lifecycle", ["initialize", "auto", "discover"])
def test_it_lists_and_calls(peers, door, lifecycle):
    names, [result] = session(door.target(peers.daemon), [door.call()], lifecycle)
    door.check_list(names)
    doors.check_time(result)


def test_it_calls_the_tools_of_all_servers(peers):
    calls = [
        ("everything__echo", {"message": "servus"}),
        ("web__get-sum", {"a": 2, "b": 3}),
        ("files__read_text_file", {"path": str(peers.folder / "files" / "hello.txt")}),
        ("memory__read_graph", {}),
        ("time__get_current_time", {"timezone": "UTC"}),
    ]
    everything = {"url": peers.daemon.base + "/mcp/all"}
    names, results = session(everything, [{"name": name, "arguments": arguments} for name, arguments in calls])
    assert {name.partition("__")[0] for name in names} >= peers.entries.keys()
    assert len(results) == len(calls)
    assert not any(result.get("isError") for result in results), results
    assert results[0]["content"] == [{"type": "text", "text": "Echo: servus"}]
    assert "5" in results[1]["content"][0]["text"]
    assert "Grüße aus der Datei" in results[2]["content"][0]["text"]
    assert "entities" in results[3]["structuredContent"]
