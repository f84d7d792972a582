"""The official Rust SDK as a client."""

import json
import subprocess

import rig


def session(url: str, calls: list[tuple[str, dict]]) -> tuple[list[str], list[dict]]:
    done = subprocess.run(
        [rig.RUST_CLIENT, url],
        input="".join(json.dumps({"name": name, "arguments": arguments}) + "\n" for name, arguments in calls),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    names, *results = map(json.loads, done.stdout.splitlines())
    return names, results


def test_it_lists_and_calls_the_tools_of_all_servers(peers):
    calls = [
        ("everything__echo", {"message": "servus"}),
        ("web__get-sum", {"a": 2, "b": 3}),
        ("files__read_text_file", {"path": str(peers.folder / "files" / "hello.txt")}),
        ("memory__read_graph", {}),
        ("time__get_current_time", {"timezone": "UTC"}),
    ]
    names, results = session(peers.daemon.base + "/mcp/all", calls)
    assert {name.partition("__")[0] for name in names} >= peers.entries.keys()
    assert len(results) == len(calls)
    assert not any(result.get("isError") for result in results), results
    assert results[0]["content"] == [{"type": "text", "text": "Echo: servus"}]
    assert "5" in results[1]["content"][0]["text"]
    assert "Grüße aus der Datei" in results[2]["content"][0]["text"]
    assert "entities" in results[3]["structuredContent"]


def test_it_speaks_to_one_server_natively(peers):
    names, results = session(peers.daemon.base + "/mcp/server/time", [("get_current_time", {"timezone": "UTC"})])
    assert "get_current_time" in names
    assert not results[0].get("isError"), results
