//! The token that an entry sends: in a header, in the arguments of its program, or in a variable. Pure.

use serde_json::Value;

use super::servers::ClientServer;

/// The variable of a client's environment that has its token.
pub const TOKEN_VARIABLE: &str = "MCPPROXY_TOKEN";

/// The keys of the variables of a program.
const VARIABLES: [&str; 3] = ["env", "envs", "environment"];

/// How the arguments of a program show that they have a token, whatever the program is.
const MARKS: [&str; 4] = ["--token", "mcpproxy_token", "bearer", "authorization"];

/// What an entry sends as its token, and whether an entry of another form can send it, too.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum SentToken {
    /// Nothing.
    #[default]
    Nothing,
    /// This text, which may be a reference where it stands with a program.
    Written(String),
    /// The value of [`TOKEN_VARIABLE`], which our program finds by itself.
    Variable,
    /// A token that only this form of the entry can send: another variable, or something in the arguments of another program.
    Bound,
}

impl ClientServer {
    /// The token that is written in it.
    pub(super) fn token(&self) -> Option<&str> {
        let header = self.authorization().and_then(Value::as_str);
        header
            .and_then(bearer)
            .or_else(|| self.token_argument())
            .or_else(|| self.token_variable())
    }

    /// The token that it sends.
    pub(super) fn sent_token(&self) -> SentToken {
        let is_program = self.command().is_some();
        let variable = self.text("bearer_token_env_var");
        let is_marked = |arg: &str| {
            let arg = arg.to_ascii_lowercase();
            MARKS.iter().any(|mark| arg.contains(mark))
        };
        let is_written =
            |token: &str| is_program || Some(token) != variable && !token.contains('{');
        match self.token().or(variable) {
            Some(token) if is_written(token) => SentToken::Written(token.to_owned()),
            Some(token) if token.contains(TOKEN_VARIABLE) => SentToken::Variable,
            None if self.authorization().is_none() && !self.args().into_iter().any(is_marked) => {
                SentToken::Nothing
            }
            _ => SentToken::Bound,
        }
    }

    /// Whether it sends a token; nothing for one that starts a process, which needs none.
    pub fn sends_token(&self) -> Option<bool> {
        let is_sent = self.sent_token() != SentToken::Nothing;
        self.command().is_none().then_some(is_sent)
    }

    fn token_argument(&self) -> Option<&str> {
        let mut args = self.args().into_iter();
        let option = args.find(|arg| *arg == "--token" || arg.starts_with("--token="))?;
        option.strip_prefix("--token=").or_else(|| args.next())
    }

    fn token_variable(&self) -> Option<&str> {
        let mut lists = VARIABLES.iter().filter_map(|key| self.entry.get(key));
        lists.find_map(|list| list.get(TOKEN_VARIABLE)?.as_str())
    }

    fn authorization(&self) -> Option<&Value> {
        let lists = ["headers", "http_headers"].iter();
        let lists = lists.filter_map(|key| self.entry.get(key)?.as_object());
        let mut headers = lists.flatten();
        let (_, value) = headers.find(|(name, _)| name.eq_ignore_ascii_case("authorization"))?;
        Some(value)
    }
}

/// The token of a header, whose scheme counts in any case.
fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.trim().split_once(' ')?;
    let is_bearer = scheme.eq_ignore_ascii_case("bearer");
    is_bearer.then(|| token.trim_start())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{ClientServer, SentToken};

    #[test]
    fn a_token_is_found_wherever_an_entry_has_it() {
        let header = |text: &str| json!({ "url": "u", "headers": { "authorization": text } });
        let program = |args: Value| json!({ "command": "x", "args": args });
        let written = || SentToken::Written("t".to_owned());
        for (entry, expected) in [
            (header("Bearer t"), written()),
            (header("bearer  t"), written()),
            (header("Bearer ${env:MCPPROXY_TOKEN}"), SentToken::Variable),
            (header("Bearer ${env:OTHER}"), SentToken::Bound),
            (header("Basic t"), SentToken::Bound),
            (
                json!({ "url": "u", "bearer_token_env_var": "MCPPROXY_TOKEN" }),
                SentToken::Variable,
            ),
            (
                json!({ "url": "u", "bearer_token_env_var": "OTHER" }),
                SentToken::Bound,
            ),
            (json!({ "url": "u" }), SentToken::Nothing),
            (program(json!(["stdio", "--token", "t"])), written()),
            (program(json!(["stdio", "--token=t"])), written()),
            (
                json!({ "command": "x", "env": { "MCPPROXY_TOKEN": "t" } }),
                written(),
            ),
            (program(json!(["stdio"])), SentToken::Nothing),
            (
                program(json!(["u", "--header", "Authorization: Bearer t"])),
                SentToken::Bound,
            ),
            (
                program(json!(["-c", "MCPPROXY_TOKEN=t mcpproxy stdio"])),
                SentToken::Bound,
            ),
            (
                program(json!(["-c", "mcpproxy stdio --token t"])),
                SentToken::Bound,
            ),
        ] {
            let server = ClientServer {
                entry: entry.clone(),
                ..ClientServer::written("x")
            };
            assert_eq!(server.sent_token(), expected, "{entry}");
        }
    }
}
