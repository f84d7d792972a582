//! The fields of a log line for people. Values come from clients, servers and files: whatever they hold, they stay within their line,
//! and steer no terminal. This is the one place that sees to it.

use std::fmt::{self, Debug, Write};

use tracing::field::{Field, Visit};
use tracing_subscriber::{
    field::RecordFields,
    fmt::{FormatFields, format::Writer},
};

use crate::visible::is_invisible;

/// Limit: bytes of one field. What strangers say may be megabytes.
const LONGEST: usize = 8 << 10;

/// Writes the fields of events and spans.
pub(super) fn escaped() -> impl for<'writer> FormatFields<'writer> + Send + Sync + 'static {
    EscapedFields
}

struct EscapedFields;

impl<'writer> FormatFields<'writer> for EscapedFields {
    fn format_fields<R: RecordFields>(
        &self,
        mut writer: Writer<'writer>,
        fields: R,
    ) -> fmt::Result {
        let mut shown = ShownFields::default();
        fields.record(&mut shown);
        match shown.error {
            Some(error) => Err(error),
            None => writer.write_str(&shown.text),
        }
    }
}

/// One field after the other.
#[derive(Default)]
struct ShownFields {
    text: String,
    error: Option<fmt::Error>,
}

impl ShownFields {
    fn begin(&mut self, field: &Field) {
        if self.text.is_empty() {
            // Most need less.
            self.text.reserve(128);
        } else {
            self.text.push(' ');
        }
        if field.name() != "message" {
            self.text.push_str(field.name());
            self.text.push('=');
        }
    }
}

impl Visit for ShownFields {
    /// As [`Debug`] shows it, which escapes nothing in most: every call has a span with some of them.
    fn record_str(&mut self, field: &Field, value: &str) {
        let is_escaped = |byte: u8| !is_plain(byte) || matches!(byte, b'"' | b'\\');
        if value.len() > LONGEST || value.bytes().any(is_escaped) {
            return self.record_debug(field, &value);
        }
        self.begin(field);
        self.text.push('"');
        self.text.push_str(value);
        self.text.push('"');
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.begin(field);
        let mut escaping = Escaping {
            left: LONGEST,
            text: &mut self.text,
        };
        let written = write!(escaping, "{value:?}");
        if escaping.left == 0 {
            self.text.push('…');
        } else {
            self.error = self.error.or(written.err());
        }
    }
}

/// Whether this is a character that everybody sees.
fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~')
}

/// Text in which nothing is invisible, up to a length: what goes beyond fails, with nothing left.
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
                match character {
                    '\n' => self.text.push_str("\\n"),
                    '\r' => self.text.push_str("\\r"),
                    '\t' => self.text.push_str("\\t"),
                    c if is_invisible(c) => write!(self.text, "{}", c.escape_unicode())?,
                    c => self.text.push(c),
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

#[cfg(test)]
mod tests {
    use std::{
        io,
        sync::{Arc, Mutex, PoisonError},
    };

    use tracing_subscriber::{fmt, layer::SubscriberExt};

    use super::escaped;

    /// What is logged.
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Log {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            log.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn nothing_that_is_logged_forges_a_line_or_steers_a_terminal() {
        let log = Log::default();
        let writer = log.clone();
        let layer = fmt::layer()
            .with_writer(move || writer.clone())
            .with_ansi(false)
            .fmt_fields(escaped());
        let subscriber = tracing_subscriber::registry().with(layer);
        let evil = "a\nINFO forged\r\u{1b}[2J\u{9b}\u{202e}ö";
        tracing::subscriber::with_default(subscriber, || {
            let span = tracing::info_span!("call", method = evil);
            let _inside = span.enter();
            tracing::info!(shown = %evil, debugged = ?evil, text = evil, number = 7, "it says {evil}");
            tracing::info!(plain = "all is well", quoted = r#"a "b" \c"#, "again");
        });
        let log = log.0.lock().expect("nobody panicked").clone();
        let log = String::from_utf8(log).expect("text");
        assert_eq!(log.lines().count(), 2, "{log}");
        assert!(
            log.contains(r"it says a\nINFO forged\r\u{1b}[2J\u{9b}\u{202e}ö"),
            "{log}"
        );
        assert!(
            log.contains(r"shown=a\nINFO forged\r\u{1b}[2J\u{9b}\u{202e}ö"),
            "{log}"
        );
        assert!(
            log.contains(r#"text="a\nINFO forged"#) && log.contains("number=7"),
            "{log}"
        );
        let plain = r#"again plain="all is well" quoted="a \"b\" \\c""#;
        assert!(log.trim_end().ends_with(plain), "{log}");
        let invisible = |line: &str| line.chars().any(super::is_invisible);
        assert!(!log.lines().any(invisible), "{log}");
    }
}
