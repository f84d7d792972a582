//! The next step of a person as data, which the terminal, the web UI and REST each put into words.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::{
    names::{ServerName, as_argument},
    percent::encoded,
};

/// The next step. It concerns the server of its row or failure, unless it has a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum NextStep {
    /// Read its log, correct the cause, and restart it.
    ReadLog,
    /// Run its command by hand: it wrote nothing to its log.
    RunByHand,
    /// Store the secret to which its entry refers.
    SetSecret {
        /// The secret's name.
        name: Box<str>,
        /// The names of the others that are missing, too.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        also: Vec<Box<str>>,
    },
    /// Set the variable to which its entry refers, in the daemon's environment.
    SetVariable {
        /// The variable's name.
        name: Box<str>,
        /// The names of the others that are missing, too.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        also: Vec<Box<str>>,
    },
    /// Log in to it.
    LogIn,
    /// Review it, or its held definitions.
    Review,
    /// Enable it.
    Enable,
    /// Restart it.
    Restart,
    /// Remove it.
    Remove,
    /// Check the path of its `url`, or let `"type": "auto"` find the transport.
    FindType,
    /// Check whether the call has run, then give its calls more time.
    AllowLongerCalls {
        /// Twice the `call_tool_timeout` in force.
        #[serde(default)]
        limit: Box<str>,
    },
    /// Check whether the call has run, then look at the server.
    CheckCall {
        /// Whether it has a log to look at.
        has_log: bool,
    },
    /// Show its entry.
    ShowServer,
    /// List its tools, or all tools where no server is named.
    ShowTools,
    /// Call the tool again with this call type.
    CallAs {
        /// The call type: `read`, `write` or `destructive`.
        variant: Box<str>,
        /// The tool's name.
        tool: Box<str>,
    },
    /// Show one of its tools.
    ShowTool {
        /// The tool's name.
        tool: Box<str>,
    },
    /// List the servers.
    ShowServers,
    /// List the profiles.
    ShowProfiles,
    /// List the secrets.
    ShowSecrets,
    /// List the tokens.
    ShowTokens,
    /// List the changes of the configuration.
    ShowChanges,
    /// List the records of the activity log.
    ShowRecords,
    /// Check the configuration.
    CheckConfig,
    /// Correct the value; the schema describes every key.
    DescribeConfig,
    /// Connect the client, then move its servers.
    ConnectClient {
        /// The client's name in commands and paths.
        client: Box<str>,
    },
    /// Correct its entry.
    FixEntry {
        /// What to correct; absent if the reason says it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        how: Option<Box<str>>,
        /// The key to correct; absent if there are several, or none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Box<str>>,
    },
    /// Another step.
    Act {
        /// The step in words.
        how: Box<str>,
        /// The same for whoever uses the REST API, if the words name a command.
        #[serde(skip)]
        request: Option<Box<str>>,
    },
    /// To wait: mcpproxy tries again.
    Wait,
    /// A step of a later version.
    #[serde(other)]
    Unknown,
}

/// What comes first where nobody knows whether a call has run.
const CHECK: &str = "check whether the call ran before you repeat it";

impl NextStep {
    /// Correct the entry, as the reason says.
    pub const FIX: Self = Self::FixEntry {
        how: None,
        key: None,
    };

    /// How to correct an entry whose server refuses what mcpproxy sends.
    pub const CREDENTIALS: &'static str = "correct or add the credentials in its `headers`";

    /// Correct the entry, in words that name the key.
    pub fn fix(how: &str) -> Self {
        Self::FixEntry {
            how: Some(how.into()),
            key: None,
        }
    }

    /// With what `other` names, too, where both store secrets or both set variables.
    pub fn join(&mut self, other: Self) {
        if let (Self::SetSecret { name, also }, Self::SetSecret { name: other, .. })
        | (Self::SetVariable { name, also }, Self::SetVariable { name: other, .. }) =
            (self, other)
            && *name != other
            && !also.contains(&other)
        {
            also.push(other);
        }
    }

    /// How to set these variables for the daemon, in the words of a terminal.
    pub fn set_variables(names: impl IntoIterator<Item: fmt::Display>) -> String {
        let all = names.into_iter().map(|name| format!("{name}=VALUE"));
        let all = all.collect::<Vec<_>>().join(" ");
        // A service of systemd does not have the variables of a shell.
        if std::env::var_os("NOTIFY_SOCKET").is_some() {
            return format!(
                "add {all} to mcpproxy.env next to the configuration file, then `mcpproxy restart`"
            );
        }
        format!("`export {all}`, then `mcpproxy restart` in the same shell")
    }

