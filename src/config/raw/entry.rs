//! An entry of `mcpServers` as it is written.

use std::{borrow::Cow, sync::LazyLock};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use crate::{
    config::{
        references::Text,
        server_entry::{Author, NewTools, ProtocolEra, SessionScope, Start, ToolChanges},
        spanned,
        tool_filter::{Globs, ToolAcl},
        values::{Apart, Pairs, RawVariables, Scalar, Span, WholeNumber, Word},
    },
    text::names::ServerName,
};

#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "server")]
pub(in crate::config) struct RawEntry {
    /// The program of a stdio server.
    pub(in crate::config) command: Option<Text>,
    /// Its arguments; no shell splits them.
    pub(in crate::config) args: Vec<Word>,
    /// Variables of its process.
    pub(in crate::config) env: RawVariables,
    /// The folder it starts in; a relative one is relative to this file's folder.
    pub(in crate::config) cwd: Option<Text>,
    /// Another spelling of cwd.
    pub(in crate::config) working_dir: Option<Text>,
    /// Where a remote server is.
    pub(in crate::config) url: Option<Text>,
    /// Headers of each request to a remote server.
    pub(in crate::config) headers: Pairs<String, Word>,
    /// Certificates to trust besides the system's.
    pub(in crate::config) ca_file: Option<Text>,
    /// Our certificate and its key.
    pub(in crate::config) client_cert: Option<Text>,
    /// How the server speaks; by default stdio for a command, http for a url, auto for a url that ends in /sse.
    #[serde(rename = "type")]
    pub(in crate::config) kind: Option<RawKind>,
    /// Another spelling of type.
    pub(in crate::config) protocol: Option<RawKind>,
    /// Another spelling of type.
    pub(in crate::config) transport: Option<RawKind>,
    /// Whether it is there at all.
    #[schemars(extend("default" = true))]
    pub(in crate::config) enabled: Option<bool>,
    /// The inverse of enabled.
    pub(in crate::config) disabled: Option<bool>,
    /// Held until a person approves.
    pub(in crate::config) quarantined: bool,
    /// Who wrote the entry last. While it is quarantined, what an agent wrote is never started, contacted or resolved.
    pub(in crate::config) changed_by: Author,
    /// When an unused connection is closed: adaptive (default for stdio), never (default for remote), or a duration.
    pub(in crate::config) idle_timeout: Option<Scalar>,
    /// The least of an adaptive one.
    #[schemars(extend("default" = "1m"))]
    pub(in crate::config) min_idle_timeout: Option<Span<0, 1_000>>,
    /// The most of an adaptive one.
    #[schemars(extend("default" = "5m"))]
    pub(in crate::config) max_idle_timeout: Option<Span<0, 1_000>>,
    /// Connected with the first call, or at start to stay.
    pub(in crate::config) start: Start,
    /// Who shares a connection: all clients until the server is seen to ask or to log for one of several, and from then on those
    /// that cannot answer and want no log lines (auto); all clients; nobody (one for each client); clients with the same roots.
    pub(in crate::config) session_scope: SessionScope,
    /// How a server that speaks with and without a handshake is opened: auto (over pipes with a handshake, over HTTP
    /// each client in its own way where the server can, else without), legacy (with), modern (without).
    pub(in crate::config) protocol_era: ProtocolEra,
    /// What the server is told when it asks: absolute paths or URIs.
    pub(in crate::config) roots: Vec<RawRoot>,
    /// Globs on the server's own tool names; only these are offered.
    pub(in crate::config) enabled_tools: Option<Globs>,
    /// Globs on the server's own tool names; these are never offered.
    pub(in crate::config) disabled_tools: Globs,
    /// What happens when a tool's definition changes.
    pub(in crate::config) tool_changes: ToolChanges,
    /// What happens to a tool that the server did not list before; as `new_tools` of the top level says by default.
    pub(in crate::config) new_tools: Option<NewTools>,
    /// Our own classification where annotations are missing.
    pub(in crate::config) tool_acl: ToolAcl,
    /// How long connecting may take; 5m by default for the first start of npx, uvx and docker. `$MCP_TIMEOUT`, in seconds, replaces the
    /// default.
    #[schemars(extend("default" = "1m"))]
    pub(in crate::config) init_timeout: Option<Span<0, 100>>,
    /// How long a call may go without an answer or progress.
    pub(in crate::config) call_tool_timeout: Span<120_000, 100>,
    /// How many requests the server has at a time. Others wait for their turn.
    pub(in crate::config) max_concurrent_requests: Option<WholeNumber<1, 100_000, 1>>,
    /// What is arranged with the authorization server of a remote server. Most servers need none of it: `mcpproxy upstream login NAME` is
    /// enough.
    pub(in crate::config) oauth: RawOAuth,
    /// Runs the stdio server in a container, through docker or podman.
    pub(in crate::config) isolation: RawIsolation,
    #[schemars(skip)]
    created: Apart,
    #[schemars(skip)]
    updated: Apart,
    #[schemars(skip)]
    name: Apart,
}

