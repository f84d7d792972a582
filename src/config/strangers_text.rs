//! What of texts that strangers wrote may be shown: by the rules of `masking`, found in prose and in lines of files. Guesses err on the
//! side of masking. Texts in lists and in pairs of names and values are `strangers_lists`'s.

use std::borrow::Cow;

use super::{
    addresses::{self, Parameters},
    key_blocks::blocks,
    masking::{is_one_of, is_secret_name},
    next_place::{NextPlace, find},
    secret_words::{LONGEST_NAME, Ranges, is_of_name, words},
};
use crate::text::secret::MASK;

/// Headers whose values are secret in all their parts.
const SECRET_HEADERS: [&str; 4] = [
    "authorization",
    "proxy-authorization",
    "cookie",
    "set-cookie",
];

/// Whether the value of a member of this name is a secret, whatever it is.
pub fn names_a_secret(name: &str) -> bool {
    is_secret_name(name)
}

/// The value of a member of this name in text that a stranger wrote: nothing of it where the name says that it is a secret, else what
/// [`mask_text_of_strangers`] leaves.
pub fn mask_value<'a>(name: &str, value: &'a str) -> Cow<'a, str> {
    masked_value(name, value, Parameters::Secret)
}

/// The same for what is kept: else what [`mask_text_for_records`] leaves.
pub fn mask_value_for_records<'a>(name: &str, value: &'a str) -> Cow<'a, str> {
    masked_value(name, value, Parameters::All)
}

fn masked_value<'a>(name: &str, value: &'a str, parameters: Parameters) -> Cow<'a, str> {
    if is_secret_name(name) && !value.is_empty() {
        Cow::Borrowed(MASK)
    } else {
        masked(value, parameters)
    }
}

/// Text of a stranger, prose or not: what looks like a credential in it, or is introduced as one, is masked.
pub fn mask_text_of_strangers(text: &str) -> Cow<'_, str> {
    masked(text, Parameters::Secret)
}

/// The same for what is kept: of addresses no parameter is left, because codes and signatures have names of all kinds.
pub fn mask_text_for_records(text: &str) -> Cow<'_, str> {
    masked(text, Parameters::All)
}

/// Limit: how often a text is looked at in which something is masked each time.
const MOST_LOOKS: usize = 8;

/// What is left when nothing more is found: where something is masked, what stands before and behind it may be one word or one address.
fn masked(text: &str, parameters: Parameters) -> Cow<'_, str> {
    let mut shown = masked_once(text, parameters);
    for _ in 1..MOST_LOOKS {
        let Cow::Owned(before) = &shown else {
            break;
        };
        match masked_once(before, parameters) {
            Cow::Owned(after) if after != *before => shown = Cow::Owned(after),
            _ => break,
        }
    }
    shown
}

fn masked_once(text: &str, parameters: Parameters) -> Cow<'_, str> {
    let mut hidden = Vec::new();
    blocks(text, &mut hidden);
    addresses::hide(text, parameters, &mut hidden);
    declared(text, &mut hidden);
    elements(text, &mut hidden);
    headers(text, &mut hidden);
    words(text, &mut hidden);
    without(text, hidden)
}

/// The text with its parts masked that are to be hidden.
fn without(text: &str, mut hidden: Ranges) -> Cow<'_, str> {
    if hidden.is_empty() {
        return Cow::Borrowed(text);
    }
    hidden.sort_unstable_by_key(|range| (range.start, range.end));
    let (mut masked, mut done) = (String::with_capacity(text.len()), 0);
    for range in hidden {
        if range.start > done || masked.is_empty() {
            masked.push_str(text.get(done..range.start).unwrap_or_default());
            masked.push_str(MASK);
        }
        done = done.max(range.end);
    }
    masked.push_str(text.get(done..).unwrap_or_default());
    Cow::Owned(masked)
}

