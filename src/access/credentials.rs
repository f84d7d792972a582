//! The credentials in the headers of a request: a token, or a user whom a trusted proxy names. Pure: the settings say whose a token is.

use std::net::IpAddr;

use http::{HeaderMap, HeaderName, header};

use crate::config::{Forwarded, check_name, check_subject};

/// Limit: roles that a proxy names.
const MOST_ROLES: usize = 256;

/// What a proxy must send instead of a header that appears twice.
const ONCE: &str = "only one header";

/// A header with a credential that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{part}the header {header} {problem}")]
pub struct BadHeader {
    /// The header.
    pub header: HeaderName,
    /// The part that is wrong, in words that the header follows; empty if it is all of it.
    part: &'static str,
    /// What is wrong with it, without its value.
    problem: &'static str,
    /// What a proxy must send, in words that the header follows.
    pub wanted: &'static str,
}

impl BadHeader {
    fn of(header: &HeaderName, problem: &'static str, wanted: &'static str) -> Self {
        Self {
            header: header.clone(),
            part: "",
            problem,
            wanted,
        }
    }
}

/// A user whom a proxy names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForwardedUser {
    /// The user.
    pub subject: String,
    /// The user's groups.
    pub roles: Vec<String>,
}

/// The token of `Authorization: Bearer …`; `None` where there is no such header, or one of another scheme.
pub fn bearer_token(headers: &HeaderMap) -> Result<Option<&str>, BadHeader> {
    let Some(value) = only(headers, &header::AUTHORIZATION, ONCE)? else {
        return Ok(None);
    };
    let bad = |problem| BadHeader::of(&header::AUTHORIZATION, problem, "a token in");
    let value = value.trim_matches(' ');
    let (scheme, token) = value.split_once(' ').unwrap_or((value, ""));
    if !scheme.eq_ignore_ascii_case("bearer") {
        return if value.is_empty() {
            Err(bad("is empty"))
        } else {
            Ok(None)
        };
    }
    let token = token.trim_matches(' ');
    if token.is_empty() {
        return Err(bad("has no token"));
    }
    if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(bad(
            "has a token with a character that tokens cannot contain",
        ));
    }
    Ok(Some(token))
}

/// The user whom the headers name. Read it only in requests of a trusted proxy.
pub fn forwarded_user(
    headers: &HeaderMap,
    names: &Forwarded,
) -> Result<Option<ForwardedUser>, BadHeader> {
    let Some(subject) = only(headers, &names.header, ONCE)? else {
        return Ok(None);
    };
    check_subject(subject)
        .map_err(|problem| BadHeader::of(&names.header, problem, "a valid name in"))?;
    let groups = names.groups_header.as_ref();
    let roles = groups.map(|name| roles(headers, name)).transpose()?;
    Ok(Some(ForwardedUser {
        subject: subject.to_owned(),
        roles: roles.unwrap_or_default(),
    }))
}

/// Whether this address is that of a proxy whose headers are believed.
pub(super) fn is_trusted(names: &Forwarded, peer: IpAddr) -> bool {
    let peer = peer.to_canonical();
    names
        .trusted_proxies
        .iter()
        .any(|network| network.contains(&peer))
}

fn roles(headers: &HeaderMap, header: &HeaderName) -> Result<Vec<String>, BadHeader> {
    let once = "all groups, separated by commas, in one header";
    let roles = only(headers, header, once)?
        .unwrap_or_default()
        .split(',')
        .map(|role| role.trim_matches([' ', '\t']));
    let mut read = Vec::new();
    for role in roles.filter(|role| !role.is_empty()) {
        check_name(role).map_err(|problem| BadHeader {
            part: "a group in ",
            ..BadHeader::of(header, problem, "a valid name for each group in")
        })?;
        if read.len() == MOST_ROLES {
            let (problem, wanted) = ("names more than 256 groups", "at most 256 groups in");
            return Err(BadHeader::of(header, problem, wanted));
        }
        read.push(role.to_owned());
    }
    Ok(read)
}

