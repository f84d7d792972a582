//! Text in the headers of modern requests (revision 2026-07-28, transports, "Value Encoding"): as it is if it is plain ASCII, else
//! as base64 between sentinels.

use std::borrow::Cow;

use base64::{Engine, engine::general_purpose::STANDARD};

const BEGIN: &str = "=?base64?";
const END: &str = "?=";

/// The text as a header's value.
pub fn encode(text: &str) -> Cow<'_, str> {
    if is_plain(text) && marked(text).is_none() {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(format!("{BEGIN}{}{END}", STANDARD.encode(text)))
    }
}

/// The text that a header's value stands for; `None` if what is between the sentinels is not base64 of UTF-8.
pub fn decode(value: &str) -> Option<Cow<'_, str>> {
    match marked(value) {
        None => Some(Cow::Borrowed(value)),
        Some(inner) => {
            let bytes = STANDARD.decode(inner).ok()?;
            String::from_utf8(bytes).ok().map(Cow::Owned)
        }
    }
}

fn marked(value: &str) -> Option<&str> {
    value.strip_prefix(BEGIN)?.strip_suffix(END)
}

/// Visible ASCII, with spaces but not at the ends.
fn is_plain(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|c| (b' '..=b'~').contains(&c))
        && !text.starts_with(' ')
        && !text.ends_with(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_read_back() {
        let check = |text: &str, value: &str| {
            assert_eq!(encode(text), value);
            assert_eq!(decode(value).as_deref(), Some(text));
        };
        check("plain text", "plain text");
        check("", "=?base64??=");
        check(" outer", "=?base64?IG91dGVy?=");
        check("grüße", "=?base64?Z3LDvMOfZQ==?=");
        check("a\nb", "=?base64?YQpi?=");
        check("=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?=");
        assert_eq!(decode("=?base64?!?="), None);
        assert_eq!(decode("=?base64?/w==?="), None);
    }
}
