//! The clients and proxies whose files are known: one row has all that is known of one, so that adding a client is adding a row.

use serde_json::{Map, Value, json};

use super::{
    references::Spelling,
    table::{ClientSpec, EntryShape, EntryTransport, Folder, TokenPlace, Unit},
};

/// How long a client may wait for a call, in seconds, where it gives up sooner by itself: the first start of a server that is downloaded
/// takes minutes, and it is part of the call.
const CALL_SECS: u64 = 300;

const ENTRY: EntryShape = EntryShape {
    has_http: true,
    http_type: None,
    process_type: None,
    url: "url",
    command: "command",
    is_one_list: false,
    env: "env",
    token: TokenPlace::Nowhere,
    more: |_| json!({}),
};

/// For a client that only starts processes.
const PROCESS_ENTRY: EntryShape = EntryShape {
    has_http: false,
    ..ENTRY
};

const EDITOR_ENTRY: EntryShape = EntryShape {
    token: TokenPlace::Header("${env:NAME}"),
    ..ENTRY
};

const SHELL_ENTRY: EntryShape = EntryShape {
    token: TokenPlace::Header("${NAME}"),
    ..ENTRY
};

const GEMINI_ENTRY: EntryShape = EntryShape {
    url: "httpUrl",
    ..SHELL_ENTRY
};

const CLIENT: ClientSpec = ClientSpec {
    id: "",
    title: "",
    words: &[],
    files: &[],
    project_files: &[],
    read_only: &[],
    sign: None,
    endings: &[],
    is_its: |_| false,
    lists: &[&["mcpServers"]],
    has_projects: false,
    spelling: Spelling::Nothing,
    address_spelling: None,
    transport: EntryTransport::Said,
    timeouts: &[],
    splits_command: false,
    has_extensions: false,
    entry: Some(ENTRY),
};

/// As Claude Code and Gemini CLI call them.
const IN_MILLISECONDS: [(&str, &str, Unit); 2] = [
    ("timeout", "call_tool_timeout", Unit::Milliseconds),
    (
        "request_timeout_ms",
        "call_tool_timeout",
        Unit::Milliseconds,
    ),
];

/// As Cline and Roo Code call it.
const IN_SECONDS: [(&str, &str, Unit); 1] = [("timeout", "call_tool_timeout", Unit::Seconds)];

