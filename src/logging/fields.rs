//! The fields of a log line for people. Values come from clients, servers and files: whatever they hold, they stay within their line,
//! and steer no terminal. This is the one place that sees to it.

use std::fmt::{self, Write};

use tracing_subscriber::{
    field::MakeExt,
    fmt::{
        FormatFields,
        format::{self, Writer},
    },
};

use crate::visible::is_invisible;

/// Writes the fields of events and spans.
pub(super) fn escaped() -> impl for<'writer> FormatFields<'writer> + Send + Sync + 'static {
    format::debug_fn(|writer: &mut Writer<'_>, field, value| {
        if field.name() != "message" {
            write!(writer, "{}=", field.name())?;
        }
        write!(Escaping(writer), "{value:?}")
    })
    .delimited(" ")
}

/// Text in which nothing is invisible.
struct Escaping<'a, 'writer>(&'a mut Writer<'writer>);

impl Write for Escaping<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if !text.chars().any(is_invisible) {
            return self.0.write_str(text);
        }
        for character in text.chars() {
            match character {
                '\n' => self.0.write_str("\\n")?,
                '\r' => self.0.write_str("\\r")?,
                '\t' => self.0.write_str("\\t")?,
                c if is_invisible(c) => write!(self.0, "{}", c.escape_unicode())?,
                c => self.0.write_char(c)?,
            }
        }
        Ok(())
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
        });
        let log = log.0.lock().expect("nobody panicked").clone();
        let log = String::from_utf8(log).expect("text");
        assert_eq!(log.lines().count(), 1, "{log}");
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
        let line = log.trim_end_matches('\n');
        assert!(!line.chars().any(super::is_invisible), "{log}");
    }
}
