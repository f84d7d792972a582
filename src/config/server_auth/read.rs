//! Reading `serverAuth` from the text of the file, so that every mistake has its line and column.

use std::net::IpAddr;

use http::HeaderName;
use ipnet::IpNet;
use jsonc_parser::{ast, common::Ranged};

use super::{
    BearerToken, Forwarded, MOST_TOKENS, Provider, ServerAuth, TokenHash, acl, check_name,
    check_subject,
};
use crate::{
    config::{
        ConfigError,
        document::{BYTE_ORDER_MARK, tree},
        misplaced::{self, KEY},
        mistakes::{Mistakes, Read},
        references::ValueLookup,
        strict::{StrictMember, StrictObject, StrictValue, wrong_at},
    },
    text::{
        redact::{TextKind, redacted},
        secret::Secret,
    },
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
    lookup: ValueLookup<'_>,
    warnings: &mut Vec<String>,
) -> Result<Option<ServerAuth>, ConfigError> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let root = tree(text)?;
    let Some(ast::Value::Object(root)) = &root else {
        return Ok(None);
    };
    let mut found = None;
    let mut asked_for = None;
    let mut mistakes = Mistakes::default();
    for property in &root.properties {
        let (key, value) = (property.name.as_str(), &property.value);
        let is_null = matches!(value, ast::Value::NullKeyword(_));
        let wrong = |problem: &str| wrong_at(text, property.start(), key, problem);
        if key == KEY && found.is_some() {
            mistakes.add(wrong("stands there twice"));
        } else if key == KEY && is_null {
            mistakes.add(wrong(
                "is null: take it out to let everybody in, or say who may come in",
            ));
        } else if key == KEY {
            found = Some(value);
        } else if let Some(problem) = misplaced::at_top_level(key, known).filter(|_| !is_null) {
            mistakes.add(wrong(&problem));
        } else if key == GO_PROGRAM && matches!(value, ast::Value::BooleanLit(flag) if flag.value) {
            let problem = "asks for credentials that this program does not know: say with `serverAuth` who may come in";
            asked_for = Some(wrong(problem));
        }
    }
    let auth = found.map(|value| {
        let value = StrictValue::new(text, lookup, KEY, value);
        mistakes.take(read_auth(&value, warnings))
    });
    let auth = match auth {
        None => Some(None),
        Some(read) => read.map(Some),
    };
    let lets_anybody_in = auth.as_ref().is_some_and(|auth| {
        let asks = auth.as_ref().is_some_and(ServerAuth::asks_for_credentials);
        !asks
    });
    if let Some(mistake) = asked_for.filter(|_| lets_anybody_in) {
        mistakes.add(mistake);
    }
    Ok(mistakes.unless_any(auth)?)
}

fn read_auth(value: &StrictValue<'_>, warnings: &mut Vec<String>) -> Read<ServerAuth> {
    let known = ["provider", "providers", "bearer", "forwarded", "acl"];
    value.object(&known, |auth, mistakes| {
        let providers = mistakes.take(read_providers(auth));
        let sections = [
            ("bearer", Provider::Bearer),
            ("forwarded", Provider::Forwarded),
        ];
        for (key, provider) in sections {
            let providers = providers.as_ref().filter(|all| !all.contains(&provider));
            if let (Some(section), Some(providers)) = (auth.get(key), providers) {
                mistakes.add(if providers.is_empty() {
                    section.wrong(format_args!(
                        "has no effect without a provider: add `\"provider\": \"{key}\"`"
                    ))
                } else {
                    section.wrong(format_args!(
                        "has no effect: `provider` does not name \"{key}\""
                    ))
                });
            }
        }
        let acl = mistakes.take(auth.get("acl").map(acl::read).transpose());
        let has_nothing = providers.as_ref().is_some_and(Vec::is_empty) && acl == Some(None);
        if has_nothing && mistakes.is_empty() {
            mistakes.add(auth.wrong("says nothing: it needs a `provider`, an `acl`, or both"));
        }
        let has_bearer = providers
            .as_ref()
            .is_some_and(|all| all.contains(&Provider::Bearer));
        let tokens = match auth.get("bearer") {
            Some(bearer) => read_tokens(bearer, warnings),
            None if has_bearer => {
                Err(auth.wrong("has no `bearer.tokens`, so nobody could come in"))
            }
            None => Ok(Vec::new()),
        };
        let tokens = mistakes.take(tokens);
        let forwarded = auth.get("forwarded").map(read_forwarded).transpose();
        let forwarded = mistakes.take(forwarded);
        Some(ServerAuth {
            forwarded: forwarded?.unwrap_or_default(),
            providers: providers?,
            tokens: tokens?,
            acl: acl?,
        })
    })
}

