//! The format of a log line: time, level, context, module, fields.

use std::{
    fmt::{self, Debug, Display},
    time::SystemTime,
};

use serde_json::{Map, Value};
use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    fmt::{FmtContext, FormatEvent, FormatFields, format::Writer},
    registry::LookupSpan,
};

use super::{
    LogFormat,
    fields::{LONGEST, ShownFields},
};
use crate::{
    telemetry::log_context::{self, ContextFields, LogContext},
    text::{cut::shortened, moment, visible::visible_json},
};

/// The lines of a log in this format.
pub(super) struct EventLines(pub(super) LogFormat);

impl<S, N> FormatEvent<S, N> for EventLines
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    N: for<'fields> FormatFields<'fields> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut line: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        match self.0 {
            LogFormat::Text => write_text(&mut line, event),
            LogFormat::Json => write_json(&mut line, event),
        }
    }
}

/// For people: `2026-11-22T10:00:00.000000Z  INFO call{id=c1 …}: listening address=127.0.0.1:8080`; lines of debug and trace name their module.
fn write_text(line: &mut Writer<'_>, event: &Event<'_>) -> fmt::Result {
    let metadata = event.metadata();
    styled(line, DIM, &now())?;
    line.write_char(' ')?;
    let (colour, level) = shown(*metadata.level());
    styled(line, colour, level)?;
    line.write_char(' ')?;
    log_context::with_current(|context| match context {
        Some(context) => {
            write_context(line, context)?;
            line.write_char(' ')
        }
        None => Ok(()),
    })?;
    if *metadata.level() > Level::INFO {
        styled(line, DIM, metadata.target())?;
        styled(line, DIM, ": ")?;
    }
    let mut fields = ShownFields::default();
    event.record(&mut fields);
    if let Some(error) = fields.error {
        return Err(error);
    }
    line.write_str(&fields.text)?;
    line.write_char('\n')
}

/// Styles of terminals (SGR); the other numbers are colours.
const BOLD: u8 = 1;
const DIM: u8 = 2;

/// The colour of a level, and its name padded to a common width.
fn shown(level: Level) -> (u8, &'static str) {
    match level {
        Level::ERROR => (31, "ERROR"),
        Level::WARN => (33, " WARN"),
        Level::INFO => (32, " INFO"),
        Level::DEBUG => (34, "DEBUG"),
        Level::TRACE => (35, "TRACE"),
    }
}

/// Writes a context and those around it, the outermost first.
fn write_context(line: &mut Writer<'_>, context: &dyn LogContext) -> fmt::Result {
    if let Some(outer) = context.outer() {
        write_context(line, outer)?;
    }
    let mut fields = ShownFields::default();
    context.fields(&mut fields);
    styled(line, BOLD, context.name())?;
    styled(line, BOLD, "{")?;
    line.write_str(&fields.text)?;
    styled(line, BOLD, "}")?;
    styled(line, DIM, ":")
}

/// Writes text in a style, if the line may have escapes.
fn styled(line: &mut Writer<'_>, style: u8, text: &str) -> fmt::Result {
    if line.has_ansi_escapes() {
        write!(line, "\u{1b}[{style}m{text}\u{1b}[0m")
    } else {
        line.write_str(text)
    }
}

fn now() -> String {
    moment::utc_micros(SystemTime::now())
}

/// For machines: a JSON object a line, with `timestamp`, `level`, `fields`, `target`; with a context also `span`, the innermost context,
/// and `spans`, all of them, the outermost first.
fn write_json(line: &mut Writer<'_>, event: &Event<'_>) -> fmt::Result {
    let metadata = event.metadata();
    let mut fields = JsonFields::default();
    event.record(&mut fields);
    let mut members = Map::new();
    members.insert("timestamp".to_owned(), now().into());
    members.insert("level".to_owned(), metadata.level().as_str().into());
    members.insert("fields".to_owned(), fields.0.into());
    members.insert("target".to_owned(), metadata.target().into());
    let contexts = log_context::with_current(contexts);
    if let Some(innermost) = contexts.last() {
        members.insert("span".to_owned(), innermost.clone());
        members.insert("spans".to_owned(), contexts.into());
    }
    // Some readers end a line at other characters than a line feed, so those are escaped, too.
    let json = Value::Object(members).to_string();
    writeln!(line, "{}", visible_json(&json))
}

/// A context and those around it as JSON objects, the outermost first.
fn contexts(innermost: Option<&dyn LogContext>) -> Vec<Value> {
    let Some(context) = innermost else {
        return Vec::new();
    };
    let mut all = contexts(context.outer());
    let mut fields = JsonFields::default();
    context.fields(&mut fields);
    fields.put("name", context.name().into());
    all.push(fields.0.into());
    all
}

/// Fields as members of a JSON object.
#[derive(Default)]
struct JsonFields(Map<String, Value>);

impl JsonFields {
    fn put(&mut self, name: &str, value: Value) {
        // A field whose name is a keyword of Rust is called `r#type`.
        let name = name.strip_prefix("r#").unwrap_or(name);
        self.0.insert(name.to_owned(), value);
    }

    fn put_text(&mut self, name: &str, text: &str) {
        self.put(name, shortened(text, LONGEST).into());
    }
}

