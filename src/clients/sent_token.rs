//! The token that an entry sends: in a header, in the arguments of its program, or in a variable. Pure.

use super::servers::ClientServer;

/// The variable of a client's environment that has its token.
pub const TOKEN_VARIABLE: &str = "MCPPROXY_TOKEN";

/// The keys of the variables of a program.
pub(super) const VARIABLES: [&str; 3] = ["env", "envs", "environment"];

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
        let header = self.authorization().map(|header| self.value_of(header));
        let token = header.and_then(bearer).map(|token| self.value_of(token));
        if self.is_bridged() {
            return token;
        }
        token
            .or_else(|| self.token_argument())
            .or_else(|| self.variable(TOKEN_VARIABLE))
    }

    /// The token that it sends.
    pub(super) fn sent_token(&self) -> SentToken {
        let is_bridged = self.is_bridged();
        let is_program = self.command().is_some() && !is_bridged;
        let variable = self.text("bearer_token_env_var");
        let is_marked = |arg: &str| {
            let arg = arg.to_ascii_lowercase();
            let mut marks = MARKS.iter();
            marks.any(|mark| arg.contains(mark) && (!is_bridged || *mark == "authorization"))
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

    /// Whether it sends a token to our address; nothing for one that starts mcpproxy, which needs none.
    pub fn sends_token(&self) -> Option<bool> {
        let is_sent = self.sent_token() != SentToken::Nothing;
        (self.command().is_none() || self.is_bridged()).then_some(is_sent)
    }

    fn token_argument(&self) -> Option<&str> {
        let mut args = self.args().into_iter();
        let option = args.find(|arg| *arg == "--token" || arg.starts_with("--token="))?;
        option.strip_prefix("--token=").or_else(|| args.next())
    }

    /// The value of a variable that the entry sets.
    fn variable(&self, name: &str) -> Option<&str> {
        let mut lists = VARIABLES.iter().filter_map(|key| self.entry.get(key));
        lists.find_map(|list| list.get(name)?.as_str())
    }

    /// The value of a text, which for `mcp-remote` may be a reference to such a variable.
    fn value_of<'a>(&'a self, text: &'a str) -> &'a str {
        let name = |text: &'a str| text.strip_prefix("${")?.strip_suffix('}');
        let value = name(text).and_then(|name| self.variable(name));
        value.unwrap_or(text)
    }

    fn authorization(&self) -> Option<&str> {
        if self.is_bridged() {
            let args = self.args();
            let pairs = args.iter().zip(args.iter().skip(1));
            let mut headers = pairs.filter(|(option, _)| **option == "--header");
            return headers.find_map(|(_, header)| {
                let (name, value) = header.split_once(':')?;
                let is_it = name.trim().eq_ignore_ascii_case("authorization");
                is_it.then(|| value.trim())
            });
        }
        let lists = ["headers", "http_headers"].iter();
        let lists = lists.filter_map(|key| self.entry.get(key)?.as_object());
        let mut headers = lists.flatten();
        let (_, value) = headers.find(|(name, _)| name.eq_ignore_ascii_case("authorization"))?;
        Some(value.as_str().unwrap_or_default())
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
        let bridge = |args: Value| json!({ "command": ["npx", "mcp-remote"], "args": args });
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
                bridge(json!(["u", "--header", "authorization: Bearer t"])),
                written(),
            ),
            (
                json!({ "command": "npx", "args": ["mcp-remote", "u", "--header", "Authorization:${AUTH}"], "env": { "AUTH": "Bearer t" } }),
                written(),
            ),
            (
                bridge(json!([
                    "u",
                    "--header",
                    "Authorization: Bearer ${MCPPROXY_TOKEN}"
                ])),
                SentToken::Variable,
            ),
            (
                bridge(json!(["u", "--header", "Authorization:${AUTH}"])),
                SentToken::Bound,
            ),
            (bridge(json!(["u", "--token", "t"])), SentToken::Nothing),
            (
                json!({ "command": "mcp-remote", "args": ["u"], "env": { "MCPPROXY_TOKEN": "t" } }),
                SentToken::Nothing,
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
