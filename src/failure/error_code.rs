//! The closed list of codes for our own failures, shared by MCP results, REST, CLI and logs, and the one table that gives each its
//! HTTP status, exit code and JSON-RPC code.

use std::fmt;

use serde::{Serialize, ser::SerializeMap};

use super::step::NextStep;

/// The kind of an own failure. An upstream's own errors pass unchanged and have no code here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    /// The request itself is wrong: a missing or malformed argument.
    InvalidArguments,
    /// No server of that name is configured.
    UnknownServer,
    /// The server is known, the tool is not.
    UnknownTool,
    /// No such prompt.
    UnknownPrompt,
    /// No such resource.
    UnknownResource,
    /// The server is switched off in the configuration.
    ServerDisabled,
    /// The server's entry in the configuration is wrong.
    ServerMisconfigured,
    /// The server waits for a person's approval.
    ServerQuarantined,
    /// The tool is switched off by `enabled_tools` or `disabled_tools`, or it is a built-in one and not switched on.
    ToolDisabled,
    /// The tool's definition is not the one that was approved or admitted.
    ToolChanged,
    /// A tool, a prompt or a resource is held until you approve it.
    ToolHeld,
    /// The call was declared milder than the tool is.
    WrongVariant,
    /// Access rules say no.
    AccessDenied,
    /// Nobody knows who asks.
    Unauthorized,
    /// The caller asks too often.
    RateLimited,
    /// No profile of that name is configured.
    UnknownProfile,
    /// The activity log has no record of that number.
    UnknownRecord,
    /// No token of this name was issued.
    UnknownToken,
    /// A token of this name was issued already.
    TokenExists,
    /// A change of the configuration cannot be undone, or there is none.
    NotUndone,
    /// Nothing is kept under this key.
    UnknownKey,
    /// The server could not be started or reached.
    ServerUnavailable,
    /// A person has to log in to the server first, or again with more permissions.
    LoginRequired,
    /// The connection ended while the call was in flight.
    ConnectionLost,
    /// A deadline passed.
    TimedOut,
    /// The upstream's answer broke the protocol or a size limit.
    BadUpstreamAnswer,
    /// The client cannot or did not answer a question of the server.
    QuestionUnanswered,
    /// A bound of mcpproxy was reached.
    Overloaded,
    /// A server of that name exists already.
    ServerExists,
    /// The server is there and has no entry in the configuration file that could be changed.
    NotInFile,
    /// There is no page to log in to.
    PageNotServed,
    /// There is no log to read.
    NoLog,
    /// No secret of that name is kept.
    UnknownSecret,
    /// A secret of that name is kept already.
    SecretExists,
    /// Secrets cannot be read or changed.
    KeyringUnavailable,
    /// No such AI client is known.
    UnknownClient,
    /// The file of an AI client was left as it is.
    ClientUnchanged,
    /// The interface has no such path.
    UnknownPath,
    /// The path has no such method.
    MethodNotAllowed,
    /// The configuration file cannot be read, understood or written.
    ConfigUnusable,
    /// The daemon is ending.
    ShuttingDown,
    /// A fault of mcpproxy.
    Internal,
}

/// JSON-RPC 2.0, 5.1: the params are wrong.
const RPC_PARAMS: i64 = -32602;

/// JSON-RPC 2.0, 5.1: something else.
const RPC_INTERNAL: i64 = -32603;

/// "Resource not found", up to revision 2025-11-25.
const RPC_RESOURCE: i64 = -32002;

