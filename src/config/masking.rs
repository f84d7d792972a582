//! What looks like a credential, so that listings mask it. Guesses err on the side of masking.

use std::ops::Range;

use base64::{Engine, prelude::BASE64_STANDARD};
use percent_encoding::percent_decode_str;

use super::settings::is_safe_variable;
use crate::text::secret::MASK;

/// Parts of names whose values are secrets, in lower case without `_` and `-`.
pub(super) const SECRET_NAMES: &[&str] = &[
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "apikey",
    "accesskey",
    "privatekey",
    "credential",
    "authorization",
    "bearer",
    "cookie",
    "webhook",
    "connectionstring",
    "sessionid",
    "sessid",
];

/// Words that say so only where they stand alone: "pat" and "auth" inside others ("path", "author") say nothing.
pub(super) const SECRET_WORDS: &[&str] = &[
    "auth",
    "session",
    "signature",
    "dsn",
    "pat",
    "key",
    "pass",
    "pwd",
    "otp",
    "totp",
    "jwt",
];

/// What stands before a credential in a header.
pub(super) const SECRET_SCHEMES: &[&str] = &["basic", "bearer"];

/// How well-known credentials begin.
pub(super) const SECRET_PREFIXES: &[&str] = &[
    "sk-",
    "sk_",
    "pk_",
    "rk_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xox",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "ya29.",
    "eyJ",
    "hf_",
    "npm_",
    "pypi-",
    "dop_v1_",
    "shpat_",
    "SG.",
    "figd_",
    "lin_api_",
    "ntn_",
    "secret_",
    "-----BEGIN",
    "Bearer ",
    "Basic ",
];

/// Limit: shorter values do not look like anything.
pub(super) const SHORTEST_CREDENTIAL: usize = 8;

/// Limit: shorter runs of letters and digits are words, versions or dates.
const TOKEN_RUN: usize = 20;

/// Whether a variable, flag, header or parameter of this name holds a secret.
pub(super) fn is_secret_name(name: &str) -> bool {
    let folded: String = name
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect();
    SECRET_NAMES.iter().any(|part| folded.contains(part))
        || name
            .split(|c: char| !c.is_ascii_alphanumeric())
            .any(|word| is_one_of(word, SECRET_WORDS))
}

pub(super) fn is_one_of(word: &str, words: &[&str]) -> bool {
    words.iter().any(|other| word.eq_ignore_ascii_case(other))
}

/// Whether a value looks like a credential by itself.
fn is_credential(value: &str) -> bool {
    if value.len() < SHORTEST_CREDENTIAL {
        return false;
    }
    if SECRET_PREFIXES.iter().any(|p| value.starts_with(p)) {
        return true;
    }
    is_uuid(value)
        || value
            .split(|c: char| !c.is_ascii_alphanumeric())
            .any(is_token_run)
}