impl Visit for JsonFields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.put_text(field.name(), value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field.name(), value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field.name(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field.name(), value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field.name(), value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.put_text(field.name(), &format!("{value:?}"));
    }
}

impl ContextFields for JsonFields {
    fn ours(&mut self, name: &'static str, value: &dyn Display) {
        self.put_text(name, &value.to_string());
    }

    fn text(&mut self, name: &'static str, value: &str) {
        self.put_text(name, value);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io,
        sync::{Arc, Mutex, PoisonError},
    };

    use tracing_subscriber::{fmt, layer::SubscriberExt};

    use super::*;
    use crate::telemetry::log_context::{LogContext, LoggedAs};

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

    impl Log {
        fn text(&self) -> String {
            let log = self.0.lock().expect("nobody panicked").clone();
            String::from_utf8(log).expect("text")
        }
    }

    struct Work(&'static str, Option<LoggedAs>);

    impl LogContext for Work {
        fn name(&self) -> &'static str {
            "work"
        }

        fn fields(&self, told: &mut dyn ContextFields) {
            told.ours("id", &7);
            told.text("method", self.0);
        }

        fn outer(&self) -> Option<&dyn LogContext> {
            self.1.as_ref().map(LoggedAs::context)
        }
    }

    fn logged(has_colours: bool, is_json: bool, log_something: impl FnOnce()) -> String {
        let log = Log::default();
        let writer = log.clone();
        let format = if is_json {
            LogFormat::Json
        } else {
            LogFormat::Text
        };
        let layer = fmt::layer()
            .with_writer(move || writer.clone())
            .with_ansi(has_colours)
            .event_format(EventLines(format));
        let subscriber = tracing_subscriber::registry().with(layer);
        tracing::subscriber::with_default(subscriber, log_something);
        log.text()
    }

    const EVIL: &str = "a\nINFO forged\r\u{1b}[2J\u{9b}\u{202e}ö";

    fn evil_line() {
        LoggedAs::new(Work(EVIL, None)).log(|| {
            tracing::info!(shown = %EVIL, debugged = ?EVIL, text = EVIL, number = 7, "it says {EVIL}");
        });
        tracing::info!(plain = "all is well", quoted = r#"a "b" \c"#, "again");
    }

    #[test]
    fn nothing_that_is_logged_forges_a_line_or_steers_a_terminal() {
        let log = logged(false, false, evil_line);
        assert_eq!(log.lines().count(), 2, "{log}");
        assert!(
            log.contains(r"it says a\nINFO forged\r\u{1b}[2J\u{9b}\u{202e}ö"),
            "{log}"
        );
        assert!(
            log.contains(r#"shown="a\nINFO forged\r\u{1b}[2J\u{9b}\u{202e}ö" "#),
            "{log}"
        );
        assert!(
            log.contains(r#"text="a\nINFO forged"#) && log.contains("number=7"),
            "{log}"
        );
        assert!(
            log.contains(r#" INFO work{id=7 method="a\nINFO forged"#),
            "{log}"
        );
        let plain = r#" INFO again plain="all is well" quoted="a \"b\" \\c""#;
        assert!(log.trim_end().ends_with(plain), "{log}");
        let invisible = |line: &str| line.chars().any(crate::text::visible::is_invisible);
        assert!(!log.lines().any(invisible), "{log}");
        let json = logged(false, true, evil_line);
        assert_eq!(json.lines().count(), 2, "{json}");
        assert!(!json.lines().any(invisible), "{json}");
        assert!(json.contains(r"\u009b\u202e"), "{json}");
    }

    #[test]
    fn lines_say_in_the_course_of_what_they_are() {
        let within = || {
            let outer = LoggedAs::new(Work("outer", None));
            let inner = LoggedAs::new(Work("inner", Some(outer)));
            inner.log(|| tracing::warn!(n = -1, is = true, half = 0.5, "there"));
        };
        let text = logged(false, false, within);
        let expected = r#"  WARN work{id=7 method="outer"}:work{id=7 method="inner"}: there n=-1 is=true half=0.5"#;
        assert!(text.trim_end().ends_with(expected), "{text}");
        let coloured = logged(true, false, within);
        let expected = "\u{1b}[33m WARN\u{1b}[0m \u{1b}[1mwork\u{1b}[0m\u{1b}[1m{\u{1b}[0mid=7 ";
        assert!(coloured.contains(expected), "{coloured:?}");
        let mut json: Value = serde_json::from_str(&logged(false, true, within)).expect("JSON");
        let time = json["timestamp"].take();
        assert!(time.as_str().is_some_and(|time| time.ends_with('Z')));
        let work = |method: &str| serde_json::json!({"id": "7", "method": method, "name": "work"});
        let expected = serde_json::json!({
            "timestamp": null,
            "level": "WARN",
            "fields": {"message": "there", "n": -1, "is": true, "half": 0.5},
            "target": "mcpproxy::telemetry::logging::lines::tests",
            "span": work("inner"),
            "spans": [work("outer"), work("inner")],
        });
        assert_eq!(json, expected);
    }

    #[test]
    fn long_fields_are_cut() {
        let long = "x".repeat(LONGEST + 1);
        for is_json in [false, true] {
            let line = logged(false, is_json, || tracing::info!(long, "said"));
            assert!(
                line.len() < LONGEST + 300 && line.contains('…'),
                "{}",
                line.len()
            );
        }
    }
}
