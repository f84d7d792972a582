//! Logins to remote servers with OAuth 2.1: how a login comes about, what is kept of it on disk, and how its tokens are renewed, by one
//! task however many clients there are. Protocol and cryptography are rmcp's. Knows neither workers nor commands, and sends tokens only
//! to the server that they are for and to the authorization server that issued them.

mod access_token;
mod bearer_challenge;
mod callback;
mod callback_listener;
mod flow;
mod login_file;
mod login_state;
mod login_status;
mod logins;
mod oauth_http;
mod pending;
mod redirect;
mod renewal;
mod renewal_pauses;
mod server_login;
mod terms;

pub use self::{
    bearer_challenge::BearerChallenge,
    callback::Callback,
    login_status::LoginStatus,
    logins::Logins,
    pending::{LoginProgress, LoginStarted},
    renewal_pauses::LoginTrouble,
    server_login::ServerLogin,
};
use crate::{failure::NextStep, text::names::as_argument};

/// Why a login or a renewal came to nothing, in words that hold no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoginError {
    /// Trying again may help.
    #[error("{0}")]
    Failed(String),
    /// The server, or its authorization server, is down or out of reach.
    #[error("{why}")]
    Unreachable {
        /// Which of them, in words about the server.
        who: String,
        /// The same with the reason.
        why: String,
    },
    /// Its address is not encrypted.
    #[error("{0}")]
    Unsafe(String),
    /// The authorization server registers nobody: a client has to be registered there by hand.
    #[error("{0}")]
    NotRegistered(String),
    /// The authorization server's answer is against the protocol: trying again does not help.
    #[error("{0}")]
    BadAnswer(String),
    /// Nothing says where to log in, or what says so may not be used.
    #[error("{0}")]
    NoPlace(String),
    /// This step comes first, such as one that corrects the server's entry.
    #[error("{0}")]
    Needs(String, NextStep),
}

impl LoginError {
    /// The step without which every login to this server fails so; nothing if another try may help.
    pub fn lasting_step(&self, server: &str) -> Option<NextStep> {
        let log_in = NextStep::LogIn.at_terminal(server);
        let typed = as_argument(server);
        let (words, request) = match self {
            Self::Failed(_) | Self::Unreachable { .. } => return None,
            Self::Needs(_, step) => return Some(step.clone()),
            Self::Unsafe(_) => (
                format!(
                    "if {server} speaks https: `mcpproxy upstream patch {typed} url=https://…`, then {log_in}"
                ),
                format!("if {server} speaks https, change its `url`, then log in"),
            ),
            Self::NotRegistered(_) => (
                format!(
                    "register a client there by hand, with the redirect URI http://127.0.0.1/callback, then `mcpproxy upstream patch {typed} oauth.client_id=ID` and {log_in}"
                ),
                "register a client there by hand, with the redirect URI http://127.0.0.1/callback, set `oauth.client_id` in its entry, then log in"
                    .to_owned(),
            ),
            Self::BadAnswer(_) => {
                let words = "report this to the authorization server's operator";
                (words.to_owned(), words.to_owned())
            }
            Self::NoPlace(_) => (
                format!(
                    "if {server} also accepts an API key: `mcpproxy secret set {server}-Authorization`, then `mcpproxy upstream patch {typed} 'headers.Authorization=Bearer ${{keyring:{server}-Authorization}}'`"
                ),
                format!(
                    "if {server} also accepts an API key, store it as a secret, and refer to that in `headers.Authorization` of its entry"
                ),
            ),
        };
        Some(NextStep::act(words).or_request(request))
    }

    /// The step once that answers which is down; nothing if nothing is.
    pub fn later_step(&self, server: &str) -> Option<NextStep> {
        let Self::Unreachable { who, .. } = self else {
            return None;
        };
        let log_in = NextStep::LogIn.at_terminal(server);
        let words = format!("{log_in}, once {who} answers");
        Some(NextStep::act(words).or_request(format!("once {who} answers, log in")))
    }
}

#[cfg(test)]
mod tests {
    use super::LoginError;

    #[test]
    fn every_step_names_what_it_is_about() {
        for error in [
            LoginError::Unsafe(String::new()),
            LoginError::NoPlace(String::new()),
        ] {
            let step = error.lasting_step("oa").expect("a step");
            for step in [step.clone(), step.without_commands()] {
                let words = step.at_terminal("oa");
                assert!(words.starts_with("if oa "), "{words}");
            }
        }
        let down = LoginError::Unreachable {
            who: "its authorization server".to_owned(),
            why: String::new(),
        };
        let words = down.later_step("oa").expect("a step").at_terminal("oa");
        let expected = "`mcpproxy upstream login oa`, once its authorization server answers";
        assert_eq!(words, expected);
    }
}