fn is_uuid(value: &str) -> bool {
    const LENGTH: usize = 36;
    if value.len() != LENGTH {
        return false;
    }
    let groups: Vec<&str> = value.split('-').collect();
    groups.iter().map(|g| g.len()).eq([8, 4, 4, 4, 12])
        && groups
            .iter()
            .all(|g| g.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// A long run of mixed letters and digits, as random tokens are.
fn is_token_run(run: &str) -> bool {
    let digits = run.bytes().filter(u8::is_ascii_digit).count();
    run.len() >= TOKEN_RUN && digits >= 2 && digits < run.len()
}

/// A piece of a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Piece<'a> {
    /// Listings show it.
    Shown(&'a str),
    /// It looks like a credential.
    Hidden(&'a str),
}

use Piece::{Hidden, Shown};

/// The arguments of a command as listings show them.
pub(super) fn mask_arguments(arguments: &[String]) -> Vec<String> {
    pieces_of_arguments(arguments)
        .iter()
        .map(|pieces| joined(pieces))
        .collect()
}

/// One argument, command or path as listings show it.
pub(super) fn mask_text(text: &str) -> String {
    joined(&pieces_of_text(text))
}

/// A URL as listings show it: without user, password, secret parameters and path segments that look like keys.
pub(super) fn mask_url(url: &str) -> String {
    let shown = url.split('#').next().unwrap_or_default();
    joined(&pieces_of_url(shown))
}

/// What [`mask_arguments`] hides.
pub(super) fn credentials_in_arguments(arguments: &[String]) -> Vec<String> {
    hidden(&pieces_of_arguments(arguments).concat())
}

/// What [`mask_url`] hides, the password of `user:password` by itself as well, and both as a header carries them (RFC 7617).
pub(super) fn credentials_in_url(url: &str) -> Vec<String> {
    let mut found = hidden(&pieces_of_url(url));
    let mut derived = Vec::new();
    for text in &found {
        if let Some((_, password)) = text.split_once(':') {
            derived.push(password.to_owned());
            let decoded: Vec<u8> = percent_decode_str(text).collect();
            derived.push(BASE64_STANDARD.encode(decoded));
        }
    }
    found.extend(derived);
    found
}

/// What is secret of the value of a variable: all of it, unless variables of that name lead somewhere; then what looks so.
pub(super) fn credentials_in_variable(name: &str, value: &str) -> Vec<String> {
    if is_safe_variable(name) {
        credentials_in_url(value)
    } else {
        vec![value.to_owned()]
    }
}

/// What is secret of a variable that an entry sets.
pub(super) fn credentials_in_setting(name: &str, value: &str) -> Vec<String> {
    if is_secret_name(name) {
        vec![value.to_owned()]
    } else {
        credentials_in_url(value)
    }
}

fn joined(pieces: &[Piece<'_>]) -> String {
    let shown = |piece: &Piece<'_>| match *piece {
        Shown(text) => text.to_owned(),
        Hidden(_) => MASK.to_owned(),
    };
    pieces.iter().map(shown).collect()
}

fn hidden(pieces: &[Piece<'_>]) -> Vec<String> {
    let hidden = pieces.iter().filter_map(|piece| match *piece {
        Hidden(text) => Some(text.to_owned()),
        Shown(_) => None,
    });
    hidden.collect()
}

fn pieces_of_arguments(arguments: &[String]) -> Vec<Vec<Piece<'_>>> {
    let mut follows_secret_flag = false;
    let mut all = Vec::with_capacity(arguments.len());
    for argument in arguments {
        all.push(if follows_secret_flag {
            vec![Hidden(argument)]
        } else {
            pieces_of_text(argument)
        });
        follows_secret_flag = is_secret_flag(argument);
    }
    all
}

/// Whether the value of this flag is a secret and comes as the next argument.
pub(super) fn is_secret_flag(argument: &str) -> bool {
    let flag = argument.trim_start_matches('-');
    // What was masked had a value in it, so what comes next is another one.
    flag.len() < argument.len()
        && !flag.contains(|c: char| c == '=' || c.is_whitespace())
        && !flag.contains(MASK)
        && is_secret_name(flag)
}

/// Where in a text it hides something, in bytes. Of what is empty there is nothing to hide.
pub(super) fn hidden_in(text: &str) -> Vec<Range<usize>> {
    let mut at = 0;
    let ranges = pieces_of_text(text).into_iter().filter_map(|piece| {
        let (Shown(part) | Hidden(part)) = piece;
        let range = at..at + part.len();
        at = range.end;
        matches!(piece, Hidden(part) if !part.is_empty()).then_some(range)
    });
    ranges.collect()
}

fn pieces_of_text(text: &str) -> Vec<Piece<'_>> {
    if text.contains("://") {
        return match text.split_once('=') {
            Some((name, url)) if !name.contains("://") => {
                let mut pieces = vec![Shown(name), Shown("=")];
                pieces.extend(pieces_of_url(url));
                pieces
            }
            _ => pieces_of_url(text),
        };
    }
    for separator in ['=', ':'] {
        if let Some((name, value)) = text.split_once(separator)
            && !value.is_empty()
            && !name.contains('/')
            && (is_secret_name(name) || is_credential(value))
        {
            let value = value.strip_prefix(' ').unwrap_or(value);
            let (before, value) = text.split_at(text.len() - value.len());
            let joint = before.get(name.len()..).unwrap_or_default();
            // A name that says so is shown; what only stands before a credential may be one, too.
            let mut pieces = if is_secret_name(name) {
                vec![Shown(name)]
            } else {
                pieces_of_text(name)
            };
            pieces.extend([Shown(joint), Hidden(value)]);
            return pieces;
        }
    }
    if let Some(at) = end_of_secret_name_inside(text) {
        let (before, value) = text.split_at(at);
        return vec![Shown(before), Hidden(value)];
    }
    vec![credential_or(text)]
}

/// Where the value begins in `--env=TOKEN=x` and `--header=X-Api-Key: x`.
fn end_of_secret_name_inside(text: &str) -> Option<usize> {
    /// Limit: separators of one text that are looked at.
    const SEPARATORS: usize = 8;
    let mut name_from = 0;
    for (at, separator) in text.match_indices(['=', ':']).take(SEPARATORS) {
        let name = text.get(name_from..at).unwrap_or_default();
        name_from = at + separator.len();
        let value = text.get(name_from..).unwrap_or_default();
        let blanks = value.len() - value.trim_start_matches(' ').len();
        if blanks < value.len() && !name.contains('/') && is_secret_name(name) {
            return Some(name_from + blanks);
        }
    }
    None
}

fn pieces_of_url(url: &str) -> Vec<Piece<'_>> {
    let Some((scheme, rest)) = url.split_once("://") else {
        return pieces_of_text(url);
    };
    let (rest, fragment) = match rest.split_once('#') {
        Some((rest, fragment)) => (rest, Some(fragment)),
        None => (rest, None),
    };
    let (place, query) = match rest.split_once('?') {
        Some((place, query)) => (place, Some(query)),
        None => (rest, None),
    };
    let mut segments = place.split('/');
    let authority = segments.next().unwrap_or_default();
    let mut pieces = vec![Shown(scheme), Shown("://")];
    match authority.rsplit_once('@') {
        Some((user, host)) => pieces.extend([Hidden(user), Shown("@"), Shown(host)]),
        None => pieces.push(Shown(authority)),
    }
    for segment in segments {
        pieces.extend([Shown("/"), credential_or(segment)]);
    }
    for (parameter, before) in query
        .into_iter()
        .flat_map(|query| query.split('&'))
        .zip(std::iter::once("?").chain(std::iter::repeat("&")))
    {
        pieces.push(Shown(before));
        pieces.extend(pieces_of_parameter(parameter));
    }
    if let Some(fragment) = fragment {
        pieces.extend([Shown("#"), Hidden(fragment)]);
    }
    pieces
}

fn pieces_of_parameter(parameter: &str) -> Vec<Piece<'_>> {
    match parameter.split_once('=') {
        Some((name, value)) if is_secret_name(name) || is_credential(value) => {
            vec![Shown(name), Shown("="), Hidden(value)]
        }
        None => vec![credential_or(parameter)],
        _ => vec![Shown(parameter)],
    }
}

