//! The keys of an entry of `mcpServers`, with their types, defaults and documentation.

use std::{borrow::Cow, sync::LazyLock};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::{
    config::{
        Author, Globs, NewTools, ProtocolEra, SessionScope, Start, ToolAcl, ToolChanges,
        references::Text,
        spanned,
        values::{Apart, Pairs, RawVariables, Scalar, Span, WholeNumber, Word},
    },
    text::ServerName,
};

#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "server")]
pub(in crate::config) struct RawEntry {
    /// The program of a stdio server.
    pub(in crate::config) command: Option<Text>,
    /// The arguments of the program; no shell splits them.
    pub(in crate::config) args: Vec<Word>,
    /// Environment variables of the server.
    pub(in crate::config) env: RawVariables,
    /// The folder in which the server starts. A relative path is relative to the folder of this file.
    pub(in crate::config) cwd: Option<Text>,
    /// Another name for cwd.
    pub(in crate::config) working_dir: Option<Text>,
    /// The URL of a remote server.
    pub(in crate::config) url: Option<Text>,
    /// Headers of each request to a remote server.
    pub(in crate::config) headers: Pairs<String, Word>,
    /// A file of certificates to trust, in addition to the system's.
    pub(in crate::config) ca_file: Option<Text>,
    /// A file with mcpproxy's client certificate and its key.
    pub(in crate::config) client_cert: Option<Text>,
    /// The transport. By default stdio for a command, http for a url, auto for a url that ends in /sse.
    #[serde(rename = "type")]
    pub(in crate::config) kind: Option<WrittenTransport>,
    /// Another name for type.
    pub(in crate::config) protocol: Option<WrittenTransport>,
    /// Another name for type.
    pub(in crate::config) transport: Option<WrittenTransport>,
    /// Whether agents can use the server.
    #[schemars(extend("default" = true))]
    pub(in crate::config) enabled: Option<bool>,
    /// The inverse of enabled.
    pub(in crate::config) disabled: Option<bool>,
    /// Whether the server waits for your approval; until then, agents cannot use it.
    pub(in crate::config) quarantined: bool,
    /// The last author of the entry. While an agent's entry is quarantined, mcpproxy starts or contacts the server, and resolves the
    /// entry's references, only for `mcpproxy upstream inspect --connect`.
    pub(in crate::config) changed_by: Author,
    /// Idle time before mcpproxy closes the connection: adaptive (default for stdio), never (default for remote servers), or a duration.
    pub(in crate::config) idle_timeout: Option<Scalar>,
    /// The shortest adaptive idle timeout.
    #[schemars(extend("default" = "1m"))]
    pub(in crate::config) min_idle_timeout: Option<Span<0, 1_000>>,
    /// The longest adaptive idle timeout.
    #[schemars(extend("default" = "5m"))]
    pub(in crate::config) max_idle_timeout: Option<Span<0, 1_000>>,
    /// The time to connect. `on_demand`: for calls, and once to list the tools. `eager`: when the daemon starts; the connection stays open.
    pub(in crate::config) start: Start,
    /// The clients that share a connection. auto: all; if the server asks questions or sends log lines, clients that need their own
    /// connection get one. shared: all. client: none. workspace: those with the same roots.
    pub(in crate::config) session_scope: SessionScope,
    /// The era of the protocol for a server that supports both. legacy: with a handshake. modern: without. auto: legacy over stdio; over
    /// HTTP, the era of each client if the server can serve both at once, else modern.
    pub(in crate::config) protocol_era: ProtocolEra,
    /// The roots that the server gets when it asks: absolute paths or URIs.
    pub(in crate::config) roots: Vec<RawRoot>,
    /// Globs of the server's tool names; mcpproxy offers only these tools.
    pub(in crate::config) enabled_tools: Option<Globs>,
    /// Globs of the server's tool names; mcpproxy never offers these tools.
    pub(in crate::config) disabled_tools: Globs,
    /// Whether a tool whose definition changed is held until you approve it (hold), or usable at once (allow). With allow, dangerous
    /// findings hold nothing of this server, not even new tools.
    pub(in crate::config) tool_changes: ToolChanges,
    /// Whether agents can use new tools of this server at once, except those with dangerous findings (allow), or only after you approve
    /// them (hold). Default: the top-level `new_tools`.
    pub(in crate::config) new_tools: Option<NewTools>,
    /// Your classification of tools. It overrides their names, descriptions and annotations, except destructiveHint: true.
    pub(in crate::config) tool_acl: ToolAcl,
    /// Time limit for a connection attempt; by default 5m in a container, and for the first start of npx, uvx, bunx, pipx, docker and
    /// podman. `$MCP_TIMEOUT`, in seconds, replaces the default.
    #[schemars(extend("default" = "1m"))]
    pub(in crate::config) init_timeout: Option<Span<0, 100>>,
    /// Time limit for a call without an answer or progress.
    pub(in crate::config) call_tool_timeout: Span<120_000, 100>,
    /// Maximum number of requests to the server at a time; others wait for their turn. By default no limit.
    pub(in crate::config) max_concurrent_requests: Option<WholeNumber<1, 100_000, 1>>,
    /// Settings for the login to a remote server. Most servers need none of them: `mcpproxy upstream login NAME` is enough.
    pub(in crate::config) oauth: RawOAuth,
    /// Runs the stdio server in a container, with docker or podman.
    pub(in crate::config) isolation: RawIsolation,
    #[schemars(skip)]
    created: Apart,
    #[schemars(skip)]
    updated: Apart,
    #[schemars(skip)]
    name: Apart,
}

