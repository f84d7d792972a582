//! A server of the configuration, checked and with its defaults. `resolve` makes it from the entry in the file.

use std::{collections::BTreeMap, fmt, path::PathBuf, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    Globs, Isolation, OAuth, ToolAcl, ToolFilter, document::present, duration,
    isolation::program_name,
};
use crate::text::{MASK, Secret, Secrets, ServerName};

/// A configured server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerEntry {
    /// Its name.
    pub name: ServerName,
    /// How to connect to it.
    pub transport: Transport,
    /// Whether it may be used at all.
    pub enabled: bool,
    /// Whether it waits for a person's approval.
    pub quarantined: bool,
    /// Who wrote the entry last (`changed_by`).
    pub changed_by: Author,
    /// When an unused connection is closed.
    pub idle_timeout: IdleTimeout,
    /// When mcpproxy connects.
    pub start: Start,
    /// Which clients share a connection.
    pub session_scope: SessionScope,
    /// Whether mcpproxy connects with or without a handshake.
    pub protocol_era: ProtocolEra,
    /// The answer to the server's request for roots.
    pub roots: Vec<Root>,
    /// Which of its tools are offered to clients.
    pub tools: ToolFilter,
    /// What happens when a tool's definition changes.
    pub tool_changes: ToolChanges,
    /// What happens to a tool that the server did not list before; nothing where the setting for all servers applies.
    pub new_tools: Option<NewTools>,
    /// A person's classification of its tools.
    pub tool_acl: ToolAcl,
    /// How long connecting may take.
    pub init_timeout: Duration,
    /// How long connecting may take the first time, when a package or an image may have to be downloaded.
    pub first_init_timeout: Duration,
    /// How long a call may go without an answer or progress.
    pub call_tool_timeout: Duration,
    /// How many requests may be in flight at once.
    pub max_concurrent_requests: Option<usize>,
    /// Changes exactly when a running connection has to be replaced. Derived from secrets: not for listings or logs.
    pub fingerprint: String,
    /// A hash of the entry as it is written, references unresolved. An approval names it, so that it does not apply to a text that was
    /// changed meanwhile.
    pub as_written: String,
    /// Texts to mask in everything that the server or a library writes.
    pub secrets: Secrets,
    /// `secrets` from before a secret got another value: a running connection still uses the old one.
    pub former_secrets: Secrets,
    /// Whether it refers to secrets of the keyring.
    pub uses_secrets: bool,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    /// A child process that speaks on its standard input and output.
    Stdio(Stdio),
    /// A server behind a URL.
    Remote(Remote),
}

/// A child process. `Debug` shows what listings show.
#[derive(Clone, PartialEq, Eq)]
pub struct Stdio {
    /// The program.
    pub command: String,
    /// Its arguments, one each; no shell splits them. They may hold secrets: see `shown_args`.
    pub args: Vec<String>,
    /// Variables on top of the inherited ones.
    pub env: BTreeMap<String, Secret>,
    /// The folder it starts in.
    pub cwd: Option<PathBuf>,
    /// `command` with secrets redacted.
    pub shown_command: String,
    /// `args` with secrets redacted.
    pub shown_args: Vec<String>,
    /// `command` and `args` as they are written, references by name. They may hold secrets: for checks that search them for dangerous
    /// commands, never for display.
    pub written_line: Vec<String>,
    /// `cwd` with secrets redacted.
    pub shown_cwd: Option<String>,
    /// The container that it runs in, if it does.
    pub isolation: Option<Isolation>,
    /// `isolation` with secrets redacted.
    pub shown_isolation: Option<Isolation>,
    /// `isolation` as it is written, with the same caution as `written_line`.
    pub written_isolation: Option<Box<Isolation>>,
}

/// Commands that may download a package or an image when they first run.
const DOWNLOADERS: &[&str] = &["npx", "uvx", "docker", "bunx", "pipx", "podman"];

impl Stdio {
    /// Whether its first start may download what it runs.
    pub fn may_download(&self) -> bool {
        self.isolation.is_some() || DOWNLOADERS.contains(&program_name(&self.command))
    }
}

/// A server behind a URL. `Debug` shows what listings show.
#[derive(Clone, PartialEq, Eq)]
pub struct Remote {
    /// Where it is. May hold secrets: see `shown_url`.
    pub url: String,
    /// `url` with secrets redacted.
    pub shown_url: String,
    /// Headers sent with every request, valid for HTTP.
    pub headers: Vec<(String, Secret)>,
    /// Certificates to trust besides the system's, PEM.
    pub ca_file: Option<PathBuf>,
    /// Our certificate and its key, PEM in one file.
    pub client_cert: Option<PathBuf>,
    /// `ca_file` and `client_cert`, under these keys, with secrets redacted.
    pub shown_files: Vec<(&'static str, String)>,
    /// Settings for logging in to it.
    pub oauth: OAuth,
    /// Whether `headers` have an `Authorization`; then no login is needed.
    pub is_authorized: bool,
    /// Which transport it speaks.
    pub kind: RemoteKind,
}

/// The transport of a remote server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoteKind {
    /// Streamable HTTP.
    Http,
    /// HTTP+SSE of 2024-11-05.
    Sse,
    /// Streamable HTTP, then HTTP+SSE.
    Auto,
}

/// The transport of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum TransportKind {
    /// The pipes of a program.
    Stdio,
    /// Streamable HTTP.
    Http,
    /// HTTP+SSE.
    Sse,
    /// Streamable HTTP, or HTTP+SSE where the server has only that.
    Auto,
}

