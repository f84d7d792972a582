//! The words of somebody else, such as a server, as people read them.

use std::fmt;

use super::{
    cut::shortened_or_marked,
    redact::{self, TextKind},
    secret::Secrets,
    visible::visible_line,
};

/// Limit: bytes of them that are shown.
const SHOWN: usize = 300;

/// The beginning of a text from outside, as [`one_line`]. It displays itself in quotation marks, so that nobody takes it for words of mcpproxy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Quoted(Box<str>);

impl Quoted {
    /// Limit: bytes of a text that are looked at.
    pub const LOOKED_AT: usize = 4096;

    /// The beginning of this text, without these secrets.
    pub fn of(text: &[u8], secrets: &Secrets) -> Self {
        let text = text.trim_ascii();
        let text = String::from_utf8_lossy(text.get(..Self::LOOKED_AT).unwrap_or(text));
        Self(one_line(&text, secrets, SHOWN).into())
    }

    /// The words without quotation marks, for what is no sentence.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Quoted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.replace('"', "\\\""))
    }
}

/// The beginning of a text that may quote somebody, of at most so many bytes: on one line, with invisible characters escaped, without these
/// secrets and without what looks like one.
pub fn one_line(text: &str, secrets: &Secrets, longest: usize) -> String {
    let (known, is_cut) = secrets.redacted_to_show(text, longest);
    let line = visible_line(&redact::redacted(&known, TextKind::Prose));
    shortened_or_marked(line, longest, is_cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_words_are_one_line_in_quotation_marks_cut_and_without_secrets() {
        let secrets = Secrets::new(["hunter22", "a"].map(str::to_owned));
        let check = |text: &str, expected: &str| {
            let quoted = Quoted::of(text.as_bytes(), &secrets);
            assert_eq!(quoted.to_string(), expected);
            let again = Quoted::of(quoted.as_str().as_bytes(), &secrets);
            assert_eq!(again, quoted, "it stays the same");
        };
        check(
            " Listening on port 3\u{1b}[0m\r\n",
            r#""Listening on port 3\u{1b}[0m""#,
        );
        check("key hunter22 and \u{202e}a", r#""key *** and \u{202e}a""#);
        check("no\nroom: \"a\"; next", r#""no room: \"a\"; next""#);
        check("no: password=hunter3", r#""no: password=***""#);
        check("Authorization: Bearer abc", r#""Authorization: ***""#);
        check("sent ghp_0123456789abcdef", r#""sent ***""#);
        check(
            &"é".repeat(SHOWN + 1),
            &format!("\"{}…\"", "é".repeat(SHOWN / 2)),
        );
    }
}
