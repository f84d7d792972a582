//! The clients and proxies whose files are known: one row has all that is known of one, so that adding a client is adding a row.

use serde_json::{Map, Value, json};

use super::references::Spelling;

/// A row of the table.
pub(super) struct ClientSpec {
    /// The word for it on a command line and in addresses.
    pub(super) id: &'static str,
    /// Its name for people.
    pub(super) title: &'static str,
    /// Other words for it.
    pub(super) words: &'static [&'static str],
    /// Its files of a person. The first is the one that is made where none is there.
    pub(super) files: &'static [(Folder, &'static str)],
    /// Its files in the folder of a project.
    pub(super) project_files: &'static [&'static str],
    /// Files of these names are read only: an entry is not written there.
    pub(super) read_only: &'static [&'static str],
    /// A folder below the home folder that shows that it is here.
    pub(super) sign: Option<&'static str>,
    /// How paths of its files end, wherever they lie.
    pub(super) endings: &'static [&'static str],
    /// Whether a file whose path says nothing is one of it.
    pub(super) is_its: fn(&Value) -> bool,
    /// The keys that lead to its lists of servers. An entry is written to the first, or to the one inside it if that is there.
    pub(super) lists: &'static [&'static [&'static str]],
    /// Whether its file has lists for single projects, too.
    pub(super) has_projects: bool,
    /// How its entries refer to variables.
    pub(super) spelling: Spelling,
    /// The same in addresses and headers, where that is another.
    pub(super) address_spelling: Option<Spelling>,
    /// Which transport its entries with an address mean.
    pub(super) transport: EntryTransport,
    /// Its keys for timeouts, with ours.
    pub(super) timeouts: &'static [(&'static str, &'static str, Unit)],
    /// Whether its command is a line of words.
    pub(super) splits_command: bool,
    /// Whether entries without a program are extensions that only it can start.
    pub(super) has_extensions: bool,
    /// How our entry is written; nothing for a proxy, which has no use for one.
    pub(super) entry: Option<EntryShape>,
}

/// A folder in which clients keep files.
pub(super) enum Folder {
    Home,
    /// `$XDG_CONFIG_HOME`, or `~/.config`.
    Config,
    /// The folder for settings of applications, which is another on macOS.
    Applications,
    /// What a variable names, or a folder below the home folder; without that one, nothing.
    Variable(&'static str, Option<&'static str>),
}

/// What an entry with an address speaks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryTransport {
    /// What it says, else ours to choose.
    Said,
    /// What it says, else one after the other.
    SaidOrEither,
    /// One after the other, also where it says HTTP.
    Either,
}

/// What a timeout is counted in.
#[derive(Clone, Copy)]
pub(super) enum Unit {
    Seconds,
    Milliseconds,
}

/// How an entry that leads to us is written.
pub(super) struct EntryShape {
    /// Whether it connects to addresses on this machine.
    pub(super) has_http: bool,
    pub(super) http_type: Option<&'static str>,
    pub(super) process_type: Option<&'static str>,
    /// The key of the address.
    pub(super) url: &'static str,
    /// The key of the program.
    pub(super) command: &'static str,
    /// Whether the arguments stand in one list with the program.
    pub(super) is_one_list: bool,
    pub(super) token: TokenPlace,
    /// What else stands there, given the name of the entry.
    pub(super) more: fn(&str) -> Value,
}