/// Keys that have no effect: notes of other programs, and the name of an entry in an array, which is read elsewhere.
const NOTES: [&str; 3] = ["created", "updated", "name"];

/// Every key of an entry that has an effect.
pub(in crate::config) fn entry_keys() -> &'static [&'static str] {
    static KEYS: LazyLock<Vec<&str>> = LazyLock::new(|| {
        let keys = spanned::keys_of::<RawEntry>().iter();
        keys.copied().filter(|key| !NOTES.contains(key)).collect()
    });
    &KEYS
}

/// Every spelling of `type`.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
#[expect(missing_docs, reason = "the schema would repeat them per spelling")]
pub enum WrittenTransport {
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
    /// A folder as a file:// URI.
    pub(in crate::config) uri: Text,
    /// A name to display.
    pub(in crate::config) name: Option<Text>,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(inline)]
pub(in crate::config) struct RawOAuth {
    /// The id of a client that you registered beforehand, or the https URL of a client id metadata document.
    pub(in crate::config) client_id: Option<Text>,
    /// The client's secret, if it has one; best as ${keyring:NAME}.
    pub(in crate::config) client_secret: Option<Text>,
    /// The scopes to request. Default: those that the server names.
    pub(in crate::config) scopes: Vec<Word>,
    /// The URI to which the browser returns. Default: a free port of 127.0.0.1. A loopback address without a port gets a free one. With any
    /// other host, paste the browser's final URL into `upstream login`.
    pub(in crate::config) redirect_uri: Option<Text>,
    /// Additional parameters that the authorization server needs, such as `audience`. mcpproxy adds them to the browser's URL and to
    /// requests for tokens.
    pub(in crate::config) extra_params: Pairs<String, Word>,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub(in crate::config) struct RawIsolation {
    /// Whether to use a container. By default true if another key of this object is set; false overrides `docker_isolation`.
    pub(in crate::config) enabled: Option<bool>,
    /// The container's image. By default it depends on the command: node:20 for npx.
    pub(in crate::config) image: Option<Text>,
    /// The value of docker run --network: none, bridge, …
    pub(in crate::config) network_mode: Option<Text>,
    /// Additional arguments for docker run, such as -v for folders on this machine.
    pub(in crate::config) extra_args: Option<Vec<Word>>,
    /// The folder inside the container.
    pub(in crate::config) working_dir: Option<Text>,
    /// A key of mcpproxy-go, ignored.
    pub(in crate::config) log_driver: Option<Word>,
    /// A key of mcpproxy-go, ignored.
    pub(in crate::config) log_max_size: Option<Word>,
    /// A key of mcpproxy-go, ignored.
    pub(in crate::config) log_max_files: Option<Word>,
}

/// The schema of `mcpServers`. Its entries are read one by one, so that a mistake in one disables only that one.
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
