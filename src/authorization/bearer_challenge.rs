//! Reads what a `WWW-Authenticate` says that concerns tokens (RFC 6750, 3; RFC 9110, 11.6.1). Pure.

/// The parts of a challenge that decide what is done.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct BearerChallenge {
    /// Whether it wants a token.
    pub is_bearer: bool,
    /// What the server says is wrong with the token.
    pub error: Option<String>,
    /// The permissions that it names.
    pub scopes: Vec<String>,
}

/// Limit: scopes of a challenge that are taken, and characters of one. People and clients read them.
const MOST_SCOPES: usize = 64;
const LONGEST_SCOPE: usize = 128;

impl BearerChallenge {
    /// Reads all challenges of a response. `error` and `scope` are read whatever their scheme is.
    pub fn read(text: &str) -> Self {
        let mut challenge = Self::default();
        for part in split_at_commas(text) {
            let part = match part.split_once(' ') {
                // A scheme stands before its first parameter. Blanks may stand around the sign of one.
                Some((scheme, first))
                    if !scheme.contains('=') && !first.trim_start().starts_with('=') =>
                {
                    challenge.is_bearer |= scheme.eq_ignore_ascii_case("bearer");
                    first.trim()
                }
                _ => part,
            };
            match part.split_once('=') {
                Some((name, value)) => challenge.read_parameter(name.trim(), value.trim()),
                None => challenge.is_bearer |= part.eq_ignore_ascii_case("bearer"),
            }
        }
        challenge
    }

    fn read_parameter(&mut self, name: &str, value: &str) {
        let value = unquote(value);
        match name.to_ascii_lowercase().as_str() {
            "error" => self.error = Some(value),
            "scope" => {
                let scopes = value.split_ascii_whitespace().filter(|one| is_scope(one));
                let scopes = scopes.take(MOST_SCOPES);
                self.scopes = scopes.map(str::to_owned).collect();
            }
            _ => (),
        }
    }

    /// Whether the token lacks a permission (RFC 6750, 3.1).
    pub fn lacks_scope(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }
}

/// Whether it is a scope (RFC 6749, section 3.3) that people can be shown.
fn is_scope(text: &str) -> bool {
    let is_allowed = |b: u8| b.is_ascii_graphic() && !matches!(b, b'"' | b'\\');
    text.len() <= LONGEST_SCOPE && text.bytes().all(is_allowed)
}

/// Splits at the commas that do not stand in quotes.
fn split_at_commas(text: &str) -> Vec<&str> {
    let (mut parts, mut begin) = (Vec::new(), 0);
    let (mut quoted, mut escaped) = (false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ',' if !quoted => {
                parts.extend(text.get(begin..at));
                begin = at + 1;
            }
            _ => (),
        }
    }
    parts.extend(text.get(begin..));
    let trimmed = parts.into_iter().map(str::trim);
    trimmed.filter(|part| !part.is_empty()).collect()
}

fn unquote(value: &str) -> String {
    let inner = value
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    let Some(inner) = inner else {
        return value.to_owned();
    };
    let mut text = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        text.extend(if c == '\\' { chars.next() } else { Some(c) });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_read_however_they_are_written() {
        let check = |text: &str, is_bearer: bool, error: Option<&str>, scopes: &[&str]| {
            let read = BearerChallenge::read(text);
            assert_eq!(read.is_bearer, is_bearer, "{text}");
            assert_eq!(read.error.as_deref(), error, "{text}");
            assert_eq!(read.scopes, scopes, "{text}");
        };
        check("Bearer", true, None, &[]);
        check("bearer realm=\"a, b\"", true, None, &[]);
        check("Basic realm=\"x\"", false, None, &[]);
        check("Basic realm=\"x\", Bearer", true, None, &[]);
        check(
            "Bearer error=\"insufficient_scope\", scope=\"a b:c\", resource_metadata=\"https://h/x?a=1,2\"",
            true,
            Some("insufficient_scope"),
            &["a", "b:c"],
        );
        check(
            "Bearer error=invalid_token",
            true,
            Some("invalid_token"),
            &[],
        );
        check(
            "Bearer error_description=\"a \\\" scope=b\"",
            true,
            None,
            &[],
        );
        check(
            "Bearer scope = \"a\" , error = \"invalid_token\"",
            true,
            Some("invalid_token"),
            &["a"],
        );
        check(
            "Bearer scope=\"a \u{202e}b c\\\\d https://h/auth/x?read=1\"",
            true,
            None,
            &["a", "https://h/auth/x?read=1"],
        );
        check("", false, None, &[]);
        check("\"", false, None, &[]);
    }
}
