//! The terms of a login: the address of the server and what its entry configures for it. Other terms mean another login.

use std::path::PathBuf;

use http::Uri;

use super::LoginError;
use crate::{
    config::{OAuth, ServerEntry, Transport, loopback::is_loopback},
    text::{Secrets, one_line},
};

/// Limit: bytes of an error, which may quote an authorization server.
const LONGEST: usize = 300;

/// The terms of one server's login.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Terms {
    /// The server's address without user, query and fragment.
    pub(super) url: String,
    pub(super) ca_file: Option<PathBuf>,
    pub(super) oauth: OAuth,
    /// What must not show in texts.
    pub(super) secrets: Secrets,
}

impl Terms {
    /// The terms of an entry; nothing for servers that nobody can log in to: programs, and those whose entry has an `Authorization`.
    pub(super) fn of(entry: &ServerEntry) -> Option<Self> {
        let Transport::Remote(remote) = &entry.transport else {
            return None;
        };
        if remote.is_authorized {
            return None;
        }
        Some(Self {
            url: without_credentials(&remote.url)?,
            ca_file: remote.ca_file.clone(),
            oauth: remote.oauth.clone(),
            secrets: entry.secrets.clone(),
        })
    }

    pub(super) fn uri(&self) -> Uri {
        self.url.parse().unwrap_or_default()
    }

    /// An error in words that may be shown: short, on one line, and without secrets, these beside those of the entry.
    pub(super) fn error(&self, secrets: &Secrets, text: &str) -> LoginError {
        let secrets = Secrets::all([&self.secrets, secrets]);
        LoginError::Failed(one_line(text, &secrets, LONGEST))
    }
}

/// A user and a query may hold keys, which no authorization server has to see.
fn without_credentials(url: &str) -> Option<String> {
    let uri: Uri = url.trim().parse().ok()?;
    let authority = uri.authority()?.as_str();
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    Some(format!("{}://{host}{}", uri.scheme_str()?, uri.path()))
}

/// Whether tokens and codes may travel to an address: encrypted, or within this machine.
pub(super) fn is_safe(uri: &Uri) -> bool {
    match uri.scheme_str() {
        Some("https") => uri.host().is_some(),
        Some("http") => uri.host().is_some_and(is_loopback),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_named_without_what_may_be_a_key() {
        let check = |url: &str, expected: Option<&str>| {
            assert_eq!(without_credentials(url).as_deref(), expected, "{url}");
        };
        check("https://u:p@h:1/mcp?key=1#x", Some("https://h:1/mcp"));
        check("https://h", Some("https://h/"));
        check("h", None);
    }

    #[test]
    fn tokens_travel_encrypted_or_within_this_machine() {
        for (url, expected) in [
            ("https://h/token", true),
            ("http://127.0.0.1:1/token", true),
            ("http://localhost/token", true),
            ("http://h/token", false),
            ("http://10.0.0.1/token", false),
            ("ftp://127.0.0.1/", false),
        ] {
            assert_eq!(
                is_safe(&url.parse().expect("an address")),
                expected,
                "{url}"
            );
        }
    }
}
