//! Anything on a connection that is no message of the protocol: text on the standard output of programs that do not keep it free,
//! mostly. The first of it shows an operator what is wrong.

use std::sync::{Arc, OnceLock};

use crate::{
    telemetry::log_throttle::LogThrottle,
    text::{names::ServerName, secret::Secrets},
};

/// Characters of it that are shown.
const SHOWN: usize = 160;

/// Limit: bytes that are looked at for that.
const LOOKED_AT: usize = 4096;

/// Counts what is no message, and keeps the first. Clones are the same.
#[derive(Clone, Default)]
pub struct Noise(Arc<Shared>);

#[derive(Default)]
struct Shared {
    server: String,
    secrets: Secrets,
    first: OnceLock<String>,
    limit: LogThrottle,
}

impl Noise {
    /// For a connection to the server of this name. What is shown does not contain any of `secrets`.
    pub fn new(server: &ServerName, secrets: Secrets) -> Self {
        Self(Arc::new(Shared {
            server: server.as_str().to_owned(),
            secrets,
            ..Shared::default()
        }))
    }

    /// The first line that was no message, in quotation marks, escaped and cut.
    pub fn first(&self) -> Option<&str> {
        self.0.first.get().map(String::as_str)
    }

    /// Takes in what came.
    pub(super) fn note(&self, text: &[u8]) {
        let Shared {
            server,
            secrets,
            first,
            limit,
        } = &*self.0;
        let shown = || shown(text, secrets);
        first.get_or_init(|| format!("{:?}", shown()));
        if let Some(lines) = limit.due() {
            let line = shown();
            let line = line.as_str();
            tracing::warn!(%server, lines, line, "server wrote other lines to stdout");
        }
    }
}

fn shown(text: &[u8], secrets: &Secrets) -> String {
    let beginning = text.get(..LOOKED_AT).unwrap_or(text);
    let text = String::from_utf8_lossy(beginning);
    let text = secrets.redacted(&text);
    let mut characters = text.trim().chars();
    let mut line: String = characters.by_ref().take(SHOWN).collect();
    if characters.next().is_some() {
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_shown_escaped_cut_and_without_secrets() {
        let server = ServerName::parse("s").expect("a name");
        let secrets = Secrets::new(["hunter22", "a"].map(str::to_owned));
        let check = |text: &str, expected: &str| {
            let noise = Noise::new(&server, secrets.clone());
            assert_eq!(noise.first(), None);
            noise.note(text.as_bytes());
            noise.note(b"another");
            assert_eq!(noise.first(), Some(expected));
        };
        check(
            " Listening on port 3\u{1b}[0m\r\n",
            r#""Listening on port 3\u{1b}[0m""#,
        );
        check("key hunter22 and \u{202e}a", r#""key *** and \u{202e}a""#);
        check(
            &"é".repeat(SHOWN + 1),
            &format!("\"{}…\"", "é".repeat(SHOWN)),
        );
    }
}
