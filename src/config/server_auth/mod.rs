//! `serverAuth`: who clients are, and what they may have. What stands here is read strictly: what is unknown or malformed refuses the whole
//! configuration, so that nobody is let in by a slip. Decides nothing itself: that is `access`.

mod acl;
mod raw;

use std::fmt;

use http::HeaderName;
use ipnet::IpNet;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use self::acl::{Acl, AclRule, Policy};
use self::raw::{RawAuth, RawForwarded, SHORT};
use super::{document::SERVER_AUTH, warning::Warning};
use crate::text::secret::Secret;

/// The subject of clients that show no credential where none is asked for.
pub const ANONYMOUS: &str = "anonymous";

/// The subject of the person whose daemon it is.
pub const OPERATOR: &str = "operator";

/// The most tokens: each request is compared with all of them.
const MOST_TOKENS: usize = 1_000;

/// The longest subject or role, in characters.
const LONGEST_NAME: usize = 256;

/// Access control, as it is configured.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "RawAuth")]
pub struct ServerAuth {
    /// Who says who a client is, in the order in which they are asked; nobody where clients need no credential.
    pub providers: Vec<Provider>,
    /// The tokens of clients.
    pub tokens: Vec<BearerToken>,
    /// What a proxy before us says of its users.
    pub forwarded: Forwarded,
    /// Who may have what; everybody everything where there are no rules.
    pub acl: Option<Acl>,
    /// Whether whoever shows no credential is kept out, if that is said.
    pub required: Option<bool>,
}

impl ServerAuth {
    /// What should be said of tokens that can be guessed.
    pub(super) fn warnings(&self) -> impl Iterator<Item = Warning> {
        let tokens = self.tokens.iter().enumerate();
        let short = tokens.filter(|(_, token)| token.token.reveal().len() < SHORT);
        short.map(|(index, _)| {
            let what = format!("is a token of fewer than {SHORT} characters, which can be guessed");
            Warning::of_key(format!("{SERVER_AUTH}.bearer.tokens[{index}]"), what)
        })
    }

    /// Whether these settings open the daemon: without any of it, or without a provider where there was one.
    pub(super) fn is_lost_in(&self, new: Option<&Self>) -> bool {
        new.is_none_or(|new| {
            let without_provider = new.providers.is_empty() && !self.providers.is_empty();
            without_provider || (self.demands() && !new.demands())
        })
    }

    /// Whether they demand a credential, wherever the daemon listens.
    fn demands(&self) -> bool {
        self.required.unwrap_or_else(|| self.asks_for_credentials())
    }
}

/// How clients identify themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Provider {
    /// A token in `Authorization`.
    Bearer,
    /// A header of a trusted proxy.
    Forwarded,
}

/// One token, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BearerToken {
    /// The token itself, to be redacted.
    pub token: Secret,
    /// What requests are compared with.
    pub hash: TokenHash,
    /// Whose it is.
    pub subject: String,
    /// The roles of whoever shows it.
    pub roles: Vec<String>,
}

/// A digest of a token. Comparing two takes the same time whatever they are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TokenHash(blake3::Hash);

impl TokenHash {
    /// Of a token.
    pub fn of(token: &str) -> Self {
        Self(blake3::hash(token.as_bytes()))
    }

    /// As text.
    pub fn to_hex(self) -> String {
        self.0.to_hex().to_string()
    }
}

impl Serialize for TokenHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_hex())
    }
}

impl<'de> Deserialize<'de> for TokenHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let hash = blake3::Hash::from_hex(text.as_bytes());
        hash.map(Self).map_err(serde::de::Error::custom)
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(crate::text::secret::MASK)
    }
}

/// Which headers name a user, and whose are believed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "RawForwarded")]
pub struct Forwarded {
    /// Names the user.
    pub header: HeaderName,
    /// Names the user's roles, with commas between them.
    pub groups_header: Option<HeaderName>,
    /// The addresses whose headers are believed.
    pub trusted_proxies: Vec<IpNet>,
}

impl Default for Forwarded {
    fn default() -> Self {
        Self {
            header: HeaderName::from_static("x-forwarded-user"),
            groups_header: None,
            trusted_proxies: raw::loopback(),
        }
    }
}

impl ServerAuth {
    /// Whether anybody says who clients are.
    pub fn asks_for_credentials(&self) -> bool {
        !self.providers.is_empty()
    }

    /// The token of this digest. Looks at all of them, so that the time says nothing of where it stands.
    pub fn token(&self, hash: &TokenHash) -> Option<&BearerToken> {
        let mut found = None;
        for token in &self.tokens {
            if token.hash == *hash {
                found = Some(token);
            }
        }
        found
    }
}

/// Whether a text can be a subject or a role: short, and nothing in it that cannot be seen or that parts lists.
pub fn check_name(name: &str) -> Result<(), &'static str> {
    if name.is_empty() {
        return Err("is empty");
    }
    if name.chars().count() > LONGEST_NAME {
        return Err("is longer than 256 characters");
    }
    if name.chars().any(crate::text::visible::is_invisible) {
        return Err("contains an invisible character");
    }
    if name.trim() != name || name.contains(',') {
        return Err("contains a comma, or begins or ends with a space");
    }
    Ok(())
}

/// [`check_name`] for whoever comes from outside, who is nobody that we speak of ourselves.
pub fn check_subject(subject: &str) -> Result<(), &'static str> {
    check_name(subject)?;
    if [ANONYMOUS, OPERATOR]
        .iter()
        .any(|ours| ours.eq_ignore_ascii_case(subject))
    {
        return Err("names a caller reserved by mcpproxy");
    }
    Ok(())
}