/// Where an entry names the variable with a client's token.
pub(super) enum TokenPlace {
    /// Nowhere: its files refer to no variables.
    Nowhere,
    /// In a header, by such a reference to `NAME`.
    Header(&'static str),
    /// Under a key of its own.
    Key(&'static str),
}

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
    token: TokenPlace::Nowhere,
    more: |_| json!({}),
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

/// All of them, in the order in which they are looked at.
pub(super) static CLIENTS: [ClientSpec; 13] = [
    ClientSpec {
        id: "claude-code",
        title: "Claude Code",
        words: &["claude"],
        files: &[(
            Folder::Variable("CLAUDE_CONFIG_DIR", Some("")),
            ".claude.json",
        )],
        project_files: &[".mcp.json"],
        sign: Some(".claude"),
        endings: &[".claude.json", ".mcp.json"],
        has_projects: true,
        spelling: Spelling::Shell,
        timeouts: &IN_MILLISECONDS,
        entry: Some(EntryShape {
            http_type: Some("http"),
            token: TokenPlace::Header("${NAME}"),
            // Our tools are few, and lead to all others: a client that looks tools up before it has them would look twice.
            more: |_| json!({ "alwaysLoad": true }),
            ..ENTRY
        }),
        ..CLIENT
    },
    ClientSpec {
        id: "claude-desktop",
        title: "Claude Desktop",
        words: &["desktop"],
        files: &[(Folder::Applications, "Claude/claude_desktop_config.json")],
        endings: &["claude_desktop_config.json"],
        entry: Some(EntryShape {
            has_http: false,
            ..ENTRY
        }),
        ..CLIENT
    },
    ClientSpec {
        id: "cursor",
        title: "Cursor",
        files: &[(Folder::Home, ".cursor/mcp.json")],
        project_files: &[".cursor/mcp.json"],
        endings: &[".cursor/mcp.json"],
        is_its: |root| some_entry_has(root, "mcpServers", &["envFile"]),
        spelling: Spelling::Editor,
        transport: EntryTransport::SaidOrEither,
        entry: Some(EntryShape {
            token: TokenPlace::Header("${env:NAME}"),
            ..ENTRY
        }),
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
        endings: &[
            ".vscode/mcp.json",
            ".vscode/settings.json",
            "User/mcp.json",
            "User/settings.json",
        ],
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
            token: TokenPlace::Header("${env:NAME}"),
            ..ENTRY
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
        endings: &["windsurf/mcp_config.json", ".codeium/mcp_config.json"],
        is_its: |root| some_entry_has(root, "mcpServers", &["serverUrl", "disabledTools"]),
        spelling: Spelling::Editor,
        transport: EntryTransport::SaidOrEither,
        entry: Some(EntryShape {
            url: "serverUrl",
            token: TokenPlace::Header("${env:NAME}"),
            ..ENTRY
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
        endings: &[".gemini/settings.json"],
        is_its: |root| {
            let own = &["httpUrl", "includeTools", "excludeTools", "trust"];
            some_entry_has(root, "mcpServers", own)
        },
        spelling: Spelling::Dollar,
        transport: EntryTransport::SaidOrEither,
        timeouts: &IN_MILLISECONDS,
        entry: Some(EntryShape {
            url: "httpUrl",
            token: TokenPlace::Header("${NAME}"),
            ..ENTRY
        }),
        ..CLIENT
    },
    ClientSpec {
        id: "zed",
        title: "Zed",
        files: &[(Folder::Config, "zed/settings.json")],
        project_files: &[".zed/settings.json"],
        endings: &["zed/settings.json", ".zed/settings.json"],
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
            token: TokenPlace::Header("${NAME}"),
            more: |name| json!({ "enabled": true, "name": name, "description": "", "timeout": CALL_SECS }),
            ..ENTRY
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
        endings: &["opencode.json", "opencode.jsonc"],
        is_its: is_of_open_code,
        // Since version 2 the inner one.
        lists: &[&["mcp"], &["mcp", "servers"]],
        spelling: Spelling::Braces,
        transport: EntryTransport::SaidOrEither,
        entry: Some(EntryShape {
            http_type: Some("remote"),
            process_type: Some("local"),
            is_one_list: true,
            token: TokenPlace::Header("{env:NAME}"),
            more: |_| json!({ "enabled": true }),
            ..ENTRY
        }),
        ..CLIENT
    },
    ClientSpec {
        id: "mcpproxy-go",
        title: "mcpproxy-go",
        files: &[(Folder::Home, ".mcpproxy/mcp_config.json")],
        endings: &[".mcpproxy/mcp_config.json"],
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
        endings: &[".magg/config.json"],
        is_its: is_of_magg,
        lists: &[&["servers"]],
        splits_command: true,
        entry: None,
        ..CLIENT
    },
    // The file that several proxies have: what nobody else's is is taken for it.
    ClientSpec {
        id: "servers-json",
        title: "servers.json",
        files: &[(Folder::Config, "mcp/servers.json")],
        project_files: &["servers.json"],
        endings: &["servers.json"],
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
