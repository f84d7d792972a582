//! The closed list of codes of mcpproxy's own failures, which MCP results, REST, the command line and logs share: one table gives each its
//! HTTP status, exit code and JSON-RPC code.

use std::fmt;

use serde::{Serialize, Serializer};

/// JSON-RPC 2.0, 5.1: the params are wrong.
const RPC_PARAMS: i64 = -32602;

/// JSON-RPC 2.0, 5.1: an internal error.
const RPC_INTERNAL: i64 = -32603;

/// "Resource not found", up to revision 2025-11-25.
const RPC_RESOURCE: i64 = -32002;

/// The codes, each with its spelling, HTTP status, exit code and JSON-RPC code.
macro_rules! codes {
    ($($(#[$doc:meta])* $code:ident = $row:expr,)*) => {
        /// The kind of an own failure. An upstream's own errors pass unchanged and have no code here.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ErrorCode {
            $($(#[$doc])* $code,)*
        }

        impl ErrorCode {
            /// Every code there is.
            pub const ALL: &[Self] = &[$(Self::$code),*];

            fn row(self) -> (&'static str, u16, u8, i64) {
                match self {
                    $(Self::$code => $row,)*
                }
            }
        }
    };
}

codes! {
    /// The request itself is wrong: a missing or malformed argument.
    InvalidArguments = ("invalid_arguments", 400, 2, RPC_PARAMS),
    /// No server of that name is configured.
    UnknownServer = ("unknown_server", 404, 1, RPC_INTERNAL),
    /// The server is known, the tool is not.
    UnknownTool = ("unknown_tool", 404, 1, RPC_INTERNAL),
    /// No such prompt.
    UnknownPrompt = ("unknown_prompt", 404, 1, RPC_PARAMS),
    /// No such resource.
    UnknownResource = ("unknown_resource", 404, 1, RPC_RESOURCE),
    /// The server is switched off in the configuration.
    ServerDisabled = ("server_disabled", 409, 4, RPC_INTERNAL),
    /// The server's entry in the configuration is wrong.
    ServerMisconfigured = ("server_misconfigured", 409, 1, RPC_INTERNAL),
    /// The server waits for a person's approval.
    ServerQuarantined = ("server_quarantined", 403, 4, RPC_INTERNAL),
    /// The tool is switched off by `enabled_tools` or `disabled_tools`, or it is a built-in one and not switched on.
    ToolDisabled = ("tool_disabled", 403, 4, RPC_INTERNAL),
    /// The tool's definition is not the one that was approved or admitted.
    ToolChanged = ("tool_changed", 409, 4, RPC_INTERNAL),
    /// A tool, a prompt or a resource is held until you approve it.
    ToolHeld = ("tool_held", 403, 4, RPC_INTERNAL),
    /// The call was declared milder than the tool is.
    WrongVariant = ("wrong_variant", 403, 4, RPC_INTERNAL),
    /// Access rules say no.
    AccessDenied = ("access_denied", 403, 4, RPC_INTERNAL),
    /// Nobody knows who asks.
    Unauthorized = ("unauthorized", 401, 4, RPC_INTERNAL),
    /// The caller asks too often.
    RateLimited = ("rate_limited", 429, 1, RPC_INTERNAL),
    /// No profile of that name is configured.
    UnknownProfile = ("unknown_profile", 404, 1, RPC_INTERNAL),
    /// The activity log has no record of that number.
    UnknownRecord = ("unknown_record", 404, 1, RPC_INTERNAL),
    /// No token of this name was issued.
    UnknownToken = ("unknown_token", 404, 1, RPC_INTERNAL),
    /// A token of this name was issued already.
    TokenExists = ("token_exists", 409, 1, RPC_INTERNAL),
    /// A change of the configuration cannot be undone, or there is none.
    NotUndone = ("not_undone", 409, 1, RPC_INTERNAL),
    /// Nothing is kept under this key.
    UnknownKey = ("unknown_key", 404, 1, RPC_PARAMS),
    /// The server could not be started or reached.
    ServerUnavailable = ("server_unavailable", 502, 1, RPC_INTERNAL),
    /// A person has to log in to the server first, or again with more permissions.
    LoginRequired = ("login_required", 409, 1, RPC_INTERNAL),
    /// The connection ended while the call was in flight.
    ConnectionLost = ("connection_lost", 502, 1, RPC_INTERNAL),
    /// A deadline passed.
    TimedOut = ("timed_out", 504, 1, RPC_INTERNAL),
    /// The upstream's answer broke the protocol or a size limit.
    BadUpstreamAnswer = ("bad_upstream_answer", 502, 1, RPC_INTERNAL),
    /// The client cannot or did not answer a question of the server.
    QuestionUnanswered = ("question_unanswered", 409, 1, RPC_INTERNAL),
    /// A bound of mcpproxy was reached.
    Overloaded = ("overloaded", 503, 1, RPC_INTERNAL),
    /// A server of that name exists already.
    ServerExists = ("server_exists", 409, 1, RPC_INTERNAL),
    /// The server is there and has no entry in the configuration file that could be changed.
    NotInFile = ("not_in_file", 409, 1, RPC_INTERNAL),
    /// There is no page to log in to.
    PageNotServed = ("page_not_served", 409, 1, RPC_INTERNAL),
    /// There is no log to read.
    NoLog = ("no_log", 404, 1, RPC_INTERNAL),
    /// No secret of that name is kept.
    UnknownSecret = ("unknown_secret", 404, 1, RPC_INTERNAL),
    /// A secret of that name is kept already.
    SecretExists = ("secret_exists", 409, 1, RPC_INTERNAL),
    /// Secrets cannot be read or changed.
    KeyringUnavailable = ("keyring_unavailable", 503, 1, RPC_INTERNAL),
    /// No such AI client is known.
    UnknownClient = ("unknown_client", 404, 1, RPC_INTERNAL),
    /// The file of an AI client was left as it is.
    ClientUnchanged = ("client_unchanged", 409, 1, RPC_INTERNAL),
    /// The interface has no such path.
    UnknownPath = ("unknown_path", 404, 1, RPC_INTERNAL),
    /// The path has no such method.
    MethodNotAllowed = ("method_not_allowed", 405, 1, RPC_INTERNAL),
    /// The configuration file cannot be read, understood or written.
    ConfigUnusable = ("config_unusable", 500, 1, RPC_INTERNAL),
    /// The daemon is ending.
    ShuttingDown = ("shutting_down", 503, 1, RPC_INTERNAL),
    /// Only a daemon could do it, and none answers.
    DaemonUnreachable = ("daemon_unreachable", 503, 3, RPC_INTERNAL),
    /// A command needs your confirmation.
    NotConfirmed = ("not_confirmed", 403, 4, RPC_INTERNAL),
    /// A command failed at its terminal.
    CommandFailed = ("command_failed", 500, 1, RPC_INTERNAL),
    /// A fault of mcpproxy.
    Internal = ("internal", 500, 1, RPC_INTERNAL),
}

impl ErrorCode {
    /// The code's spelling on every wire.
    pub fn as_str(self) -> &'static str {
        self.row().0
    }

    /// HTTP status for REST answers.
    pub fn http_status(self) -> u16 {
        self.row().1
    }

    /// Exit code of the command line: 1 failed, 2 usage, 3 no daemon, 4 refused by policy.
    pub fn exit_code(self) -> u8 {
        self.row().2
    }

    /// Code of the JSON-RPC error, where a failure is one and not the result of a tool. For a resource that is not there it depends
    /// on the revision: `Revision::missing_resource_code` knows better for later ones.
    pub fn rpc_code(self) -> i64 {
        self.row().3
    }

    /// Whether the server may have processed a request that failed so.
    pub fn may_have_run(self) -> bool {
        matches!(
            self,
            Self::ConnectionLost | Self::TimedOut | Self::BadUpstreamAnswer
        )
    }

    /// Whether the texts of its failures say only why, and not what was not done.
    pub(super) fn says_why_alone(self) -> bool {
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
                | Self::Overloaded
                | Self::LoginRequired
                | Self::NotUndone
                | Self::UnknownProfile
                | Self::UnknownToken
                | Self::UnknownClient
        );
        is_refused || self.is_unknown_name()
    }

    /// Whether there is no server, tool, prompt or resource of the name.
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
}

impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::ErrorCode;

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