/// Keys that other programs write for themselves, and the name in a list.
const NOTES: [&str; 3] = ["created", "updated", "name"];

/// Every key of an entry that means something.
pub(in crate::config) fn entry_keys() -> &'static [&'static str] {
    static KEYS: LazyLock<Vec<&str>> = LazyLock::new(|| {
        let keys = spanned::keys_of::<RawEntry>().iter();
        keys.copied().filter(|key| !NOTES.contains(key)).collect()
    });
    &KEYS
}

/// Every spelling of `type`.
#[derive(Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(in crate::config) enum RawKind {
    Stdio,
    Http,
    StreamableHttp,
    #[serde(rename = "streamableHttp")]
    StreamableHttpInCamelCase,
    #[serde(rename = "streamable_http")]
    StreamableHttpInSnakeCase,
    Sse,
    Auto,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename = "$kind", rename_all = "lowercase")]
#[schemars(inline, untagged)]
pub(in crate::config) enum RawRoot {
    String(Text),
    Object(NamedRoot),
}

#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
pub(in crate::config) struct NamedRoot {
    /// file:// and a folder.
    pub(in crate::config) uri: Text,
    /// For people.
    pub(in crate::config) name: Option<Text>,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(inline)]
pub(in crate::config) struct RawOAuth {
    /// The id of a client that was registered beforehand, or the https address of a client id metadata document.
    pub(in crate::config) client_id: Option<Text>,
    /// Its secret, where it has one; best as ${VAR}.
    pub(in crate::config) client_secret: Option<Text>,
    /// The scopes to ask for. Default: those that the server names.
    pub(in crate::config) scopes: Vec<Word>,
    /// Where the browser is sent back to. Default: a free port of 127.0.0.1. A loopback address without port gets a free one; with any other,
    /// the address that the browser ends at is pasted into `upstream login`.
    pub(in crate::config) redirect_uri: Option<Text>,
    /// Parameters that the authorization server wants besides those of the protocol, such as `audience`; sent in the browser's address and in
    /// requests for tokens.
    pub(in crate::config) extra_params: Pairs<String, Word>,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub(in crate::config) struct RawIsolation {
    /// true where another key of this object is given; false wins over `docker_isolation`.
    pub(in crate::config) enabled: Option<bool>,
    /// By the command where absent: node:20 for npx.
    pub(in crate::config) image: Option<Text>,
    /// docker run --network: none, bridge, …
    pub(in crate::config) network_mode: Option<Text>,
    /// More arguments of docker run, such as -v for folders of this machine.
    pub(in crate::config) extra_args: Option<Vec<Word>>,
    /// The folder within the container.
    pub(in crate::config) working_dir: Option<Text>,
    /// Ignored.
    pub(in crate::config) log_driver: Option<Word>,
    /// Ignored.
    pub(in crate::config) log_max_size: Option<Word>,
    /// Ignored.
    pub(in crate::config) log_max_files: Option<Word>,
}

/// The entries, for the schema: they are read one by one, so that a fault in one disables only that.
pub(super) struct Servers;

impl JsonSchema for Servers {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "servers".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let server = generator.subschema_for::<RawEntry>();
        let name = json_schema!({ "type": "string", "pattern": ServerName::PATTERN });
        json_schema!({ "anyOf": [
            { "type": "object", "propertyNames": name, "additionalProperties": server },
            {
                "type": "array",
                "items": { "allOf": [server], "properties": { "name": name }, "required": ["name"] }
            }
        ] })
    }
}