impl fmt::Display for TransportKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl Transport {
    /// Its kind.
    pub fn kind(&self) -> TransportKind {
        match self {
            Self::Stdio(_) => TransportKind::Stdio,
            Self::Remote(remote) => match remote.kind {
                RemoteKind::Http => TransportKind::Http,
                RemoteKind::Sse => TransportKind::Sse,
                RemoteKind::Auto => TransportKind::Auto,
            },
        }
    }
}

/// Who wrote an entry last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Author {
    /// You, with an editor, the terminal or the web UI.
    #[default]
    Person,
    /// An agent, through MCP. While the entry is quarantined, mcpproxy does not start or contact the server.
    Agent,
}

/// When an unused connection is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdleTimeout {
    /// By how often it is used, within these bounds.
    Adaptive {
        /// The shortest.
        min: Duration,
        /// The longest; never below `min`.
        max: Duration,
    },
    /// It stays.
    Never,
    /// After this long.
    After(Duration),
}

/// When a server is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Start {
    /// With the first call.
    #[default]
    OnDemand,
    /// When the daemon starts; it stays connected.
    Eager,
}

/// Who shares a connection to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum SessionScope {
    /// All clients share one connection, until the server asks a client something or logs; from then on each client that can answer, or
    /// wants log lines, has its own.
    #[default]
    Auto,
    /// All clients share one connection.
    Shared,
    /// Each client has its own connection.
    Client,
    /// Clients with the same roots share one connection.
    Workspace,
}

/// How mcpproxy opens a server that may speak both with and without a handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ProtocolEra {
    /// Detected: with a handshake over stdio; over HTTP mcpproxy asks the server first.
    #[default]
    Auto,
    /// With a handshake.
    Legacy,
    /// Without a handshake.
    Modern,
}

/// A root that a server gets when it asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// Its URI.
    pub uri: String,
    /// A name to display.
    pub name: Option<String>,
}

/// What happens when the definition of a trusted server's tool changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ToolChanges {
    /// The tool is held until you approve it.
    #[default]
    Hold,
    /// The new definition is usable at once.
    Allow,
}

/// What happens to a tool that a trusted server did not list before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum NewTools {
    /// The tool is held until you approve it.
    Hold,
    /// The tool is usable at once, unless the scanner finds it dangerous.
    #[default]
    Allow,
}

impl ServerEntry {
    /// The entry as listings show it, under the configuration's own keys, everything secret as `***`.
    pub fn shown(&self) -> Value {
        let mut shown = present(json!({ "name": self.name, "type": self.transport.kind() }));
        shown.extend(match &self.transport {
            Transport::Stdio(stdio) => present(json!({
                "command": stdio.shown_command,
                "args": stdio.shown_args,
                "env": redacted(stdio.env.keys()),
                "cwd": stdio.shown_cwd,
                "isolation": stdio.shown_isolation.as_ref().map(Isolation::as_json),
            })),
            Transport::Remote(remote) => {
                let mut shown = present(json!({
                    "url": remote.shown_url,
                    "headers": redacted(remote.headers.iter().map(|(name, _)| name)),
                }));
                let files = remote.shown_files.iter();
                shown.extend(files.map(|(key, file)| ((*key).to_owned(), json!(file))));
                let oauth = Some(&remote.oauth).filter(|oauth| !oauth.is_empty());
                shown.extend(oauth.map(|oauth| ("oauth".to_owned(), oauth.shown.clone())));
                shown
            }
        });
        let (scope, era, author) = (self.session_scope, self.protocol_era, self.changed_by);
        let disabled = self.tools.disabled.patterns();
        let roots: Vec<&str> = self.roots.iter().map(|root| root.uri.as_str()).collect();
        shown.extend(present(json!({
            "enabled": self.enabled,
            "quarantined": self.quarantined,
            "idle_timeout": self.idle_timeout.to_string(),
            "start": self.start,
            "session_scope": Some(scope).filter(|scope| *scope != SessionScope::Auto),
            "protocol_era": Some(era).filter(|era| *era != ProtocolEra::Auto),
            "enabled_tools": self.tools.enabled.as_ref().map(Globs::patterns),
            "disabled_tools": Some(disabled).filter(|globs| !globs.is_empty()),
            "tool_changes": self.tool_changes,
            "new_tools": self.new_tools,
            "init_timeout": duration::show(self.init_timeout),
            "call_tool_timeout": duration::show(self.call_tool_timeout),
            "max_concurrent_requests": self.max_concurrent_requests,
            "roots": Some(roots).filter(|roots| !roots.is_empty()),
            "changed_by": Some(author).filter(|author| *author == Author::Agent),
        })));
        shown.into()
    }
}

/// Names with every value redacted.
fn redacted<'a>(names: impl Iterator<Item = &'a String>) -> Value {
    names
        .map(|name| (name.clone(), json!(MASK)))
        .collect::<Map<_, _>>()
        .into()
}

impl fmt::Display for IdleTimeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Adaptive { .. } => f.write_str("adaptive"),
            Self::Never => f.write_str("never"),
            Self::After(time) => f.write_str(&duration::show(*time)),
        }
    }
}

impl fmt::Debug for Stdio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stdio")
            .field("command", &self.shown_command)
            .field("args", &self.shown_args)
            .field("env", &self.env)
            .field("cwd", &self.shown_cwd)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote")
            .field("url", &self.shown_url)
            .field("headers", &self.headers)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}