impl ErrorCode {
    /// The code's spelling on every wire.
    pub fn as_str(self) -> &'static str {
        self.row().0
    }

    /// HTTP status for REST answers.
    pub fn http_status(self) -> u16 {
        self.row().1
    }

    /// Exit code of the command line: 1 failed, 2 usage, 4 refused by policy.
    pub fn exit_code(self) -> u8 {
        self.row().2
    }

    /// Code of the JSON-RPC error, where a failure is one and not the result of a tool. For a resource that is not there it depends
    /// on the revision: `Revision::missing_resource_code` knows better for later ones.
    pub fn rpc_code(self) -> i64 {
        self.row().3
    }

    /// Whether its texts say why something cannot be had, and not what was asked of it.
    fn says_why_alone(self) -> bool {
        let is_refused = matches!(
            self,
            Self::ServerDisabled
                | Self::ServerMisconfigured
                | Self::ServerQuarantined
                | Self::ServerUnavailable
                | Self::ToolDisabled
                | Self::ToolChanged
                | Self::ToolHeld
                | Self::WrongVariant
                | Self::AccessDenied
                | Self::RateLimited
                | Self::LoginRequired
                | Self::NotUndone
        );
        let is_absent = matches!(
            self,
            Self::UnknownProfile | Self::UnknownToken | Self::UnknownClient
        );
        is_refused || is_absent || self.is_unknown_name()
    }

    /// Whether a server has no such thing, or is none.
    pub fn is_unknown_name(self) -> bool {
        matches!(
            self,
            Self::UnknownServer | Self::UnknownTool | Self::UnknownPrompt | Self::UnknownResource
        )
    }

    /// Reads [`ErrorCode::as_str`] back.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str() == text)
    }

    /// Every code there is.
    pub const ALL: &[Self] = &[
        Self::InvalidArguments,
        Self::UnknownServer,
        Self::UnknownTool,
        Self::UnknownPrompt,
        Self::UnknownResource,
        Self::ServerDisabled,
        Self::ServerMisconfigured,
        Self::ServerQuarantined,
        Self::ToolDisabled,
        Self::ToolChanged,
        Self::ToolHeld,
        Self::WrongVariant,
        Self::AccessDenied,
        Self::Unauthorized,
        Self::RateLimited,
        Self::UnknownProfile,
        Self::UnknownRecord,
        Self::UnknownToken,
        Self::TokenExists,
        Self::NotUndone,
        Self::UnknownKey,
        Self::ServerUnavailable,
        Self::LoginRequired,
        Self::ConnectionLost,
        Self::TimedOut,
        Self::BadUpstreamAnswer,
        Self::QuestionUnanswered,
        Self::Overloaded,
        Self::ServerExists,
        Self::NotInFile,
        Self::PageNotServed,
        Self::NoLog,
        Self::UnknownSecret,
        Self::SecretExists,
        Self::KeyringUnavailable,
        Self::UnknownClient,
        Self::ClientUnchanged,
        Self::UnknownPath,
        Self::MethodNotAllowed,
        Self::ConfigUnusable,
        Self::ShuttingDown,
        Self::Internal,
    ];

    /// spelling, HTTP status, exit code, JSON-RPC code
    fn row(self) -> (&'static str, u16, u8, i64) {
        match self {
            Self::InvalidArguments => ("invalid_arguments", 400, 2, RPC_PARAMS),
            Self::UnknownServer => ("unknown_server", 404, 1, RPC_INTERNAL),
            Self::UnknownTool => ("unknown_tool", 404, 1, RPC_INTERNAL),
            Self::UnknownPrompt => ("unknown_prompt", 404, 1, RPC_PARAMS),
            Self::UnknownResource => ("unknown_resource", 404, 1, RPC_RESOURCE),
            Self::ServerDisabled => ("server_disabled", 409, 4, RPC_INTERNAL),
            Self::ServerMisconfigured => ("server_misconfigured", 409, 1, RPC_INTERNAL),
            Self::ServerQuarantined => ("server_quarantined", 403, 4, RPC_INTERNAL),
            Self::ToolDisabled => ("tool_disabled", 403, 4, RPC_INTERNAL),
            Self::ToolChanged => ("tool_changed", 409, 4, RPC_INTERNAL),
            Self::ToolHeld => ("tool_held", 403, 4, RPC_INTERNAL),
            Self::WrongVariant => ("wrong_variant", 403, 4, RPC_INTERNAL),
            Self::AccessDenied => ("access_denied", 403, 4, RPC_INTERNAL),
            Self::Unauthorized => ("unauthorized", 401, 4, RPC_INTERNAL),
            Self::RateLimited => ("rate_limited", 429, 1, RPC_INTERNAL),
            Self::UnknownProfile => ("unknown_profile", 404, 1, RPC_INTERNAL),
            Self::UnknownRecord => ("unknown_record", 404, 1, RPC_INTERNAL),
            Self::UnknownToken => ("unknown_token", 404, 1, RPC_INTERNAL),
            Self::TokenExists => ("token_exists", 409, 1, RPC_INTERNAL),
            Self::NotUndone => ("not_undone", 409, 1, RPC_INTERNAL),
            Self::UnknownKey => ("unknown_key", 404, 1, RPC_PARAMS),
            Self::ServerUnavailable => ("server_unavailable", 502, 1, RPC_INTERNAL),
            Self::LoginRequired => ("login_required", 409, 1, RPC_INTERNAL),
            Self::ConnectionLost => ("connection_lost", 502, 1, RPC_INTERNAL),
            Self::TimedOut => ("timed_out", 504, 1, RPC_INTERNAL),
            Self::BadUpstreamAnswer => ("bad_upstream_answer", 502, 1, RPC_INTERNAL),
            Self::QuestionUnanswered => ("question_unanswered", 409, 1, RPC_INTERNAL),
            Self::Overloaded => ("overloaded", 503, 1, RPC_INTERNAL),
            Self::ServerExists => ("server_exists", 409, 1, RPC_INTERNAL),
            Self::NotInFile => ("not_in_file", 409, 1, RPC_INTERNAL),
            Self::PageNotServed => ("page_not_served", 409, 1, RPC_INTERNAL),
            Self::NoLog => ("no_log", 404, 1, RPC_INTERNAL),
            Self::UnknownSecret => ("unknown_secret", 404, 1, RPC_INTERNAL),
            Self::SecretExists => ("secret_exists", 409, 1, RPC_INTERNAL),
            Self::KeyringUnavailable => ("keyring_unavailable", 503, 1, RPC_INTERNAL),
            Self::UnknownClient => ("unknown_client", 404, 1, RPC_INTERNAL),
            Self::ClientUnchanged => ("client_unchanged", 409, 1, RPC_INTERNAL),
            Self::UnknownPath => ("unknown_path", 404, 1, RPC_INTERNAL),
            Self::MethodNotAllowed => ("method_not_allowed", 405, 1, RPC_INTERNAL),
            Self::ConfigUnusable => ("config_unusable", 500, 1, RPC_INTERNAL),
            Self::ShuttingDown => ("shutting_down", 503, 1, RPC_INTERNAL),
            Self::Internal => ("internal", 500, 1, RPC_INTERNAL),
        }
    }
}