fn credential_or(text: &str) -> Piece<'_> {
    if is_credential(text) {
        Hidden(text)
    } else {
        Shown(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(arguments: &[&str], expected: &[&str]) {
        let arguments: Vec<String> = arguments.iter().map(|a| (*a).to_owned()).collect();
        assert_eq!(mask_arguments(&arguments), expected);
    }

    #[test]
    fn arguments_that_carry_credentials_are_masked() {
        check(&["--token", "abc", "x"], &["--token", "***", "x"]);
        check(&["--api-key=abc"], &["--api-key=***"]);
        check(&["-e", "GITHUB_TOKEN=abc"], &["-e", "GITHUB_TOKEN=***"]);
        check(
            &["--header", "Authorization: Bearer abc"],
            &["--header", "Authorization: ***"],
        );
        check(&["ghp_0123456789"], &["***"]);
        check(&["--pat", "abc"], &["--pat", "***"]);
        check(&["1b4e28ba-2fa1-11d2-883f-0016d3cca427"], &["***"]);
        check(&["DB=postgres://u:p@h/db"], &["DB=postgres://***@h/db"]);
        check(&["x:ghp_0123456789"], &["x:***"]);
        let random = "0123456789abcdef0123";
        check(&[&format!("{random}:{random}=y")], &["***:***"]);
        check(
            &[&format!("{random}-token:{random}")],
            &[&format!("{random}-token:***")],
        );
        check(&["--env=GITHUB_TOKEN=a b"], &["--env=GITHUB_TOKEN=***"]);
        check(&["--header=X-Api-Key: abc"], &["--header=X-Api-Key: ***"]);
    }

    #[test]
    fn ordinary_arguments_are_shown() {
        for plain in [
            "-y",
            "@modelcontextprotocol/server-filesystem",
            "/home/me/projects",
            "run",
            "--rm",
            "ghcr.io/github/github-mcp-server:v1.2.3",
            "--path",
            "--author=me",
            "--port=8080",
            "mcp-server-sqlite-2025.1.2",
            "C:/Users/me",
            "https://example.com/mcp?x=1",
            "EnvironmentVariablesOfTheWorld",
        ] {
            check(&[plain], &[plain]);
        }
        check(&["--path", "x"], &["--path", "x"]);
    }

    #[test]
    fn urls_lose_their_credentials() {
        let check = |url: &str, expected: &str| assert_eq!(mask_url(url), expected);
        check("https://u:p@h:1/mcp", "https://***@h:1/mcp");
        check(
            "https://h/mcp?api_key=x&a=1",
            "https://h/mcp?api_key=***&a=1",
        );
        check(
            "https://h/s/a8f5f167f44f4964e6c998dee827110c/mcp#x",
            "https://h/s/***/mcp",
        );
        check("http://localhost:3000/mcp", "http://localhost:3000/mcp");
        check("http://h/?", "http://h/?");
        check("http://h?a=1&b", "http://h?a=1&b");
    }

    #[test]
    fn what_is_hidden_is_known() {
        let url = "https://u:pass@h/s/a8f5f167f44f4964e6c998dee827110c?api_key=x&a=1";
        let found = [
            "u:pass",
            "a8f5f167f44f4964e6c998dee827110c",
            "x",
            "pass",
            "dTpwYXNz",
        ];
        assert_eq!(credentials_in_url(url), found);
        let arguments = [
            "--token",
            "abc",
            "K=1",
            "-e",
            "KEY=d",
            "Authorization: Bearer e",
        ]
        .map(str::to_owned);
        assert_eq!(
            credentials_in_arguments(&arguments),
            ["abc", "d", "Bearer e"]
        );
    }
}
