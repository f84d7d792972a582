"""The official TypeScript SDK as a client, in both of its major versions."""

import pytest

import clients
import doors
import rig

MODULES = {1: rig.PEERS / "node_modules", 2: clients.MODULES}


def visit(home, major, target, calls, negotiation=None, replies=None):
    told = {"modules": str(MODULES[major]), "major": major, "negotiation": negotiation, "target": target, "calls": calls}
    told["replies"] = replies
    return clients.visit(home, clients.TYPESCRIPT, told)


@pytest.mark.parametrize("door", doors.ALL, ids=str)
@pytest.mark.parametrize("major", [1, 2])
def test_it_lists_and_calls(peers, home, major, door):
    saw = visit(home, major, door.target(peers.daemon), [door.call()])
    door.check_list(saw["tools"])
    doors.check_time(saw["answers"][0])


@pytest.mark.parametrize("door", doors.HTTP + doors.STDIO, ids=str)
@pytest.mark.parametrize("negotiation", ["auto", {"pin": "2026-07-28"}], ids=["auto", "pinned"])
def test_it_does_so_without_a_handshake(peers, home, negotiation, door):
    saw = visit(home, 2, door.target(peers.daemon), [door.call()], negotiation)
    assert saw["revision"] == "2026-07-28"
    assert saw["honored"] == {"toolsListChanged": True}
    door.check_list(saw["tools"])
    doors.check_time(saw["answers"][0])


@pytest.mark.parametrize("major, negotiation", [(1, None), (2, "legacy"), (2, "auto")])
def test_it_sees_text_structure_and_progress_of_several_servers(peers, home, major, negotiation):
    long = peers.offered()["everything:trigger-long-running-operation"]
    calls = [
        {"name": "everything__echo", "arguments": {"message": "servus"}},
        {"name": "web__get-structured-content", "arguments": {"location": "Chicago"}},
        {"name": long, "arguments": {"duration": 1, "steps": 2}, "progress": True},
    ]
    target = {"transport": "http", "url": peers.daemon.base + "/mcp/all"}
    saw = visit(home, major, target, calls, negotiation)
    assert {name.partition("__")[0] for name in saw["tools"]} >= peers.entries.keys()
    echo, weather, _ = saw["answers"]
    assert echo["content"] == [{"type": "text", "text": "Echo: servus"}]
    assert weather["structuredContent"]["temperature"] == 36
    assert saw["progress"] == [{"progress": 1, "total": 2}, {"progress": 2, "total": 2}]