/// Elements whose names say that they are secret: `<password>…</password>`.
fn elements(text: &str, hidden: &mut Ranges) {
    let (mut ends, mut texts, mut tags) = <(NextPlace, NextPlace, NextPlace)>::default();
    let mut from = 0;
    while let Some(open) = find(text, from, |c| c == '<') {
        from = open + 1;
        let rest = text.get(from..).unwrap_or_default();
        let name = rest.split(|c: char| !is_of_name(c) && c != ':').next();
        let name = name.unwrap_or_default();
        if name.is_empty() || name.len() > LONGEST_NAME || !is_secret_name(name) {
            continue;
        }
        let Some(end) = ends.at_or_after(from, |from| find(text, from, |c| c == '>')) else {
            break;
        };
        let inside = end + 1;
        let Some(tag) = tags.at_or_after(inside, |from| find(text, from, |c| c == '<')) else {
            break;
        };
        let value = texts.at_or_after(inside, |from| find(text, from, |c| !c.is_whitespace()));
        let closes = text.get(tag..).is_some_and(|tag| tag.starts_with("</"));
        if closes && value.is_some_and(|value| value < tag) {
            hidden.push(inside..tag);
            from = tag;
        }
    }
}

/// Lines that give a secret its value: `export DB_PASSWORD=…`, `password: …`, `--token=…`.
fn declared(text: &str, hidden: &mut Ranges) {
    let mut from = 0;
    for line in text.split_inclusive('\n') {
        let start = from;
        from += line.len();
        let line = line.trim_end();
        let declaration = line.trim_start_matches([' ', '\t', '-', '>', '$', '+']);
        let declaration = ["export ", "set "]
            .iter()
            .find_map(|word| declaration.strip_prefix(word))
            .unwrap_or(declaration);
        let Some((name, value)) = declaration.split_once(['=', ':']) else {
            continue;
        };
        let name = name.trim_end();
        let is_name = name.len() <= LONGEST_NAME && name.chars().all(is_of_name);
        let value = value.trim_start();
        // What is quoted ends with its quote.
        if is_name && !value.is_empty() && !value.starts_with(QUOTES) && is_secret_name(name) {
            let end = start + line.len();
            hidden.push(end - value.len()..end);
        }
    }
}

const QUOTES: [char; 5] = ['"', '\'', '`', '{', '['];

