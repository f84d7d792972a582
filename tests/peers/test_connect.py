"""From the file of each program that `mcpproxy import` knows to a call, and clients that `mcpproxy connect` connected: the files are those
of the integration tests, the clients are the real ones."""

import json
import re
import subprocess
from pathlib import Path

import pytest

import clients
import rig
import test_claude_code
import test_codex
import test_gemini

FIXTURES = Path(__file__).parents[1] / "it/cli/client_files"
# Where each program looks for its file.
PLACES = {
    "claude-code.json": ".claude.json",
    "claude-desktop.json": ".config/Claude/claude_desktop_config.json",
    "codex.toml": ".codex/config.toml",
    "cursor.json": ".cursor/mcp.json",
    "gemini-cli.json": ".gemini/settings.json",
    "goose.yaml": ".config/goose/config.yaml",
    "magg.json": ".magg/config.json",
    "mcpproxy-go.json": ".mcpproxy/mcp_config.json",
    "opencode.json": ".config/opencode/opencode.json",
    "servers-json.json": ".config/mcp/servers.json",
    "vscode.json": ".config/Code/User/mcp.json",
    "windsurf.json": ".codeium/windsurf/mcp_config.json",
    "zed.json": ".config/zed/settings.json",
}
# Codex without an account: what its own test says, but for the entry.
TOP, TABLES = test_codex.SETTINGS.split("[analytics]", 1)
TABLES = "[analytics]" + TABLES.replace("[mcp_servers.mcpproxy]\n", "")
GEMINI = {
    "security": {"folderTrust": {"enabled": False}},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
}


class Machine:
    """A home in which somebody begins: a client's file is there, mcpproxy is not yet."""

    def __init__(self, home: clients.Home):
        self.home = home
        self.port = rig.free_port()
        home.write("mcp_config.json", json.dumps({"listen": f"127.0.0.1:{self.port}"}))
        # What the files name as `notes` is the demo server.
        (home.folder / "bin").mkdir()
        (home.folder / "bin/notes").symlink_to(rig.BINARY)
        # What some of the entries refer to.
        home.environment |= {"NOTES_KEY": "k", "SHELL": "/bin/sh"}

    def fixture(self, name: str) -> str:
        text = (FIXTURES / name).read_text()
        return text.replace("@HOME@", str(self.home.folder)).replace("@PORT@", str(self.port))

    def run(self, *words: str) -> str:
        return self.home.run(*self.program(), *words)

    def program(self) -> list[str]:
        return [rig.BINARY, "--config", str(self.home.folder / "mcp_config.json"), "--data-dir", str(self.home.folder / "data")]

    def stored(self, secret: str):
        """As a person stores it that was told to."""
        subprocess.run(
            [*self.program(), "secret", "set", secret],
            input=b"s3cret",
            env=self.home.environment,
            check=True,
            capture_output=True,
        )


@pytest.fixture
def machine(home):
    machine = Machine(home)
    yield machine
    try:
        machine.run("stop")
    except AssertionError as nothing_ran:
        assert "not running" in str(nothing_ran)


class ConnectedCodex(test_codex.AppServer):
    """Codex with the file as it stands."""

    def __init__(self, home: clients.Home):
        self.home = home
        self.last_id = 0


@pytest.mark.parametrize("name", PLACES)
def test_from_a_file_to_a_call(machine, name):
    """`mcpproxy setup` takes the server over and connects Codex, which calls it from its own file, and where it may not."""
    if name == "codex.toml":
        machine.home.write(PLACES[name], TOP + machine.fixture(name) + TABLES)
    else:
        machine.home.write(PLACES[name], machine.fixture(name))
        machine.home.write(".codex/config.toml", TOP + TABLES)
    said = json.loads(machine.run("setup", "--import", Path(name).stem, "--connect", "codex", "--no-service", "-o", "json"))
    assert "notes" in said["imported"], said
    assert said["clients"][0]["outcome"] == "connected", said
    assert said["proof"]["tool"] == "retrieve_tools", said
    print(f"{name}: {said['took_ms']} ms")
    if name == "goose.yaml":
        # Goose has it in its own keyring.
        machine.stored("notes-NOTES_SECRET")
    if name not in ("codex.toml", "gemini-cli.json"):
        answer = json.loads(machine.run("call", "read", "notes:echo", "--args", '{"text": "milk"}', "-o", "json"))
        assert answer["content"][0]["text"] == "milk", answer
        return
    with ConnectedCodex(machine.home) as codex:
        call = {"name": "call_tool_read", "arguments": {"name": "notes:echo", "args": {"text": "milk"}}}
        answer = codex.call(call)
    # The file of Gemini names the tools that it may have, which holds here too.
    wanted = "milk" if name == "codex.toml" else "tool_disabled"
    assert wanted in answer["content"][0]["text"], answer


def test_claude_code_is_connected_and_disconnected(machine):
    machine.home.write(".claude.json", machine.fixture("claude-code.json"))
    before = (machine.home.folder / ".claude.json").read_text()
    machine.run("setup", "--import", "none", "--connect", "claude-code", "--no-service")
    found = test_claude_code.outcomes(machine.home)
    assert found["mcpproxy"] == "Connected", found
    # It writes to its file all the time, so what was there is not given back whole.
    machine.run("connect", "claude-code", "--undo")
    after = json.loads((machine.home.folder / ".claude.json").read_text())
    assert after["mcpServers"] == json.loads(before)["mcpServers"]
    assert "mcpproxy" not in test_claude_code.outcomes(machine.home)


def test_claude_code_starts_our_program(machine):
    """Where it is told to, instead of the address."""
    machine.home.write(".claude.json", {"numStartups": 1})
    machine.run("connect", "claude-code", "--stdio")
    assert test_claude_code.outcomes(machine.home) == {"mcpproxy": "Connected"}


def test_gemini_is_connected_and_disconnected(machine):
    settings = json.loads(machine.fixture("gemini-cli.json"))
    del settings["mcpServers"]["search"], settings["mcpServers"]["events"]
    machine.home.write(".gemini/settings.json", settings | GEMINI)
    before = (machine.home.folder / ".gemini/settings.json").read_text()
    machine.run("setup", "--import", "gemini-cli", "--connect", "gemini-cli", "--no-service")
    listed = dict(test_gemini.LINE.findall(machine.home.run(*clients.GEMINI, "mcp", "list")))
    assert listed == {"notes": "Connected", "mcpproxy": "Connected"}
    machine.run("connect", "gemini-cli", "--undo")
    assert (machine.home.folder / ".gemini/settings.json").read_text() == before


def test_codex_lists_what_connect_wrote(machine):
    machine.home.write(".codex/config.toml", TOP + machine.fixture("codex.toml") + TABLES)
    machine.run("connect", "codex")
    listed = machine.home.run(*clients.CODEX, "mcp", "list")
    line = next(line for line in listed.splitlines() if line.startswith("mcpproxy"))
    assert re.search(rf"http://127\.0\.0\.1:{machine.port}/mcp\b", line), listed
