//! Words of a text that are credentials: because they look like one, or because the word before them says so.

use std::ops::Range;

use super::masking::{
    SECRET_PREFIXES, SECRET_SCHEMES, SHORTEST_CREDENTIAL, hidden_in, is_one_of, is_secret_flag,
    is_secret_name,
};

/// Limit: characters of a name. Longer words are none.
pub(super) const LONGEST_NAME: usize = 64;

/// Parts of a text.
pub(super) type Ranges = Vec<Range<usize>>;

/// Words that look like credentials, and those that follow a word which says so.
pub(super) fn words(text: &str, hidden: &mut Ranges) {
    let mut at = 0;
    let (mut is_announced, mut before) = (false, "");
    for part in text.split_inclusive(is_between_words) {
        let word = part.trim_end_matches(is_between_words);
        let start = at;
        at += part.len();
        if word.is_empty() || word.bytes().all(|byte| byte == b'\\') {
            continue;
        }
        let is_announcing = announces(word);
        let is_login = is_user_flag(before) && is_login(word);
        if is_announced && !is_announcing || is_login {
            hidden.push(start..end_of_value(text, start, word));
        } else if has_credential_inside(word) {
            hidden.push(start..start + word.len());
        } else if may_be_credential(word) {
            let inside = hidden_in(word).into_iter();
            hidden.extend(inside.map(|range| start + range.start..start + range.end));
        }
        // A quoted name and its colon are words of their own.
        is_announced = is_announcing || (matches!(word, ":" | "=") && is_secret_name(before));
        before = word;
    }
}

/// Where a value ends that begins with this word: at its closing quote, if it has one, else after the word.
fn end_of_value(text: &str, start: usize, word: &str) -> usize {
    let quote = text.get(..start).and_then(|text| text.chars().next_back());
    let rest = text.get(start..).unwrap_or_default();
    let quoted = quote
        .filter(|quote| matches!(quote, '"' | '\'' | '`'))
        .and_then(|quote| closing(rest, quote));
    start + quoted.unwrap_or(word.len())
}

/// Where the quote stands that closes a text; a quote after a backslash closes only what one of its like opened.
fn closing(text: &str, quote: char) -> Option<usize> {
    let at = text.find(quote)?;
    let value = text.get(..at)?;
    Some(value.trim_end_matches('\\').len())
}

/// Whether a word is worth a closer look. Texts are long, and most words are short.
fn may_be_credential(word: &str) -> bool {
    word.len() >= SHORTEST_CREDENTIAL || word.bytes().any(|b| matches!(b, b'=' | b':'))
}

/// Whether a well-known credential begins after a separator inside a word: `server__ghp_…`.
fn has_credential_inside(word: &str) -> bool {
    // Limit: shorter beginnings are parts of ordinary names.
    const SHORTEST_PREFIX: usize = 4;
    let ends = word.match_indices(|c: char| !c.is_ascii_alphanumeric());
    ends.filter_map(|(at, separator)| word.get(at + separator.len()..))
        .take_while(|rest| rest.len() >= SHORTEST_CREDENTIAL)
        .any(|rest| {
            let mut prefixes = SECRET_PREFIXES
                .iter()
                .filter(|p| p.len() >= SHORTEST_PREFIX);
            prefixes.any(|prefix| rest.starts_with(prefix))
        })
}

fn is_between_words(c: char) -> bool {
    c.is_whitespace()
        || matches!(
            c,
            '"' | '\'' | '`' | ',' | ';' | '<' | '>' | '(' | ')' | '[' | ']' | '{' | '}'
        )
}

/// Whether the next word is a secret: `password: …`, `Bearer …`, `--token …`.
fn announces(word: &str) -> bool {
    match word.as_bytes() {
        [.., b':' | b'='] => is_secret_name(word.trim_end_matches([':', '='])),
        [b'-', b'-', ..] => is_secret_flag(word),
        _ => is_scheme(word),
    }
}

/// Whether user and password follow, as programs that fetch addresses take them.
pub(super) fn is_user_flag(word: &str) -> bool {
    matches!(word, "-u" | "-U" | "--user" | "--proxy-user")
}

/// Whether a text is user and password: not so the numbers of a user and a group.
pub(super) fn is_login(text: &str) -> bool {
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let parts = text.split_once(':');
    parts.is_some_and(|(user, password)| {
        !(password.is_empty() || is_number(user) && is_number(password))
    })
}

/// Whether what follows is a credential of this scheme.
pub(super) fn is_scheme(word: &str) -> bool {
    is_one_of(word, SECRET_SCHEMES)
}

/// What names of settings, variables and headers are made of.
pub(super) fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')
}