/// All of them, in the order in which they are looked at.
pub(super) static CLIENTS: [ClientSpec; 23] = [
    ClientSpec {
        id: "claude-code",
        title: "Claude Code",
        files: &[(
            Folder::Variable("CLAUDE_CONFIG_DIR", Some("")),
            ".claude.json",
        )],
        project_files: &[".mcp.json"],
        sign: Some(".claude"),
        endings: &[".claude.json"],
        has_projects: true,
        spelling: Spelling::Shell,
        timeouts: &IN_MILLISECONDS,
        entry: Some(EntryShape {
            http_type: Some("http"),
            // Our tools are few, and lead to all others: a client that looks tools up before it has them would look twice.
            more: |_| json!({ "alwaysLoad": true }),
            ..SHELL_ENTRY
        }),
        ..CLIENT
    },
    ClientSpec {
        id: "claude-desktop",
        title: "Claude Desktop",
        words: &["desktop"],
        files: &[(Folder::Applications, "Claude/claude_desktop_config.json")],
        endings: &["claude_desktop_config.json"],
        entry: Some(PROCESS_ENTRY),
        ..CLIENT
    },
    ClientSpec {
        id: "cursor",
        title: "Cursor",
        files: &[(Folder::Home, ".cursor/mcp.json")],
        project_files: &[".cursor/mcp.json"],
        is_its: |root| some_entry_has(root, "mcpServers", &["envFile"]),
        spelling: Spelling::Editor,
        transport: EntryTransport::SaidOrEither,
        entry: Some(EDITOR_ENTRY),
        ..CLIENT
    },
    ClientSpec {
        id: "vscode",
        title: "VS Code",
        words: &["code", "copilot", "visualstudiocode"],
        files: &[
            (Folder::Applications, "Code/User/mcp.json"),
            (Folder::Applications, "Code - Insiders/User/mcp.json"),
            (Folder::Home, ".vscode-server/data/User/mcp.json"),
            (Folder::Applications, "Code/User/settings.json"),
        ],
        project_files: &[".vscode/mcp.json", ".vscode/settings.json"],
        read_only: &["settings.json"],
        endings: &["User/mcp.json", "User/settings.json"],
        is_its: is_of_vs_code,
        // In `settings.json` below `mcp`, of old under a name with a dot.
        lists: &[
            &["servers"],
            &["mcpServers"],
            &["mcp", "servers"],
            &["mcp", "mcpServers"],
            &["mcp.servers"],
        ],
        spelling: Spelling::Editor,
        transport: EntryTransport::Either,
        entry: Some(EntryShape {
            http_type: Some("http"),
            process_type: Some("stdio"),
            ..EDITOR_ENTRY
        }),
        ..CLIENT
    },
    ClientSpec {
        id: "windsurf",
        title: "Windsurf",
        files: &[
            (Folder::Home, ".codeium/windsurf/mcp_config.json"),
            (Folder::Home, ".codeium/mcp_config.json"),
        ],
        endings: &["windsurf/mcp_config.json"],
        is_its: |root| some_entry_has(root, "mcpServers", &["serverUrl", "disabledTools"]),
        spelling: Spelling::Editor,
        transport: EntryTransport::SaidOrEither,
        entry: Some(EntryShape {
            url: "serverUrl",
            ..EDITOR_ENTRY
        }),
        ..CLIENT
    },
    ClientSpec {
        id: "codex",
        title: "Codex",
        files: &[(
            Folder::Variable("CODEX_HOME", Some(".codex")),
            "config.toml",
        )],
        project_files: &[".codex/config.toml"],
        is_its: |root| has_only(root, "mcp_servers"),
        lists: &[&["mcp_servers"]],
        timeouts: &[
            ("startup_timeout_sec", "init_timeout", Unit::Seconds),
            ("tool_timeout_sec", "call_tool_timeout", Unit::Seconds),
        ],
        entry: Some(EntryShape {
            token: TokenPlace::Key("bearer_token_env_var"),
            more: |_| json!({ "tool_timeout_sec": CALL_SECS }),
            ..ENTRY
        }),
        ..CLIENT
    },
    ClientSpec {
        id: "gemini-cli",
        title: "Gemini CLI",
        words: &["gemini"],
        files: &[(Folder::Home, ".gemini/settings.json")],
        project_files: &[".gemini/settings.json"],
        is_its: |root| {
            let own = &["httpUrl", "includeTools", "excludeTools", "trust"];
            some_entry_has(root, "mcpServers", own)
        },
        spelling: Spelling::Dollar,
        transport: EntryTransport::SaidOrEither,
        timeouts: &IN_MILLISECONDS,
        entry: Some(GEMINI_ENTRY),
        ..CLIENT
    },
    ClientSpec {
        id: "zed",
        title: "Zed",
        files: &[(Folder::Config, "zed/settings.json")],
        project_files: &[".zed/settings.json"],
        is_its: |root| has_only(root, "context_servers"),
        lists: &[&["context_servers"]],
        has_extensions: true,
        ..CLIENT
    },
    ClientSpec {
        id: "goose",
        title: "Goose",
        files: &[(Folder::Config, "goose/config.yaml")],
        is_its: |root| has_only(root, "extensions"),
        lists: &[&["extensions"]],
        address_spelling: Some(Spelling::Dollar),
        timeouts: &[("timeout", "call_tool_timeout", Unit::Seconds)],
        entry: Some(EntryShape {
            http_type: Some("streamable_http"),
            process_type: Some("stdio"),
            url: "uri",
            command: "cmd",
            env: "envs",
            more: |name| json!({ "enabled": true, "name": name, "description": "", "timeout": CALL_SECS }),
            ..SHELL_ENTRY
        }),
        ..CLIENT
    },
    ClientSpec {
        id: "opencode",
        title: "OpenCode",
        files: &[
            (Folder::Config, "opencode/opencode.json"),
            (Folder::Config, "opencode/opencode.jsonc"),
        ],
        project_files: &[
            "opencode.json",
            "opencode.jsonc",
            ".opencode/opencode.json",
            ".opencode/opencode.jsonc",
        ],
        is_its: is_of_open_code,
        // Since version 2 the inner one.
        lists: &[&["mcp"], &["mcp", "servers"]],
        spelling: Spelling::Braces,
        transport: EntryTransport::SaidOrEither,
        entry: Some(EntryShape {
            http_type: Some("remote"),
            process_type: Some("local"),
            is_one_list: true,
            env: "environment",
            token: TokenPlace::Header("{env:NAME}"),
            more: |_| json!({ "enabled": true }),
            ..ENTRY
        }),
        ..CLIENT
    },
    ClientSpec {
        id: "cline",
        title: "Cline",
        files: &[(
            Folder::Applications,
            "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        )],
        endings: &["cline_mcp_settings.json"],
        timeouts: &IN_SECONDS,
        entry: Some(EntryShape {
            http_type: Some("streamableHttp"),
            more: |_| json!({ "timeout": CALL_SECS }),
            ..ENTRY
        }),
        ..CLIENT
    },
    ClientSpec {
        id: "roo-code",
        title: "Roo Code",
        words: &["roo"],
        files: &[(
            Folder::Applications,
            "Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
        )],
        project_files: &[".roo/mcp.json"],
        endings: &["mcp_settings.json"],
        spelling: Spelling::Editor,
        timeouts: &IN_SECONDS,
        entry: Some(EntryShape {
            http_type: Some("streamable-http"),
            more: |_| json!({ "timeout": CALL_SECS }),
            ..EDITOR_ENTRY
        }),
        ..CLIENT
    },
    // It reads every file of a folder, so that an entry needs no place in a list of YAML.
    ClientSpec {
        id: "continue",
        title: "Continue",
        files: &[
            (Folder::Home, ".continue/mcpServers/mcp.json"),
            (Folder::Home, ".continue/config.yaml"),
        ],
        project_files: &[".continue/mcpServers/mcp.json"],
        read_only: &["config.yaml"],
        spelling: Spelling::DoubleBraces,
        entry: Some(EntryShape {
            http_type: Some("http"),
            ..ENTRY
        }),
        ..CLIENT
    },
    ClientSpec {
        id: "lm-studio",
        title: "LM Studio",
        files: &[(Folder::Home, ".lmstudio/mcp.json")],
        ..CLIENT
    },
    ClientSpec {
        id: "copilot-cli",
        title: "Copilot CLI",
        files: &[(Folder::Home, ".copilot/mcp-config.json")],
        spelling: Spelling::Shell,
        entry: Some(EntryShape {
            http_type: Some("http"),
            process_type: Some("local"),
            more: |_| json!({ "tools": ["*"] }),
            ..ENTRY
        }),
        ..CLIENT
    },
    ClientSpec {
        id: "kiro",
        title: "Kiro",
        files: &[(Folder::Home, ".kiro/settings/mcp.json")],
        project_files: &[".kiro/settings/mcp.json"],
        spelling: Spelling::Shell,
        transport: EntryTransport::SaidOrEither,
        entry: Some(SHELL_ENTRY),
        ..CLIENT
    },
    // Its servers are processes, by its documentation.
    ClientSpec {
        id: "junie",
        title: "JetBrains Junie",
        words: &["jetbrains", "intellij", "pycharm", "webstorm"],
        files: &[(Folder::Home, ".junie/mcp/mcp.json")],
        project_files: &[".junie/mcp/mcp.json"],
        entry: Some(PROCESS_ENTRY),
        ..CLIENT
    },
    ClientSpec {
        id: "warp",
        title: "Warp",
        files: &[(Folder::Home, ".warp/.mcp.json")],
        project_files: &[".warp/.mcp.json"],
        spelling: Spelling::Shell,
        transport: EntryTransport::SaidOrEither,
        ..CLIENT
    },
    ClientSpec {
        id: "amp",
        title: "Amp",
        files: &[(Folder::Config, "amp/settings.json")],
        project_files: &[".amp/settings.json"],
        is_its: |root| has_only(root, "amp.mcpServers"),
        lists: &[&["amp.mcpServers"]],
        spelling: Spelling::Shell,
        transport: EntryTransport::SaidOrEither,
        ..CLIENT
    },
    ClientSpec {
        id: "qwen-code",
        title: "Qwen Code",
        words: &["qwen"],
        files: &[(Folder::Home, ".qwen/settings.json")],
        project_files: &[".qwen/settings.json"],
        spelling: Spelling::Dollar,
        transport: EntryTransport::SaidOrEither,
        timeouts: &IN_MILLISECONDS,
        entry: Some(GEMINI_ENTRY),
        ..CLIENT
    },
    ClientSpec {
        id: "mcpproxy-go",
        title: "mcpproxy-go",
        files: &[(Folder::Home, ".mcpproxy/mcp_config.json")],
        is_its: |root| root.get("mcpServers").is_some_and(Value::is_array),
        spelling: Spelling::Ours,
        entry: None,
        ..CLIENT
    },
    ClientSpec {
        id: "magg",
        title: "Magg",
        files: &[
            (Folder::Variable("MAGG_CONFIG_PATH", None), ""),
            (Folder::Home, ".magg/config.json"),
        ],
        project_files: &[".magg/config.json"],
        is_its: is_of_magg,
        lists: &[&["servers"]],
        splits_command: true,
        entry: None,
        ..CLIENT
    },
    // Several proxies have this file. A file that is no other client's is taken for one.
    ClientSpec {
        id: "servers-json",
        title: "servers.json",
        files: &[(Folder::Config, "mcp/servers.json")],
        project_files: &["servers.json"],
        is_its: |_| true,
        lists: &[&["mcpServers"], &["servers"]],
        spelling: Spelling::Ours,
        entry: None,
        ..CLIENT
    },
];

/// Whether some entry of a list has one of these keys.
fn some_entry_has(root: &Value, list: &str, keys: &[&str]) -> bool {
    let list = root.get(list).and_then(Value::as_object);
    let entries = list.into_iter().flat_map(Map::values);
    let mut written = entries.filter_map(Value::as_object).flat_map(Map::keys);
    written.any(|key| keys.contains(&key.as_str()))
}

/// Whether a file has this key and not the one that most have.
fn has_only(root: &Value, key: &str) -> bool {
    root.get(key).is_some() && root.get("mcpServers").is_none()
}

fn is_of_magg(root: &Value) -> bool {
    has_only(root, "servers") && some_entry_has(root, "servers", &["source", "uri"])
}

/// `OpenCode` has a list there, too, with kinds of its own and no `args`.
fn is_settings_of_vs_code(root: &Value) -> bool {
    let below = root.get("mcp").and_then(|mcp| mcp.get("servers"));
    let entries = below.and_then(Value::as_object).into_iter().flatten();
    let is_its = |entry: &Value| {
        entry.get("args").is_some() || entry.get("type").is_some_and(|kind| kind == "http")
    };
    has_only(root, "mcp.servers") || entries.map(|(_, entry)| entry).any(is_its)
}

fn is_of_open_code(root: &Value) -> bool {
    has_only(root, "mcp") && root.get("inputs").is_none() && !is_settings_of_vs_code(root)
}

fn is_of_vs_code(root: &Value) -> bool {
    let has_list = has_only(root, "servers") && !is_of_magg(root) && !is_of_open_code(root);
    has_list || is_settings_of_vs_code(root)
}
