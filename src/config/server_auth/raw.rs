//! `serverAuth` as it is written, and checks that its parts fit together.

use std::net::IpAddr;

use http::HeaderName;
use ipnet::IpNet;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Acl, BearerToken, Forwarded, MOST_TOKENS, Provider, ServerAuth, TokenHash, check_name,
    check_subject,
};
use crate::{
    config::{
        references::Text,
        values::{Pairs, schema_as},
    },
    text::{Secret, TextKind, redact::redacted},
};

/// A token of fewer characters can be guessed.
pub(super) const SHORT: usize = 16;

/// Headers that have another meaning.
const TAKEN: [&str; 8] = [
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "cookie",
    "host",
    "origin",
    "transfer-encoding",
];

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(super) struct RawAuth {
    /// Identification of clients: by a token in Authorization (bearer), or by a header of a trusted reverse proxy (forwarded).
    provider: Option<Provider>,
    /// Several providers, tried in this order.
    #[schemars(length(min = 1))]
    providers: Option<Vec<Provider>>,
    /// The tokens of clients.
    bearer: Option<RawBearer>,
    /// The headers in which a trusted reverse proxy names the user.
    forwarded: Option<Forwarded>,
    /// The access rules.
    acl: Option<Acl>,
    /// Whether mcpproxy refuses clients without a token. By default it does, unless the daemon listens on loopback and has no provider.
    required: Option<bool>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct RawBearer {
    /// The keys are the tokens, best as references: `"${TEAM_TOKEN}"`; the values are their callers.
    tokens: Tokens,
}

#[derive(Deserialize)]
#[serde(try_from = "Pairs<Token, Owner>")]
struct Tokens(Vec<BearerToken>);

#[derive(Deserialize, JsonSchema)]
#[serde(rename = "$kind", rename_all = "lowercase")]
#[schemars(inline, untagged)]
enum Owner {
    String(Subject),
    Object(User),
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct User {
    /// The caller who uses the token.
    subject: Subject,
    /// The caller's roles, which access rules can name.
    #[serde(default)]
    roles: Vec<Role>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(super) struct RawForwarded {
    /// The header with the user's name.
    #[schemars(extend("default" = "x-forwarded-user"))]
    header: Option<Header>,
    /// The header with the user's roles, separated by commas.
    groups_header: Option<Header>,
    /// Addresses and networks of reverse proxies whose headers mcpproxy accepts.
    #[schemars(length(min = 1), extend("default" = ["127.0.0.0/8", "::1/128"]))]
    trusted_proxies: Option<Vec<Proxy>>,
}

/// Makes a type of a string with a check.
macro_rules! checked {
    ($name:ident($inner:ty), $read:expr) => {
        #[derive(Deserialize)]
        #[serde(try_from = "Text")]
        struct $name($inner);
        schema_as!($name, String);

        impl TryFrom<Text> for $name {
            type Error = String;

            fn try_from(text: Text) -> Result<Self, String> {
                Ok(Self($read(text.value)?))
            }
        }
    };
}

checked!(Token(String), token);
checked!(Subject(String), |name: String| check_subject(&name)
    .map(|()| name));
checked!(Role(String), |name: String| check_name(&name)
    .map(|()| name));
checked!(Header(HeaderName), header);
checked!(Proxy(IpNet), |text: String| network(&text));

schema_as!(Tokens, Pairs<Token, Owner>);
schema_as!(Forwarded, RawForwarded);
schema_as!(ServerAuth, RawAuth);

impl TryFrom<RawAuth> for ServerAuth {
    type Error = String;

    fn try_from(raw: RawAuth) -> Result<Self, String> {
        let is_list = raw.providers.is_some();
        let providers = match (raw.provider, raw.providers) {
            (Some(_), Some(_)) => {
                return Err("has both `providers` and `provider`: give only one of them".to_owned());
            }
            (Some(provider), None) => vec![provider],
            (None, Some(providers)) => providers,
            (None, None) => Vec::new(),
        };
        let has = |provider| providers.contains(&provider);
        let sections = [
            ("bearer", Provider::Bearer, raw.bearer.is_some()),
            ("forwarded", Provider::Forwarded, raw.forwarded.is_some()),
        ];
        for (key, provider, is_there) in sections {
            if providers.iter().filter(|one| **one == provider).count() > 1 {
                return Err(format!("names \"{key}\" twice in `providers`; remove one"));
            }
            if is_there && !has(provider) {
                let other = sections.iter().find(|(_, other, _)| has(*other));
                let remedy = match other {
                    _ if is_list => format!("add `\"{key}\"` to `providers`"),
                    Some((other, ..)) => format!(
                        "write `\"providers\": [\"{other}\", \"{key}\"]` instead of `provider`"
                    ),
                    None => format!("add `\"provider\": \"{key}\"`"),
                };
                return Err(format!(
                    "has `{key}`, which has no effect: {remedy}, or remove `{key}`"
                ));
            }
        }
        if providers.is_empty() && raw.acl.is_none() && raw.required.is_none() {
            return Err(
                "has no `provider`, `acl` or `required`; set at least one of them".to_owned(),
            );
        }
        if has(Provider::Bearer) && raw.bearer.is_none() {
            return Err("has no `bearer.tokens`, so every client would be refused".to_owned());
        }
        Ok(Self {
            providers,
            tokens: raw.bearer.map_or_else(Vec::new, |bearer| bearer.tokens.0),
            forwarded: raw.forwarded.unwrap_or_default(),
            acl: raw.acl,
            required: raw.required,
        })
    }
}

impl TryFrom<Pairs<Token, Owner>> for Tokens {
    type Error = String;

    fn try_from(Pairs(pairs): Pairs<Token, Owner>) -> Result<Self, String> {
        if pairs.is_empty() {
            return Err("is empty, so every client would be refused".to_owned());
        }
        if pairs.len() > MOST_TOKENS {
            return Err(format!("has more than {MOST_TOKENS} tokens"));
        }
        let mut tokens: Vec<BearerToken> = Vec::with_capacity(pairs.len());
        // Errors name callers, because the tokens themselves must not be shown.
        for (index, (Token(token), owner)) in pairs.into_iter().enumerate() {
            let (subject, roles) = match owner {
                Owner::String(Subject(subject)) => (subject, Vec::new()),
                Owner::Object(user) => (user.subject.0, user.roles),
            };
            if looks_swapped(&token, &subject) {
                return Err(format!(
                    "has a token as the subject of entry {}; the token comes first: {{\"TOKEN\": \"SUBJECT\"}}",
                    index + 1
                ));
            }
            let hash = TokenHash::of(&token);
            if let Some(same) = tokens.iter().find(|other| other.hash == hash) {
                let first = &same.subject;
                return Err(format!(
                    "has the same token twice, for {first} and {subject}"
                ));
            }
            tokens.push(BearerToken {
                hash,
                token: Secret::new(token),
                subject,
                roles: roles.into_iter().map(|role| role.0).collect(),
            });
        }
        Ok(Self(tokens))
    }
}

impl TryFrom<RawForwarded> for Forwarded {
    type Error = &'static str;

    fn try_from(raw: RawForwarded) -> Result<Self, Self::Error> {
        let default = Self::default();
        let header = raw.header.map_or(default.header, |header| header.0);
        let groups_header = raw.groups_header.map(|header| header.0);
        if groups_header.as_ref() == Some(&header) {
            return Err("names the same header for users and groups");
        }
        let proxies = raw.trusted_proxies;
        if proxies.as_ref().is_some_and(Vec::is_empty) {
            return Err(
                "has an empty `trusted_proxies`, so every user from a proxy would be refused",
            );
        }
        Ok(Self {
            header,
            groups_header,
            trusted_proxies: proxies.map_or(default.trusted_proxies, |proxies| {
                proxies.into_iter().map(|proxy| proxy.0).collect()
            }),
        })
    }
}

fn token(text: String) -> Result<String, &'static str> {
    if text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(text);
    }
    Err(
        "is not a token: clients could not send it; only ASCII letters, digits and punctuation are allowed, no spaces",
    )
}

fn header(name: String) -> Result<HeaderName, &'static str> {
    let name = HeaderName::try_from(name).map_err(|_| "is not the name of a header")?;
    if TAKEN.contains(&name.as_str()) || name.as_str().starts_with("mcp-") {
        return Err("is a header with another meaning; use one that only the proxy sets");
    }
    Ok(name)
}