fn read_providers(auth: &StrictObject<'_>) -> Read<Vec<Provider>> {
    let words = [
        ("bearer", Provider::Bearer),
        ("forwarded", Provider::Forwarded),
    ];
    let several = match (auth.get("provider"), auth.get("providers")) {
        (Some(_), Some(several)) => {
            return Err(several.wrong("stands beside `provider`: give one of both"));
        }
        (Some(one), None) => return Ok(vec![one.choice(&words)?]),
        (None, Some(several)) => several,
        (None, None) => return Ok(Vec::new()),
    };
    let mut providers = Vec::new();
    let mut mistakes = Mistakes::default();
    for element in several.elements()? {
        match mistakes.take(element.choice(&words)) {
            Some(provider) if providers.contains(&provider) => {
                mistakes.add(element.wrong("stands there twice"));
            }
            provider => providers.extend(provider),
        }
    }
    if providers.is_empty() && mistakes.is_empty() {
        mistakes.add(several.wrong("is empty: name \"bearer\" or \"forwarded\""));
    }
    mistakes.unless_any(Some(providers))
}

fn read_tokens(bearer: &StrictValue<'_>, warnings: &mut Vec<String>) -> Read<Vec<BearerToken>> {
    // A key may be a token in the wrong place, so it is not shown.
    let keys = bearer.members(|_, index| format!("{KEY}.bearer[{index}]"))?;
    let others = keys.iter().filter(|member| member.key != "tokens");
    let others = others.map(|other| {
        let problem = "is unknown: tokens stand under `tokens`";
        Err::<(), _>(other.value.wrong(problem))
    });
    Mistakes::gather(others)?;
    bearer.object(&["tokens"], |bearer, mistakes| {
        let tokens = bearer.get("tokens");
        let tokens = tokens.ok_or_else(|| bearer.wrong("has no `tokens`"));
        let tokens = mistakes.take(tokens)?;
        mistakes.take(read_all_tokens(tokens, warnings))
    })
}

fn read_all_tokens(tokens: &StrictValue<'_>, warnings: &mut Vec<String>) -> Read<Vec<BearerToken>> {
    // By their numbers: the tokens themselves must not show.
    let place = |index: usize| format!("{KEY}.bearer.tokens[{index}]");
    let members = tokens.members(|_, index| place(index))?;
    if members.is_empty() {
        return Err(tokens.wrong("is empty, so nobody could come in"));
    }
    if let Some(one_more) = members.get(MOST_TOKENS) {
        let problem = format_args!("is one too many: {MOST_TOKENS} tokens at most");
        return Err(one_more.value.wrong(problem));
    }
    let mut read: Vec<BearerToken> = Vec::with_capacity(members.len());
    let mut mistakes = Mistakes::default();
    for (index, member) in members.iter().enumerate() {
        let Some(token) = mistakes.take(read_token(member)) else {
            continue;
        };
        if read.iter().any(|other| other.hash == token.hash) {
            mistakes.add(member.value.wrong("is a token that stands there already"));
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
    mistakes.unless_any(Some(read))
}

fn read_token(member: &StrictMember<'_>) -> Read<BearerToken> {
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
        Ok(subject)
    };
    let (subject, roles) = if value.is_object() {
        value.object(&["subject", "roles"], |user, mistakes| {
            let subject = user.get("subject");
            let subject = subject.ok_or_else(|| user.wrong("has no `subject`"));
            let subject = mistakes.take(subject.and_then(subject_of));
            let role = |role: &str| {
                check_name(role)?;
                Ok::<_, &str>(role.to_owned())
            };
            let roles = user.get("roles");
            let roles = roles.map(|list| list.list(|text| role(text).map_err(str::to_owned)));
            let roles = mistakes.take(roles.transpose());
            Some((subject?, roles?.unwrap_or_default()))
        })?
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
    let is_credential = redacted(subject, TextKind::Prose) != subject || runs.any(is_mixed);
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

fn read_forwarded(value: &StrictValue<'_>) -> Read<Forwarded> {
    let known = ["header", "groups_header", "trusted_proxies"];
    value.object(&known, |section, mistakes| {
        let header = |key| section.get(key).map(read_header).transpose();
        let default = Forwarded::default();
        let user = mistakes.take(header("header"));
        let user = user.map(|user| user.unwrap_or(default.header));
        let groups_header = mistakes.take(header("groups_header"));
        if let (Some(user), Some(Some(groups))) = (&user, &groups_header)
            && user == groups
        {
            mistakes.add(section.wrong("names one header for users and groups"));
        }
        let trusted_proxies = match section.get("trusted_proxies") {
            None => Ok(default.trusted_proxies),
            Some(list) => list.list(network).and_then(|proxies| {
                if proxies.is_empty() {
                    return Err(list.wrong("is empty, so nobody would be believed"));
                }
                Ok(proxies)
            }),
        };
        let trusted_proxies = mistakes.take(trusted_proxies);
        Some(Forwarded {
            header: user?,
            groups_header: groups_header?,
            trusted_proxies: trusted_proxies?,
        })
    })
}

fn read_header(value: &StrictValue<'_>) -> Read<HeaderName> {
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