/// The value of a header that may appear once: of two, a proxy might believe another one than mcpproxy.
fn only<'h>(
    headers: &'h HeaderMap,
    name: &HeaderName,
    once: &'static str,
) -> Result<Option<&'h str>, BadHeader> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(BadHeader::of(name, "appears twice", once));
    }
    let text = str::from_utf8(value.as_bytes());
    text.map(Some)
        .map_err(|_| BadHeader::of(name, "is not text", "UTF-8 in"))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(all: &[(&'static str, &[u8])]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &[u8])| {
            let value = HeaderValue::from_bytes(value).expect("a header value");
            (HeaderName::from_static(name), value)
        };
        let mut headers = HeaderMap::new();
        for (name, value) in all.iter().map(pair) {
            headers.append(name, value);
        }
        headers
    }

    #[test]
    fn a_token_stands_behind_its_scheme() {
        let check = |value: &[u8], expected: Result<Option<&str>, ()>| {
            let headers = headers(&[("authorization", value)]);
            let found = bearer_token(&headers).map_err(drop);
            assert_eq!(found, expected, "{headers:?}");
        };
        check(b"Bearer abc.DEF-_~+/=", Ok(Some("abc.DEF-_~+/=")));
        check(b"bearer  abc", Ok(Some("abc")));
        check(b"Basic abc", Ok(None));
        check(b"Bearerabc", Ok(None));
        check(b"abc", Ok(None));
        for bad in [
            &b"Bearer"[..],
            b"Bearer ",
            b"",
            b"Bearer a b",
            b"Bearer a\tb",
            b"Bearer \xc3\xa4",
            b"\xff",
        ] {
            check(bad, Err(()));
        }
        let twice = headers(&[
            ("authorization", b"Bearer a"),
            ("authorization", b"Bearer a"),
        ]);
        assert!(bearer_token(&twice).is_err());
        assert_eq!(bearer_token(&HeaderMap::new()), Ok(None));
    }

    #[test]
    fn a_user_is_one_name_and_its_groups_are_a_list() {
        let names = Forwarded {
            groups_header: Some(HeaderName::from_static("x-groups")),
            ..Forwarded::default()
        };
        let check = |all: &[(&'static str, &[u8])],
                     expected: Result<Option<(&str, &[&str])>, ()>| {
            let headers = headers(all);
            let found = forwarded_user(&headers, &names).map_err(drop);
            let expected = expected.map(|user| {
                user.map(|(subject, roles)| ForwardedUser {
                    subject: subject.to_owned(),
                    roles: roles.iter().map(|role| (*role).to_owned()).collect(),
                })
            });
            assert_eq!(found, expected, "{headers:?}");
        };
        let user = "x-forwarded-user";
        check(
            &[(user, b"ada@example.com")],
            Ok(Some(("ada@example.com", &[]))),
        );
        check(&[(user, "ädä".as_bytes())], Ok(Some(("ädä", &[]))));
        check(
            &[(user, b"ada"), ("x-groups", b"dev, ops,, qa ")],
            Ok(Some(("ada", &["dev", "ops", "qa"]))),
        );
        check(&[("x-groups", b"dev")], Ok(None));
        for bad in [
            &b""[..],
            b"ada, root",
            b"a\tb",
            b"Operator",
            b"anonymous",
            b"\xff",
            "a\u{202e}".as_bytes(),
        ] {
            check(&[(user, bad)], Err(()));
        }
        check(&[(user, b"ada"), (user, b"ada")], Err(()));
        check(
            &[(user, b"ada"), ("x-groups", b"a"), ("x-groups", b"b")],
            Err(()),
        );
        check(&[(user, b"ada"), ("x-groups", b"a\tb")], Err(()));
        check(&[(user, &[b'a'; 257])], Err(()));
        for (groups, why) in [
            (
                "a".repeat(257),
                "a group in the header x-groups is longer than 256 characters",
            ),
            (
                "a,".repeat(257),
                "the header x-groups names more than 256 groups",
            ),
        ] {
            let mut headers = headers(&[(user, b"ada")]);
            headers.insert("x-groups", groups.parse().expect("a header value"));
            let bad = forwarded_user(&headers, &names).expect_err(why);
            assert_eq!(bad.to_string(), why);
        }
        let groups = headers(&[(user, b"ada"), ("x-groups", b"a"), ("x-groups", b"b")]);
        let bad = forwarded_user(&groups, &names).expect_err("twice");
        let once = "all groups, separated by commas, in one header";
        assert_eq!(bad.wanted, once);
        let bad = forwarded_user(&headers(&[(user, b"a"), (user, b"b")]), &names);
        assert_eq!(bad.expect_err("twice").wanted, ONCE);
    }

    #[test]
    fn only_trusted_addresses_are_believed() {
        let check = |peer: &str, expected: bool| {
            let peer = peer.parse().expect("an address");
            assert_eq!(is_trusted(&Forwarded::default(), peer), expected, "{peer}");
        };
        check("127.0.0.1", true);
        check("127.9.9.9", true);
        check("::1", true);
        check("::ffff:127.0.0.1", true);
        check("10.0.0.1", false);
        check("::2", false);
    }
}