/// The subject of a token, where an error may name it: it can be a caller's name, and is probably not the token itself.
pub(in crate::config) fn named_owner<'s>(token: &str, subject: &'s str) -> Option<&'s str> {
    let is_name = check_subject(subject).is_ok() && !looks_swapped(token, subject);
    is_name.then_some(subject)
}

/// Whether token and subject are probably swapped: the subject contains what only credentials contain, or it looks random and the token
/// is short.
fn looks_swapped(token: &str, subject: &str) -> bool {
    let has = |text: &str, of: fn(&u8) -> bool| text.bytes().any(|byte| of(&byte));
    let is_random = |run: &str| {
        run.len() >= SHORT && has(run, u8::is_ascii_digit) && has(run, u8::is_ascii_alphabetic)
    };
    let is_mixed = |run: &str| is_random(run) && is_unlike_words(run);
    if subject.contains(['@', ' ']) {
        return false;
    }
    let mut runs = subject.split(|c: char| !c.is_ascii_alphanumeric());
    let is_credential = redacted(subject, TextKind::Prose) != subject || runs.any(is_mixed);
    is_credential || (token.len() < SHORT && is_random(subject))
}

/// Whether letters and digits alternate often, as in hexadecimal and random texts, but not in a word with a number.
fn is_unlike_words(run: &str) -> bool {
    let bytes = run.as_bytes();
    let digits = |byte: &u8| byte.is_ascii_digit();
    let all_hex = bytes.iter().all(u8::is_ascii_hexdigit);
    let changes = bytes.windows(2).filter(|pair| {
        let [first, second] = pair else { return false };
        digits(first) != digits(second)
    });
    all_hex || changes.count() > 3
}

/// Reads an address, or a network such as `10.0.0.0/8`.
fn network(text: &str) -> Result<IpNet, String> {
    if let Ok(address) = text.parse::<IpAddr>() {
        return Ok(address.to_canonical().into());
    }
    match text.parse::<IpNet>() {
        Ok(network) if network.prefix_len() == 0 => {
            Err("matches every address; name those of the proxies".to_owned())
        }
        Ok(network) if network.trunc() != network => Err(format!(
            "has bits beyond its prefix; write {}",
            network.trunc()
        )),
        Ok(network) => Ok(network),
        Err(_) => Err("is neither an address nor a network such as 10.0.0.0/8".to_owned()),
    }
}

/// The loopback networks.
pub(super) fn loopback() -> Vec<IpNet> {
    let texts = ["127.0.0.0/8", "::1/128"];
    texts.iter().filter_map(|text| text.parse().ok()).collect()
}
