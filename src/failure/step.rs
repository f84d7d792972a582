//! What a person does next about a server, as data: the terminal, the page and REST each word it for themselves.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::names::as_argument;

/// What a person does next about a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum NextStep {
    /// Read its log, correct what that says, and restart it.
    ReadLog,
    /// Run its command by hand: it wrote nothing to its log.
    RunByHand,
    /// Store the secret that its entry refers to.
    SetSecret {
        /// The secret's name.
        name: String,
    },
    /// Set the variable that its entry refers to, where the daemon runs.
    SetVariable {
        /// The variable's name.
        name: String,
    },
    /// Log in to it.
    LogIn,
    /// Review it, or what is held of it.
    Review,
    /// Enable it.
    Enable,
    /// Restart it.
    Restart,
    /// Remove it.
    Remove,
    /// Find out how it is to be spoken to, by `"type": "auto"`.
    FindType,
    /// Give its calls more time.
    AllowLongerCalls,
    /// Correct its entry.
    FixEntry {
        /// What of it, in words that name the key; absent where the reason does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        how: Option<String>,
    },
    /// Something that mcpproxy cannot do.
    Act {
        /// What, in words.
        how: String,
    },
    /// Nothing: it is tried again.
    Wait,
    /// A step of a later version.
    #[serde(other)]
    Unknown,
}

impl NextStep {
    /// Something to correct in the entry, in words that name the key.
    pub fn fix(how: &str) -> Self {
        Self::FixEntry {
            how: Some(how.to_owned()),
        }
    }

    /// Something that mcpproxy cannot do.
    pub fn act(how: impl Into<String>) -> Self {
        Self::Act { how: how.into() }
    }

    /// With its words passed through this.
    #[must_use]
    pub fn shown(self, show: impl Fn(&str) -> String) -> Self {
        match self {
            Self::FixEntry { how: Some(how) } => Self::fix(&show(&how)),
            Self::Act { how } => Self::act(show(&how)),
            step => step,
        }
    }

    /// As a terminal says it.
    pub fn at_terminal(&self, server: &str) -> String {
        let server = as_argument(server);
        match self {
            Self::ReadLog => format!("`mcpproxy upstream logs {server}`"),
            Self::RunByHand => format!(
                "run the command that `mcpproxy upstream show {server}` prints: its log is empty"
            ),
            Self::SetSecret { name } => format!("`mcpproxy secret set {name}`"),
            Self::SetVariable { name } => format!("set {name} for the daemon, then restart it"),
            Self::LogIn => format!("`mcpproxy upstream login {server}`"),
            Self::Review => format!("`mcpproxy upstream inspect {server}`"),
            Self::Enable => format!("`mcpproxy upstream enable {server}`"),
            Self::Restart => format!("`mcpproxy upstream restart {server}`"),
            Self::Remove => format!("`mcpproxy upstream remove {server}`"),
            Self::FindType => format!(
                "check the path of its `url` (/mcp or /sse), or `mcpproxy upstream patch {server} type=auto`"
            ),
            Self::AllowLongerCalls => format!(
                "the call was cancelled; for longer ones: `mcpproxy upstream patch {server} call_tool_timeout=10m`"
            ),
            Self::FixEntry { how: Some(how) } | Self::Act { how } => how.clone(),
            Self::FixEntry { how: None } => "correct its entry: `mcpproxy config edit`".to_owned(),
            Self::Wait => "nothing to do: mcpproxy keeps trying".to_owned(),
            Self::Unknown => format!("`mcpproxy upstream show {server}`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::NextStep;

    #[test]
    fn a_step_reads_back_and_one_of_a_later_version_too() {
        let step = NextStep::SetSecret {
            name: "gh".to_owned(),
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
    fn a_name_that_looks_like_an_option_is_none() {
        let step = NextStep::LogIn.at_terminal("-x");
        assert_eq!(step, "`mcpproxy upstream login -- -x`");
    }
}
