//! Writes the fields of a log line for people. Values come from clients, servers and files: they are escaped here so that they stay in
//! their line and steer no terminal, and are cut to a length.

use std::fmt::{self, Debug, Display, Write};

use tracing::field::{Field, Visit};

use crate::{
    telemetry::log_context::ContextFields,
    text::visible::{is_invisible, layout_escape, push_visible},
};

/// Limit: bytes of one field. A value from a client or a server may have megabytes.
pub(super) const LONGEST: usize = 8 << 10;

/// The field that is written without its name.
const MESSAGE: &str = "message";

/// The fields so far, as `message name=value …`.
#[derive(Default)]
pub(super) struct ShownFields {
    pub(super) text: String,
    pub(super) error: Option<fmt::Error>,
}

impl ShownFields {
    fn begin(&mut self, name: &str) {
        if self.text.is_empty() {
            // Enough for most lines.
            self.text.reserve(384);
        } else {
            self.text.push(' ');
        }
        if name != MESSAGE {
            self.text.push_str(name);
            self.text.push('=');
        }
    }

    /// Writes a text as [`Debug`] does; most texts have nothing to escape and are copied.
    fn put_text(&mut self, name: &str, value: &str) {
        let is_escaped = |byte: u8| !is_plain(byte) || matches!(byte, b'"' | b'\\');
        if value.len() > LONGEST || value.bytes().any(is_escaped) {
            return self.put(name, format_args!("{value:?}"));
        }
        self.begin(name);
        self.text.push('"');
        self.text.push_str(value);
        self.text.push('"');
    }

    fn put(&mut self, name: &str, value: fmt::Arguments<'_>) {
        self.begin(name);
        let start = self.text.len();
        let mut escaping = Escaping {
            left: LONGEST,
            text: &mut self.text,
        };
        let written = escaping.write_fmt(value);
        if escaping.left == 0 {
            self.text.push('…');
        } else {
            self.error = self.error.or(written.err());
        }
        if name != MESSAGE && !is_one(self.text.get(start..).unwrap_or_default()) {
            let value = self.text.split_off(start).replace('"', "\\\"");
            self.text.extend(["\"", &value, "\""]);
        }
    }
}

/// Whether a reader sees where a value ends: it has no blank, or has quotes or brackets around it.
fn is_one(value: &str) -> bool {
    let inside = |begin, end| value.strip_prefix(begin)?.strip_suffix(end);
    let quoted = inside('"', '"').map(|inside: &str| inside.replace("\\\"", ""));
    !value.contains(' ')
        || quoted.is_some_and(|inside| !inside.contains('"'))
        || inside('[', ']').or_else(|| inside('{', '}')).is_some()
}

impl Visit for ShownFields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.put_text(field.name(), value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.put(field.name(), format_args!("{value:?}"));
    }
}

impl ContextFields for ShownFields {
    fn ours(&mut self, name: &'static str, value: &dyn Display) {
        self.put(name, format_args!("{value}"));
    }

    fn text(&mut self, name: &'static str, value: &str) {
        self.put_text(name, value);
    }
}

/// Whether a byte is a visible character of ASCII or a blank.
fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~')
}

/// Writes text with its invisible characters escaped, up to a length: then it fails, and `left` is 0.
struct Escaping<'a> {
    text: &'a mut String,
    left: usize,
}

impl Write for Escaping<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let (shown, more) = text.split_at(text.floor_char_boundary(self.left));
        self.left -= shown.len();
        if shown.bytes().all(is_plain) || !shown.chars().any(is_invisible) {
            self.text.push_str(shown);
        } else {
            for character in shown.chars() {
                match layout_escape(character) {
                    Some(escape) => self.text.push_str(escape),
                    None => push_visible(character, self.text),
                }
            }
        }
        if more.is_empty() {
            return Ok(());
        }
        self.left = 0;
        Err(fmt::Error)
    }
}
