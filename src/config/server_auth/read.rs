//! Reading `serverAuth` from the text of the file, so that every mistake has its line and column.

use std::net::IpAddr;

use http::HeaderName;
use ipnet::IpNet;
use jsonc_parser::{ast, common::Ranged};

use super::{
    BearerToken, Forwarded, MOST_TOKENS, Provider, ServerAuth, TokenHash, acl, check_name,
    check_subject,
    misplaced::{self, KEY},
};
use crate::{
    config::{
        ConfigError,
        document::{BYTE_ORDER_MARK, tree},
        mask_text_of_strangers,
        references::VariableLookup,
        strict::{StrictMember, StrictValue, wrong_at},
    },
    secret::Secret,
};

/// The Go program's access control. Its tokens are not ours, so it needs `serverAuth` beside it.
const GO_PROGRAM: &str = "require_mcp_auth";

/// A token that is shorter can be guessed.
const SHORT: usize = 16;

/// Headers that mean something else already.
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

/// Reads access control, and what should be said of it. A key of the top level that is close to `serverAuth`, or a part of it, is a
/// mistake: ignoring it would let everybody in. `known` are the keys of the top level.
pub(in crate::config) fn read(
    text: &str,
    known: &[&str],
    lookup: VariableLookup<'_>,
    warnings: &mut Vec<String>,
) -> Result<Option<ServerAuth>, ConfigError> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let root = tree(text)?;
    let Some(ast::Value::Object(root)) = &root else {
        return Ok(None);
    };
    let mut found = None;
    let mut asked_for = None;
    for property in &root.properties {
        let (key, value) = (property.name.as_str(), &property.value);
        let is_null = matches!(value, ast::Value::NullKeyword(_));
        let wrong = |problem: &str| wrong_at(text, property.start(), key, problem);
        if key == KEY && found.is_some() {
            return Err(wrong("stands there twice"));
        } else if key == KEY && is_null {
            return Err(wrong(
                "is null: take it out to let everybody in, or say who may come in",
            ));
        } else if key == KEY {
            found = Some(value);
        } else if let Some(problem) = misplaced::at_top_level(key, known).filter(|_| !is_null) {
            return Err(wrong(&problem));
        } else if key == GO_PROGRAM && matches!(value, ast::Value::BooleanLit(flag) if flag.value) {
            let problem = "asks for credentials that this program does not know: say with `serverAuth` who may come in";
            asked_for = Some(wrong(problem));
        }
    }
    let auth = match found {
        None => None,
        Some(value) => {
            let value = StrictValue::new(text, lookup, KEY, value);
            Some(read_auth(&value, warnings)?)
        }
    };
    match asked_for {
        Some(error) if !auth.as_ref().is_some_and(ServerAuth::asks_for_credentials) => Err(error),
        _ => Ok(auth),
    }
}

fn read_auth(
    value: &StrictValue<'_>,
    warnings: &mut Vec<String>,
) -> Result<ServerAuth, ConfigError> {
    let auth = value.object(&["provider", "providers", "bearer", "forwarded", "acl"])?;
    let words = [
        ("bearer", Provider::Bearer),
        ("forwarded", Provider::Forwarded),
    ];
    let providers = match (auth.get("provider"), auth.get("providers")) {
        (Some(_), Some(several)) => {
            return Err(several.wrong("stands beside `provider`: give one of both"));
        }
        (Some(one), None) => vec![one.choice(&words)?],
        (None, Some(several)) => {
            let mut providers = Vec::new();
            for element in several.elements()? {
                let provider = element.choice(&words)?;
                if providers.contains(&provider) {
                    return Err(element.wrong("stands there twice"));
                }
                providers.push(provider);
            }
            if providers.is_empty() {
                return Err(several.wrong("is empty: name \"bearer\" or \"forwarded\""));
            }
            providers
        }
        (None, None) => Vec::new(),
    };
    let section = |key: &str, provider| match (auth.get(key), providers.contains(&provider)) {
        (Some(section), false) if providers.is_empty() => Err(section.wrong(format_args!(
            "has no effect without a provider: add `\"provider\": \"{key}\"`"
        ))),
        (Some(section), false) => Err(section.wrong(format_args!(
            "has no effect: `provider` does not name \"{key}\""
        ))),
        (section, _) => Ok(section),
    };
    let bearer = section("bearer", Provider::Bearer)?;
    let forwarded = section("forwarded", Provider::Forwarded)?;
    let acl = auth.get("acl").map(acl::read).transpose()?;
    if providers.is_empty() && acl.is_none() {
        return Err(auth.wrong("says nothing: it needs a `provider`, an `acl`, or both"));
    }
    let tokens = match bearer {
        Some(bearer) => read_tokens(bearer, warnings)?,
        None if providers.contains(&Provider::Bearer) => {
            return Err(auth.wrong("has no `bearer.tokens`, so nobody could come in"));
        }
        None => Vec::new(),
    };
    Ok(ServerAuth {
        forwarded: forwarded
            .map(read_forwarded)
            .transpose()?
            .unwrap_or_default(),
        providers,
        tokens,
        acl,
    })
}