    /// Correct one key of the entry, which a command can change.
    pub fn fix_key(key: &str, how: &str) -> Self {
        Self::FixEntry {
            how: Some(how.into()),
            key: Some(key.into()),
        }
    }

    /// Whether it only shows what there is, which is less than another may know.
    pub const fn only_shows(&self) -> bool {
        matches!(self, Self::ShowServer | Self::ShowTools | Self::Review)
    }

    /// Whether the server waits for a value or a login. That is no failure.
    pub const fn ends_a_wait(&self) -> bool {
        matches!(
            self,
            Self::SetSecret { .. } | Self::SetVariable { .. } | Self::LogIn
        )
    }

    /// What the server lacks until this is done, in words for a model.
    pub const fn lacking(&self) -> Option<&'static str> {
        match self {
            Self::SetSecret { .. } => Some("a secret"),
            Self::SetVariable { .. } => Some("a variable"),
            _ => None,
        }
    }

    /// Another step, in the words of a terminal.
    pub fn act(how: impl Into<String>) -> Self {
        let (how, request) = (how.into().into_boxed_str(), None);
        Self::Act { how, request }
    }

    /// With words for the REST API, where it has none.
    #[must_use]
    pub fn or_request(self, words: impl Into<Box<str>>) -> Self {
        match self {
            Self::Act { how, request: None } => Self::Act {
                how,
                request: Some(words.into()),
            },
            step => step,
        }
    }

    /// With the same words over REST where it has none for that. They name no command.
    #[must_use]
    pub fn for_all(self) -> Self {
        match self {
            Self::Act { how, request: None } => Self::act(&*how).or_request(how),
            step => step,
        }
    }

    /// The same in words without commands, where it has some.
    #[must_use]
    pub fn without_commands(self) -> Self {
        match self {
            Self::Act {
                request: Some(words),
                ..
            } => Self::act(words.clone()).or_request(words),
            step => step,
        }
    }

    /// With its words passed through this. A command of which that hides a part gives way to words.
    #[must_use]
    pub fn shown(self, show: impl Fn(&str) -> String) -> Self {
        match self {
            Self::FixEntry { how, key } => Self::FixEntry {
                how: how.map(|how| show(&how).into()),
                key,
            },
            Self::Act {
                how,
                request: Some(words),
            } if show(&how) != *how => Self::act(show(&words)).for_all(),
            Self::Act { how, request } => Self::Act {
                how: show(&how).into(),
                request,
            },
            step => step,
        }
    }

    /// The step in the words of a terminal.
    pub fn at_terminal(&self, server: &str) -> String {
        let name = server;
        let server = as_argument(server);
        match self {
            Self::ReadLog => format!("`mcpproxy upstream logs {server}`"),
            Self::RunByHand => format!(
                "run its command by hand to see why: `mcpproxy upstream show {server}` prints it"
            ),
            Self::SetSecret { name, also } => {
                each(name, also, |name| format!("`mcpproxy secret set {name}`")).join(", ")
            }
            Self::SetVariable { name, also } => {
                Self::set_variables(each(name, also, str::to_owned))
            }
            Self::LogIn => format!("`mcpproxy upstream login {server}`"),
            Self::Review => format!("`mcpproxy upstream inspect {server}`"),
            Self::Enable => format!("`mcpproxy upstream enable {server}`"),
            Self::Restart => format!("`mcpproxy upstream restart {server}`"),
            Self::Remove => format!("`mcpproxy upstream remove {server}`"),
            Self::FindType => format!(
                "check the path of its `url` (/mcp or /sse), or `mcpproxy upstream patch {server} type=auto`"
            ),
            Self::AllowLongerCalls { limit } => format!(
                "{CHECK}; for longer calls: `mcpproxy upstream patch {server} call_tool_timeout={limit}`"
            ),
            Self::CheckCall { has_log: true } => {
                format!("{CHECK}; `mcpproxy upstream logs {server}` shows its log")
            }
            Self::CheckCall { has_log: false } => {
                format!("{CHECK}; `mcpproxy upstream show {server}` shows its state")
            }
            Self::ShowServer => format!("`mcpproxy upstream show {server}` shows its entry"),
            Self::ShowTools if server.is_empty() => {
                "`mcpproxy tools list` lists all tools".to_owned()
            }
            Self::ShowTools => format!("`mcpproxy tools list {server}` lists the tools of {name}"),
            Self::CallAs { variant, tool } => {
                let thing = format!("{name}:{tool}");
                let thing = as_argument(&thing);
                format!(
                    "if you want that: `mcpproxy call {variant} {thing}`, with the same arguments"
                )
            }
            Self::ShowTool { tool } => {
                let thing = format!("{name}:{tool}");
                let thing = as_argument(&thing);
                format!("`mcpproxy tools show {thing}` shows its arguments")
            }
            Self::ShowServers => "`mcpproxy upstream list` shows the configured servers".to_owned(),
            Self::ShowProfiles => "`mcpproxy config get profiles` lists the profiles".to_owned(),
            Self::ShowSecrets => "`mcpproxy secret list` lists the secrets".to_owned(),
            Self::ShowTokens => "`mcpproxy token list` lists the tokens".to_owned(),
            Self::ShowChanges => "`mcpproxy config history` lists the changes".to_owned(),
            Self::ShowRecords => {
                "`mcpproxy activity list` shows the records that are kept".to_owned()
            }
            Self::CheckConfig => "`mcpproxy config edit`".to_owned(),
            Self::DescribeConfig => {
                "correct that; `mcpproxy config schema` describes every key".to_owned()
            }
            Self::ConnectClient { client } => {
                format!("`mcpproxy connect {client}`, then `mcpproxy import {client} --move`")
            }
            Self::FixEntry {
                how: Some(how),
                key: Some(key),
            } if !server.is_empty() => {
                let value = match &**key {
                    "url" | "oauth.redirect_uri" => "URL",
                    "oauth.client_id" => "ID",
                    "headers.Authorization" => "null",
                    "cwd" => "DIR",
                    "init_timeout" => "5m",
                    "protocol_era" => "auto",
                    "command" => "PROGRAM",
                    _ => "FILE",
                };
                format!("{how}: `mcpproxy upstream patch {server} {key}={value}`")
            }
            Self::FixEntry { how: Some(how), .. } | Self::Act { how, .. } => how.to_string(),
            Self::FixEntry { how: None, .. } => {
                "correct its entry: `mcpproxy config edit`".to_owned()
            }
            Self::Wait => "try again later".to_owned(),
            Self::Unknown => format!("`mcpproxy upstream show {server}`"),
        }
    }

    /// The step as a request of the REST API, if there is one.
    pub fn over_rest(&self, server: &str) -> Option<String> {
        let is_misnamed = !server.is_empty() && ServerName::parse(server).is_err();
        let server = encoded(server);
        Some(match self {
            Self::ReadLog => format!("GET /api/v1/servers/{server}/logs shows its log."),
            Self::LogIn => format!("POST /api/v1/servers/{server}/login begins a login."),
            Self::Review => format!("GET /api/v1/servers/{server}/inspect shows what is held."),
            Self::Enable => format!("POST /api/v1/servers/{server}/enable enables it."),
            Self::Restart => format!("POST /api/v1/servers/{server}/restart restarts it."),
            Self::Remove => format!("DELETE /api/v1/servers/{server} removes it."),
            Self::RunByHand => "Its log is empty: run its command by hand.".to_owned(),
            Self::SetVariable { name, also } => {
                let names = each(name, also, str::to_owned).join(" and ");
                format!("Set {names} in the daemon's environment, then restart the daemon.")
            }
            Self::FindType => format!(
                "Check the path of its `url` (/mcp or /sse), or set `type` to auto with PATCH /api/v1/servers/{server}."
            ),
            Self::AllowLongerCalls { limit } => {
                let body = format!(r#"{{"call_tool_timeout": "{limit}"}}"#);
                format!("{CHECK}; for longer calls, PATCH /api/v1/servers/{server} with {body}")
            }
            Self::CheckCall { .. } => {
                format!("{CHECK}; GET /api/v1/servers/{server} shows its state")
            }
            Self::FixEntry { .. } if is_misnamed => {
                format!("Add it under another name, then DELETE /api/v1/servers/{server}.")
            }
            Self::FixEntry { how, .. } => {
                let how = how.as_deref().unwrap_or("correct its entry");
                format!("{how}: PATCH /api/v1/servers/{server}.")
            }
            Self::Wait => "Try again later.".to_owned(),
            Self::SetSecret { name, also } => {
                let put = |name: &str| format!("PUT /api/v1/secrets/{} stores it", encoded(name));
                each(name, also, put).join(", ") + "."
            }
            Self::ShowServer => format!("GET /api/v1/servers/{server} shows the server."),
            Self::ShowTools => "GET /api/v1/tools lists the tools.".to_owned(),
            Self::CallAs { variant, .. } => {
                format!("If you want that, send `variant` as {variant}.")
            }
            Self::ShowTool { tool } => {
                let tool = encoded(tool);
                format!("GET /api/v1/tools/show?name={server}:{tool} shows its arguments.")
            }
            Self::ShowServers => "GET /api/v1/servers lists the servers.".to_owned(),
            Self::ShowProfiles => "GET /api/v1/config shows the profiles.".to_owned(),
            Self::ShowSecrets => "GET /api/v1/secrets lists the secrets.".to_owned(),
            Self::ShowTokens => "GET /api/v1/tokens lists the tokens.".to_owned(),
            Self::ShowChanges => "GET /api/v1/config/history lists the changes.".to_owned(),
            Self::ShowRecords => "GET /api/v1/activity lists the records.".to_owned(),
            Self::CheckConfig => "Correct the configuration file.".to_owned(),
            Self::DescribeConfig => {
                "Correct that, then try again; GET /api/v1/config/schema describes every key."
                    .to_owned()
            }
            Self::ConnectClient { client } => {
                format!("POST /api/v1/clients/{client}/connect connects it.")
            }
            Self::Act { request, .. } => return request.as_deref().map(str::to_owned),
            Self::Unknown => return None,
        })
    }
}