/// An own failure as every face shows it: `{"error", "code", "server"?, "tool"?, "hint"}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What failed, with which thing. Never holds an upstream's log lines or paths of this machine.
    pub error: String,
    /// The kind.
    pub code: ErrorCode,
    /// The server it concerns.
    pub server: Option<String>,
    /// The tool it concerns, by the server's own name.
    pub tool: Option<Box<str>>,
    /// The next step, in words that a model or a person can act on.
    pub hint: String,
    /// The next step of whoever may run commands, where it is another.
    pub step: Option<Box<NextStep>>,
    /// The name that there is and that may have been meant.
    pub closest: Option<Box<str>>,
}

/// Limit: bytes of a sentence. Names that a client made up stand in it, and would come back whole otherwise.
const LONGEST_SENTENCE: usize = 2048;

/// Limit: bytes of a name that is repeated.
const LONGEST_NAME: usize = 256;

impl Failure {
    /// A failure that concerns no particular server.
    pub fn new(code: ErrorCode, error: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            error: cut(error.into(), LONGEST_SENTENCE),
            code,
            server: None,
            tool: None,
            hint: sentence(cut(hint.into(), LONGEST_SENTENCE)),
            step: None,
            closest: None,
        }
    }

    /// With what was not done before the reason, where that does not say it.
    #[must_use]
    pub fn undone(mut self, outcome: &str) -> Self {
        if self.code.says_why_alone() {
            self.error.insert_str(0, &format!("{outcome}: "));
        }
        self
    }

    /// Names the server.
    #[must_use]
    pub fn of_server(mut self, server: impl fmt::Display) -> Self {
        self.server = Some(cut(server.to_string(), LONGEST_NAME));
        self
    }

    /// With the step of whoever may run commands.
    #[must_use]
    pub fn with_step(mut self, step: NextStep) -> Self {
        self.step = Some(Box::new(step));
        self
    }

    /// With the step as a terminal words it; `hint` says as much without a command.
    #[must_use]
    pub fn at_terminal(self, step: impl Into<String>) -> Self {
        self.with_step(NextStep::act(step))
    }

    /// The next step of whoever is at a terminal.
    pub fn terminal_step(&self) -> String {
        let server = self.server.as_deref().unwrap_or_default();
        let step = self.step.as_ref().map(|step| step.at_terminal(server));
        self.or_meant(step)
    }

    /// With the hint of whoever uses the REST API.
    #[must_use]
    pub fn over_rest(self) -> Self {
        Self {
            hint: sentence(self.rest_step()),
            ..self
        }
    }

    fn rest_step(&self) -> String {
        let server = self.server.as_deref().unwrap_or_default();
        let step = self.step.as_ref().and_then(|step| step.over_rest(server));
        self.or_meant(step)
    }

    /// A step, with what may have been meant; the hint where there is none.
    fn or_meant(&self, step: Option<String>) -> String {
        match (step, &self.closest) {
            (Some(step), Some(meant)) => format!("Did you mean {meant}? {step}"),
            (Some(step), None) => step,
            (None, _) => self.hint.clone(),
        }
    }

    /// Names what may have been meant.
    #[must_use]
    pub fn with_closest(mut self, name: Option<&str>) -> Self {
        self.closest = name.map(Box::from);
        self
    }

    /// Names the tool.
    #[must_use]
    pub fn of_tool(mut self, tool: impl Into<String>) -> Self {
        self.tool = Some(cut(tool.into(), LONGEST_NAME).into());
        self
    }
}