fn read_tokens(
    bearer: &StrictValue<'_>,
    warnings: &mut Vec<String>,
) -> Result<Vec<BearerToken>, ConfigError> {
    // A key may be a token in the wrong place, so it is not shown.
    let keys = bearer.members(|_, index| format!("{KEY}.bearer[{index}]"))?;
    if let Some(other) = keys.iter().find(|member| member.key != "tokens") {
        return Err(other.value.wrong("is unknown: tokens stand under `tokens`"));
    }
    let bearer = bearer.object(&["tokens"])?;
    let tokens = bearer.get("tokens");
    let tokens = tokens.ok_or_else(|| bearer.wrong("has no `tokens`"))?;
    // By their numbers: the tokens themselves must not show.
    let place = |index: usize| format!("{KEY}.bearer.tokens[{index}]");
    let members = tokens.members(|_, index| place(index))?;
    if members.is_empty() {
        return Err(tokens.wrong("is empty, so nobody could come in"));
    }
    let mut read: Vec<BearerToken> = Vec::with_capacity(members.len());
    for (index, member) in members.iter().enumerate() {
        if index >= MOST_TOKENS {
            let problem = format_args!("is one too many: {MOST_TOKENS} tokens at most");
            return Err(member.value.wrong(problem));
        }
        let token = read_token(member)?;
        if read.iter().any(|other| other.hash == token.hash) {
            return Err(member.value.wrong("is a token that stands there already"));
        }
        if token.token.reveal().len() < SHORT {
            let warning = format!(
                "`{}` is a token of fewer than {SHORT} characters, which can be guessed",
                place(index)
            );
            warnings.push(warning);
        }
        read.push(token);
    }
    Ok(read)
}

fn read_token(member: &StrictMember<'_>) -> Result<BearerToken, ConfigError> {
    let (key, value) = (member.key, &member.value);
    let token = value.resolved(key)?.value;
    if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        let problem = "is no token: clients could not send it; letters, digits and marks of ASCII are allowed, and no blanks";
        return Err(value.wrong(problem));
    }
    let subject_of = |value: &StrictValue<'_>| {
        let subject = value.text()?;
        if looks_swapped(&token, &subject) {
            return Err(value.wrong(
                "looks like a token; the token stands before the subject: {\"TOKEN\": \"SUBJECT\"}",
            ));
        }
        check_subject(&subject).map_err(|why| value.wrong(why))?;
        Ok::<_, ConfigError>(subject)
    };
    let (subject, roles) = if value.is_object() {
        let user = value.object(&["subject", "roles"])?;
        let subject = user.get("subject");
        let subject = subject.ok_or_else(|| user.wrong("has no `subject`"))?;
        let role = |role: &str| {
            check_name(role)?;
            Ok::<_, &str>(role.to_owned())
        };
        let roles = user.get("roles");
        let roles = roles.map(|list| list.list(|text| role(text).map_err(str::to_owned)));
        (subject_of(subject)?, roles.transpose()?.unwrap_or_default())
    } else {
        (subject_of(value)?, Vec::new())
    };
    Ok(BearerToken {
        hash: TokenHash::of(&token),
        token: Secret::new(token),
        subject,
        roles,
    })
}

/// Whether a subject is the token, and the token the subject: what can be guessed stands before something that cannot, or the subject
/// has a run of characters in it that only credentials have.
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
    let is_credential = mask_text_of_strangers(subject) != subject || runs.any(is_mixed);
    is_credential || (token.len() < SHORT && is_random(subject))
}

/// Whether letters and digits change places often, as they do in hexadecimal and random texts and not in words with a number.
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

fn read_forwarded(value: &StrictValue<'_>) -> Result<Forwarded, ConfigError> {
    let section = value.object(&["header", "groups_header", "trusted_proxies"])?;
    let header = |key| section.get(key).map(read_header).transpose();
    let default = Forwarded::default();
    let user = header("header")?.unwrap_or(default.header);
    let groups_header = header("groups_header")?;
    if groups_header.as_ref() == Some(&user) {
        return Err(section.wrong("names one header for users and groups"));
    }
    let trusted_proxies = match section.get("trusted_proxies") {
        None => default.trusted_proxies,
        Some(list) => {
            let proxies = list.list(network)?;
            if proxies.is_empty() {
                return Err(list.wrong("is empty, so nobody would be believed"));
            }
            proxies
        }
    };
    Ok(Forwarded {
        header: user,
        groups_header,
        trusted_proxies,
    })
}

fn read_header(value: &StrictValue<'_>) -> Result<HeaderName, ConfigError> {
    let name = value.text()?;
    let name = HeaderName::try_from(name.as_str());
    let name = name.map_err(|_| value.wrong("is no name of a header"))?;
    if TAKEN.contains(&name.as_str()) || name.as_str().starts_with("mcp-") {
        return Err(value.wrong("is a header that means something else"));
    }
    Ok(name)
}

/// An address, or a network as `10.0.0.0/8`.
fn network(text: &str) -> Result<IpNet, String> {
    if let Ok(address) = text.parse::<IpAddr>() {
        return Ok(address.to_canonical().into());
    }
    match text.parse::<IpNet>() {
        Ok(network) if network.prefix_len() == 0 => {
            Err("is everybody; name the addresses of the proxies".to_owned())
        }
        Ok(network) if network.trunc() != network => Err(format!(
            "has bits beyond its prefix; {} is the network",
            network.trunc()
        )),
        Ok(network) => Ok(network),
        Err(_) => Err("is neither an address nor a network such as 10.0.0.0/8".to_owned()),
    }
}

/// This machine.
pub(super) fn loopback() -> Vec<IpNet> {
    let texts = ["127.0.0.0/8", "::1/128"];
    texts.iter().filter_map(|text| text.parse().ok()).collect()
}
