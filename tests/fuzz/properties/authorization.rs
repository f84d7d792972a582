//! What authorization servers and browsers say: a challenge says what was written into it, whatever stands beside it, and a pasted
//! address what its query says.

use std::fmt::Write;

use mcpproxy::authorization::{BearerChallenge, Callback};

use super::ways::Ways;

/// Limit: scopes that are taken.
const MOST_SCOPES: usize = 64;

/// Limit: characters of one.
const LONGEST_SCOPE: usize = 128;

/// Any bytes: as a challenge and as an address, and its lines as what stands in a good one.
pub fn check(input: &[u8]) {
    check_in(Ways::All, input);
}

/// As some of these.
pub fn check_in(ways: Ways, input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let readings: [fn(&str); 4] = [
        check_challenge,
        check_address,
        |text| in_lines(text, check_written_challenge),
        |text| in_lines(text, check_written_query),
    ];
    for read in ways.among(&readings) {
        read(&text);
    }
}

fn in_lines(text: &str, check: fn(&str, &str, &str)) {
    let mut lines = text.split('\n');
    let mut line = || lines.next().unwrap_or_default();
    check(line(), line(), line());
}

fn check_challenge(text: &str) {
    let read = BearerChallenge::read(text);
    let lower = text.to_ascii_lowercase();
    assert!(!read.is_bearer || lower.contains("bearer"), "{text:?}");
    assert!(read.error.is_none() || lower.contains("error"), "{text:?}");
    assert!(
        read.scopes.is_empty() || lower.contains("scope"),
        "{text:?}"
    );
    assert!(read.scopes.len() <= MOST_SCOPES);
    let is_scope = |scope: &String| !scope.is_empty() && !scope.contains([' ', '\t', '\n', '\r']);
    assert!(read.scopes.iter().all(is_scope), "{:?}", read.scopes);
    // Blanks around and empty elements of the list say nothing (RFC 9110, 5.6.1). An open quote goes on.
    if !text.contains('"') {
        let wide = format!(" , ,{} , ", text.replace(',', " ,, "));
        assert_eq!(BearerChallenge::read(&wide), read, "{text:?}");
    }
}

/// A challenge of ours, with another one before or behind it.
fn check_written_challenge(error: &str, scope: &str, realm: &str) {
    let [error_text, scope_text, realm] = [error, scope, realm].map(quoted);
    let ours = format!("bEARER scope={scope_text}, Error = {error_text}");
    let expected = BearerChallenge {
        is_bearer: true,
        error: Some(error.to_owned()),
        scopes: scope
            .split_ascii_whitespace()
            .filter(|one| one.len() <= LONGEST_SCOPE && one.bytes().all(is_of_scopes))
            .take(MOST_SCOPES)
            .map(str::to_owned)
            .collect(),
    };
    for text in [
        ours.clone(),
        format!("Basic realm={realm}, {ours}"),
        format!("{ours},realm={realm},Negotiate"),
        format!("Negotiate , {ours},Digest realm={realm}, nonce=x"),
    ] {
        assert_eq!(BearerChallenge::read(&text), expected, "{text:?}");
    }
    assert_eq!(expected.lacks_scope(), error == "insufficient_scope");
}

/// What scopes are made of (RFC 6749, 3.3).
fn is_of_scopes(byte: u8) -> bool {
    matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e)
}

/// A quoted string (RFC 9110, 5.6.4).
fn quoted(text: &str) -> String {
    let escaped = text.chars().flat_map(|c| {
        let escape = matches!(c, '"' | '\\').then_some('\\');
        escape.into_iter().chain([c])
    });
    format!("\"{}\"", escaped.collect::<String>())
}

type Parameters = [Option<String>; 5];

fn parameters(callback: Callback) -> Parameters {
    [
        callback.code,
        callback.state,
        callback.issuer,
        callback.error,
        callback.error_description,
    ]
}

fn check_address(text: &str) {
    let read = parameters(Callback::of_query(text));
    assert_eq!(read, read_slowly(text), "{text:?}");
    if let Some(callback) = Callback::of_address(text) {
        assert!(parameters(callback) != Parameters::default(), "{text:?}");
        assert!(text.contains('?'), "{text:?}");
    }
}

/// The parameters of a query, byte by byte.
fn read_slowly(query: &str) -> Parameters {
    let pairs: Vec<(String, String)> = query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (decoded(name), decoded(value)))
        .collect();
    ["code", "state", "iss", "error", "error_description"].map(|wanted| {
        let mut values = pairs.iter().filter(|(name, _)| name == wanted);
        match (values.next(), values.next()) {
            (Some((_, value)), None) => Some(value.clone()),
            _ => None,
        }
    })
}

fn decoded(text: &str) -> String {
    let mut bytes = text.as_bytes();
    let mut found = Vec::new();
    while let [first, rest @ ..] = bytes {
        let hex = |place: usize| {
            let digit = char::from(*rest.get(place)?).to_digit(16)?;
            u8::try_from(digit).ok()
        };
        match (first, hex(0), hex(1)) {
            (b'%', Some(high), Some(low)) => {
                found.push(high << 4 | low);
                bytes = &rest[2..];
                continue;
            }
            (b'+', ..) => found.push(b' '),
            _ => found.push(*first),
        }
        bytes = rest;
    }
    String::from_utf8_lossy(&found).into_owned()
}

fn check_written_query(code: &str, state: &str, issuer: &str) {
    let [code_text, state_text, issuer_text] = [code, state, issuer].map(encoded);
    let query = format!("state={state_text}&code={code_text}&%69ss={issuer_text}&x");
    let expected: Parameters = [
        Some(code.to_owned()),
        Some(state.to_owned()),
        Some(issuer.to_owned()),
        None,
        None,
    ];
    for (before, after) in [
        ("", ""),
        (" \n\"", "\"\t"),
        ("'", "#code=none'"),
        ("<", ">\r\n"),
    ] {
        let address = format!("{before}http://127.0.0.1:1/callback?{query}{after}");
        // Limit: bytes of an address in the library that reads it.
        if address.len() < usize::from(u16::MAX) {
            let read = Callback::of_address(&address).map(parameters);
            assert!(read.is_some_and(|read| read == expected), "{address:?}");
        }
    }
    // What stands there twice says nothing.
    let twice = Callback::of_query(&format!("{query}&c%6fde=a&iss={issuer_text}"));
    assert!(twice.code.is_none() && twice.issuer.is_none());
    assert_eq!(twice.state.as_deref(), Some(state));
}

fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(3 * text.len());
    for byte in text.bytes() {
        write!(encoded, "%{byte:02X}").expect("writing to a text does not fail");
    }
    encoded
}