/// A step in the form that follows "next step: " and stands beside a server: it begins with a small letter, and a single sentence ends
/// without a full stop. As the hint of a failure it is a sentence: see [`Failure::new`].
pub fn as_step(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().unwrap_or_default();
    let is_word = letters.clone().next().is_some_and(char::is_lowercase);
    let begun = if is_word && first.is_uppercase() {
        first.to_lowercase().chain(letters).collect()
    } else {
        text.to_owned()
    };
    match begun.strip_suffix('.') {
        Some(sentence) if !sentence.contains(". ") => sentence.to_owned(),
        _ => begun,
    }
}

/// A hint is a sentence wherever it was written, unless it begins with a command, a name or a sign.
pub fn sentence(text: String) -> String {
    let word = text.split([' ', ',', ':', ';']).next().unwrap_or_default();
    let is_word = !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase());
    let mut text = match text.split_at_checked(1) {
        Some((first, rest)) if is_word && word != "mcpproxy" => first.to_ascii_uppercase() + rest,
        _ => text,
    };
    if text.starts_with(char::is_alphabetic) && !text.ends_with(['.', '?', '…']) {
        text.push('.');
    }
    text
}

fn cut(mut text: String, longest: usize) -> String {
    if text.len() > longest {
        text.truncate(text.floor_char_boundary(longest));
        text.push('…');
    }
    text
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.error)
    }
}

impl std::error::Error for Failure {}

impl Serialize for Failure {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("error", &self.error)?;
        map.serialize_entry("code", self.code.as_str())?;
        if let Some(server) = &self.server {
            map.serialize_entry("server", server)?;
        }
        if let Some(tool) = &self.tool {
            map.serialize_entry("tool", tool)?;
        }
        map.serialize_entry("hint", &self.hint)?;
        if let Some(closest) = &self.closest {
            map.serialize_entry("closest", closest)?;
        }
        map.end()
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::{ErrorCode, Failure};

    #[test]
    fn a_name_of_megabytes_does_not_come_back() {
        let name = "ä".repeat(1_000_000);
        let failure = Failure::new(ErrorCode::UnknownServer, &name, &name)
            .of_server(&name)
            .of_tool(&name);
        let text = serde_json::to_string(&failure).expect("it can be written");
        assert!(text.len() < 6_000 && text.contains("ää…"), "{}", text.len());
    }

    #[test]
    fn the_page_on_errors_has_every_code_with_its_numbers_and_no_other() {
        let page = include_str!("../../docs/troubleshooting.md");
        let codes = page.split("\n## Without a code").next().expect("a part");
        let rows: Vec<(&str, &str)> = codes
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.split_once("` | "))
            .filter_map(|(code, rest)| Some((code, rest.split(" |").next()?)))
            .collect();
        for code in ErrorCode::ALL {
            let numbers = format!("{}, {}", code.http_status(), code.exit_code());
            let row = (code.as_str(), numbers.as_str());
            assert!(rows.contains(&row), "docs/troubleshooting.md lacks {row:?}");
        }
        assert_eq!(rows.len(), ErrorCode::ALL.len(), "{rows:?}");
    }

    #[test]
    fn every_code_reads_back() {
        for code in ErrorCode::ALL {
            assert_eq!(ErrorCode::parse(code.as_str()), Some(*code));
        }
        assert_eq!(ErrorCode::parse("nonsense"), None);
    }
}
