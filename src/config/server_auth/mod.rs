//! `serverAuth`: how clients identify themselves, and what each may use. It is read strictly: an unknown key or a malformed value refuses
//! the whole configuration, so that a typing error lets nobody in. The room `access` decides by it.

mod acl;
mod raw;

use std::fmt;

use http::HeaderName;
use ipnet::IpNet;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use self::acl::{Acl, AclRule, Policy};
pub(super) use self::raw::named_owner;
use self::raw::{RawAuth, RawForwarded, SHORT};
use super::{document::SERVER_AUTH, warning::Warning};
use crate::text::secret::Secret;

/// The subject of clients without a credential, where none is required.
pub const ANONYMOUS: &str = "anonymous";

/// The subject of the person who runs the daemon.
pub const OPERATOR: &str = "operator";

/// Limit: tokens in the file, and issued ones beside them; each request is compared with all.
pub(super) const MOST_TOKENS: usize = 1_000;

/// The longest subject or role, in characters.
const LONGEST_NAME: usize = 256;

/// Access control, as it is configured.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "RawAuth")]
pub struct ServerAuth {
    /// How clients identify themselves, in the order in which it is tried; empty where clients need no credential.
    pub providers: Vec<Provider>,
    /// The tokens of clients.
    pub tokens: Vec<BearerToken>,
    /// The headers in which a reverse proxy names its users.
    pub forwarded: Forwarded,
    /// The access rules; without them every caller may use everything.
    pub acl: Option<Acl>,
    /// Whether clients without a credential are refused, if the file has the key.
    pub required: Option<bool>,
}

impl ServerAuth {
    /// Whether there is a provider that clients can identify themselves with.
    pub fn asks_for_credentials(&self) -> bool {
        !self.providers.is_empty()
    }

    /// The token of this digest. Compares all, so that the time shows nothing about the place of the token.
    pub fn token(&self, hash: &TokenHash) -> Option<&BearerToken> {
        hash.find_in(&self.tokens, |token| token.hash)
    }

    /// Warnings of tokens that can be guessed.
    pub(super) fn warnings(&self) -> impl Iterator<Item = Warning> {
        let tokens = self.tokens.iter();
        let short = tokens.filter(|token| token.token.reveal().len() < SHORT);
        short.map(|token| {
            let what = format!("is a token of fewer than {SHORT} characters, which can be guessed");
            let key = format!("{SERVER_AUTH}.bearer.tokens[{}]", token.subject);
            Warning::of_key(key, what)
        })
    }

    /// Whether the new settings let more clients in: they have no `serverAuth`, no provider any more, or no longer require a credential.
    pub(super) fn is_lost_in(&self, new: Option<&Self>) -> bool {
        new.is_none_or(|new| {
            let without_provider = new.providers.is_empty() && !self.providers.is_empty();
            without_provider || (self.demands() && !new.demands())
        })
    }

    /// Whether clients need a credential, whatever the daemon's address.
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

/// One token and its caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BearerToken {
    /// The token itself, to be redacted.
    pub token: Secret,
    /// The digest that the tokens of requests are compared with.
    pub hash: TokenHash,
    /// The caller.
    pub subject: String,
    /// The caller's roles.
    pub roles: Vec<String>,
}

/// A digest of a token. Comparing two takes the same time whatever they are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TokenHash(blake3::Hash);

impl TokenHash {
    /// The digest of a token.
    pub fn of(token: &str) -> Self {
        Self(blake3::hash(token.as_bytes()))
    }

    /// The last token with this digest. Does not stop at it.
    pub(super) fn find_in<T>(self, tokens: &[T], hash_of: fn(&T) -> Self) -> Option<&T> {
        let same = tokens.iter().filter(|token| hash_of(token) == self);
        same.fold(None, |_, token| Some(token))
    }

    /// The digest as hexadecimal text.
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

/// The headers that name a user, and the proxies that may send them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "RawForwarded")]
pub struct Forwarded {
    /// The header with the user's name.
    pub header: HeaderName,
    /// The header with the user's roles, separated by commas.
    pub groups_header: Option<HeaderName>,
    /// The addresses of the proxies whose headers count.
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

/// Checks a subject or a role: not too long, without commas, which separate roles in a header, and without invisible characters.
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

/// Checks the subject of a client: [`check_name`], and not one of the subjects that mcpproxy itself uses.
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