/// Headers anywhere in a text, to the quote before which they stand or to the end of the line.
fn headers(text: &str, hidden: &mut Ranges) {
    let is_line_end = |c: char| matches!(c, '\n' | '\r');
    let (mut line_ends, mut values) = <(NextPlace, NextPlace)>::default();
    let mut quotes: [NextPlace; QUOTES.len()] = Default::default();
    for (colon, _) in text.match_indices(':') {
        let before = text.get(..colon).unwrap_or_default();
        let name_from = before
            .char_indices()
            .rev()
            .take(LONGEST_NAME)
            .take_while(|(_, c)| c.is_ascii_alphanumeric() || *c == '-')
            .last();
        let Some((name_from, _)) = name_from else {
            continue;
        };
        let name = before.get(name_from..).unwrap_or_default();
        let is_header = is_one_of(name, &SECRET_HEADERS)
            || name.contains('-') && !name.starts_with('-') && is_secret_name(name);
        let rest = text.get(colon + 1..).unwrap_or_default();
        if !is_header || rest.starts_with("//") {
            continue;
        }
        let start = colon + 1;
        let line_end = line_ends.at_or_after(start, |from| find(text, from, is_line_end));
        let mut end = line_end.unwrap_or(text.len());
        let before = text.get(..name_from).unwrap_or_default();
        let mut quotes = QUOTES.iter().zip(&mut quotes);
        if let Some((quote, places)) = quotes.find(|(quote, _)| before.ends_with(**quote)) {
            let quote = places.at_or_after(start, |from| find(text, from, |c| c == *quote));
            end = end.min(quote.unwrap_or(end));
        }
        let value = values.at_or_after(start, |from| find(text, from, |c| !c.is_whitespace()));
        if let Some(value) = value.filter(|value| *value < end) {
            hidden.push(value..end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_loses_what_looks_like_a_credential() {
        let check = |text: &str, expected: &str| assert_eq!(mask_text_of_strangers(text), expected);
        check("create an issue, please", "create an issue, please");
        check("use ghp_0123456789, then", "use ***, then");
        check("say Bearer abc d", "say Bearer *** d");
        check("password=hunter2", "password=***");
        check("the password: hunter2 (mine)", "the password: *** (mine)");
        check(
            "up__ghp_0123456789 up__echo_text_now",
            "*** up__echo_text_now",
        );
        check("{\"token\": \"abc\"}", "{\"token\": \"***\"}");
        check(
            "so {\"token\": \"a b, c\", \"n\": 1}",
            "so {\"token\": \"***\", \"n\": 1}",
        );
        check(
            r#"so {\"token\": \"a b\", \"n\": 1}"#,
            r#"so {\"token\": \"***\", \"n\": 1}"#,
        );
        check(
            r#"so {\"token\": \"ab\", \"n\": 1}"#,
            r#"so {\"token\": \"***\", \"n\": 1}"#,
        );
        check("x password='a b' y", "x password='***' y");
        check("mysql --password hunter2 -e x", "mysql --password *** -e x");
        check("", "");
        assert_eq!(mask_value("token", "abc"), "***");
        assert_eq!(mask_value("path", "abc"), "abc");
    }

    #[test]
    fn lines_that_declare_and_headers_are_masked_to_their_end() {
        let check = |text: &str, expected: &str| assert_eq!(mask_text_of_strangers(text), expected);
        check("Authorization: Bearer abc d", "Authorization: ***");
        check(
            "Authorization: Token abc\nHost: h",
            "Authorization: ***\nHost: h",
        );
        check("GET / Cookie: a=b; c=d", "GET / Cookie: ***");
        check(
            "curl -H 'Cookie: a=b; c=d' -H \"X-Api-Key: e f\" https://h/",
            "curl -H 'Cookie: ***' -H \"X-Api-Key: ***\" https://h/",
        );
        check("password: hunter2 (mine)", "password: ***");
        check(
            "A=1\nexport DB_PASSWORD=correct horse\nB=2",
            "A=1\nexport DB_PASSWORD=***\nB=2",
        );
        check("--token=a b", "--token=***");
        check("https://h/x?token='", "https://h/x?token='");
        check("https://u@{x_xapp-abcdefgh://u{:p@h/x", "https://***@h/x");
        check("https://,u:p@h/SG.oken=", "https://***@h/***");
        check("path: a b", "path: a b");
    }

    #[test]
    fn a_key_in_several_lines_is_masked_whole() {
        let check = |text: &str, expected: &str| assert_eq!(mask_text_of_strangers(text), expected);
        let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIE pQIB\nAAKC/AQEA+x==\n-----END RSA PRIVATE KEY-----";
        check(&format!("a {key}\nb {key} c"), "a ***\nb *** c");
        check("a -----BEGIN PRIVATE KEY-----\\nMIIE\\nab", "a ***");
        check("-----BEGIN A-----\nb", "***");
    }

    #[test]
    fn logins_elements_and_keys_in_small_letters_are_masked() {
        let check = |text: &str, expected: &str| assert_eq!(mask_text_of_strangers(text), expected);
        check("curl -u bob:S https://h/", "curl -u *** https://h/");
        check("curl --user 'bob:S x' h", "curl --user '***' h");
        check("docker run -u 1000:1000 x", "docker run -u 1000:1000 x");
        check(
            "a <password>S x</password> b",
            "a <password>***</password> b",
        );
        check("<o:Key id=\"1\">S</o:Key>", "<o:Key id=\"1\">***</o:Key>");
        check("say <token> and <name>", "say <token> and <name>");
        check(
            "a -----begin private key-----\nmii\n-----end private key----- b",
            "a *** b",
        );
        check("otp=123 x", "otp=***");
        assert_eq!(mask_value("jwt", "a"), "***");
        assert_eq!(mask_value("PHPSESSID", "a"), "***");
    }

    #[test]
    fn the_time_a_text_takes_grows_with_its_length_only() {
        // Whoever looks from each place to the end of the text takes a minute for each of these and more.
        const LENGTH: usize = 1 << 20;
        for part in [
            "/",
            "//a:b",
            "://a#",
            "://a:b@",
            "a:b@tcp(",
            "token%3D",
            "token[0]=",
            "<token",
            "<token>",
            "<token>  ",
            "cookie:",
            "x-key:'",
            "Bearer '",
            "token: \"",
            "-----BEGIN",
            "?token",
            "?token=",
            "SG.a_ghp_",
        ] {
            let text = part.repeat(LENGTH / part.len());
            let shown = mask_text_for_records(&text);
            let again = mask_text_for_records(&shown);
            assert_eq!(again.len(), shown.len(), "{part}");
        }
    }
}