/// The first name and the others, each in these words.
fn each(first: &str, others: &[Box<str>], words: impl Fn(&str) -> String) -> Vec<String> {
    let names = std::iter::once(first).chain(others.iter().map(AsRef::as_ref));
    names.map(words).collect()
}

#[cfg(test)]
mod tests {
    use super::NextStep;

    #[test]
    fn a_step_reads_back_and_one_of_a_later_version_too() {
        let step = NextStep::SetSecret {
            name: "gh".into(),
            also: Vec::new(),
        };
        let text = serde_json::to_string(&step).expect("JSON");
        assert_eq!(text, r#"{"do":"set_secret","name":"gh"}"#);
        for (text, expected) in [
            (&*text, step),
            (r#"{"do":"dance","to":1}"#, NextStep::Unknown),
        ] {
            let read: NextStep = serde_json::from_str(text).expect("a step");
            assert_eq!(read, expected);
        }
    }

    #[test]
    fn a_key_to_correct_comes_with_the_command_that_does_it() {
        let step = NextStep::fix_key("command", "correct the path in `command`");
        let typed = "correct the path in `command`: `mcpproxy upstream patch demo command=PROGRAM`";
        assert_eq!(step.at_terminal("demo"), typed);
        assert_eq!(step.at_terminal(""), "correct the path in `command`");
        for (key, value) in [("cwd", "DIR"), ("ca_file", "FILE")] {
            let step = NextStep::fix_key(key, "correct it").at_terminal("demo");
            let typed = format!("correct it: `mcpproxy upstream patch demo {key}={value}`");
            assert_eq!(step, typed);
        }
    }

    #[test]
    fn an_entry_under_a_name_that_no_server_can_have_is_added_under_another() {
        for (name, request) in [
            ("a", "correct its entry: PATCH /api/v1/servers/a."),
            (
                "a b",
                "Add it under another name, then DELETE /api/v1/servers/a%20b.",
            ),
        ] {
            assert_eq!(NextStep::FIX.over_rest(name).as_deref(), Some(request));
        }
    }

    #[test]
    fn a_command_of_which_a_part_is_hidden_gives_way_to_words() {
        let step = || NextStep::act("`chmod +x /a/b`").or_request("make it executable");
        let whole = step().shown(str::to_owned);
        assert_eq!(whole, step());
        let hidden = step().shown(|text| text.replace("/a", "***"));
        assert_eq!(hidden.at_terminal(""), "make it executable");
    }

    #[test]
    fn a_name_that_looks_like_an_option_is_none() {
        let step = NextStep::LogIn.at_terminal("-x");
        assert_eq!(step, "`mcpproxy upstream login -- -x`");
        let step = NextStep::LogIn.at_terminal("a b");
        assert_eq!(step, "`mcpproxy upstream login 'a b'`");
    }
}
