"""Claude Code at work, with a scripted model in place of a real one: which tools the model sees, and what calls do."""

import json

import pytest

import clients
import doors
from scripted_model import Model
from test_claude_code import write

OURS = "mcp__mcpproxy__"
UTC = {"timezone": "UTC"}


def work(home, model: Model, *allowed: str) -> dict:
    """One prompt without a person at the keyboard; only what is allowed beforehand may be called."""
    home.environment |= {"ANTHROPIC_BASE_URL": model.base, "ANTHROPIC_API_KEY": "none"}
    options = ["--output-format", "json", "--allowedTools", ",".join(f"{OURS}{name}" for name in allowed)]
    said = home.run(*clients.CLAUDE, "--print", "What time is it?", *options)
    done = json.loads(said)
    assert (done["is_error"], done["result"]) == (False, "That was all."), done
    return done


def test_it_searches_and_calls_what_it_found(peers, home):
    write(home, {"mcpproxy": doors.HTTP[0].target(peers.daemon)})
    steps = [
        (f"{OURS}retrieve_tools", {"query": "current time in a timezone"}),
        (f"{OURS}call_tool_read", {"name": "time:get_current_time", "args": UTC}),
    ]
    with Model(*steps) as model:
        work(home, model, "retrieve_tools", "call_tool_read")
        found, time = model.results()
        assert "time:get_current_time" in json.dumps(found["content"])
        assert not time.get("is_error"), time
        assert "UTC" in json.dumps(time["content"])
        # Its own search for tools does not hide ours: the model sees them whole from the start.
        seen = {name.removeprefix(OURS): tool for name, tool in model.tools().items() if name.startswith(OURS)}
        assert doors.SEARCH <= seen.keys()
        assert [name for name, tool in seen.items() if tool.get("defer_loading")] == []
        assert "call retrieve_tools" in json.dumps(model.asked[0]), "the instructions have reached the model"


@pytest.mark.parametrize("door", [doors.HTTP[1], *doors.SOME[1:]], ids=str)
def test_it_calls_a_tool_under_its_own_name(peers, home, door):
    write(home, {"mcpproxy": door.target(peers.daemon)})
    call = door.call()
    # It holds back the definitions of other servers' tools until the model asks for them.
    steps = [("ToolSearch", {"query": f"select:{OURS}{call['name']}"}), (f"{OURS}{call['name']}", call["arguments"])]
    with Model(*steps) as model:
        work(home, model, call["name"])
        _, time = model.results()
        assert not time.get("is_error"), time
        assert "UTC" in json.dumps(time["content"])


def test_it_asks_a_person_before_anything_destructive_even_where_it_is_allowed_beforehand(peers, home):
    write(home, {"mcpproxy": doors.HTTP[0].target(peers.daemon)})
    deletion = {"name": "memory:delete_entities", "args": {"entityNames": ["nobody"]}}
    with Model((f"{OURS}call_tool_destructive", deletion)) as model:
        done = work(home, model, "call_tool_destructive")
        [answer] = model.results()
        assert answer["is_error"], answer
    assert [it["tool_name"] for it in done["permission_denials"]] == [f"{OURS}call_tool_destructive"]
