//! Prints for all commands: data to stdout, everything about them to stderr.
//!
//! Names, descriptions and errors come from servers, so control characters in them are escaped.

use std::{
    io::{self, IsTerminal, Write},
    process::ExitCode,
    sync::atomic::{AtomicBool, Ordering},
};

use serde::{Deserialize, Serialize};

use super::{
    escapes::{visible, visible_json},
    failure::{CommandFailure, Done, USAGE},
    help, mistake, platform, pretty_json,
    table::{self, Column},
    typed::{arguments, for_people},
};
use crate::daemon_client;

pub(super) use super::typed::as_typed;
pub(super) use crate::text::{count, names::shell_word};

/// How a command shows its data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// For people
    #[default]
    Table,
    /// For programs
    Json,
}

/// The options on output: how a command shows its data, and how many messages it prints.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(super) struct Output {
    /// How to show data, and failures: for people, or for programs
    #[arg(
        short = 'o',
        long = "output",
        global = true,
        value_enum,
        default_value_t = Format::Table,
        hide_possible_values = true,
        value_name = "table|json",
        hide = true
    )]
    format: Format,
    /// Say nothing but data and errors; `serve` logs warnings only
    #[arg(short, long, global = true, conflicts_with = "verbose", hide = true)]
    quiet: bool,
    /// Say more; `serve` logs at debug
    #[arg(short, long, global = true, hide = true)]
    verbose: bool,
    /// Whether the command must not ask questions.
    #[arg(skip)]
    is_unasked: bool,
}

impl Output {
    /// The same for a command that prints no data, because its stdout serves a client.
    pub(super) fn without_data(self) -> Self {
        Self {
            format: Format::Table,
            ..self
        }
    }

    /// The same, without questions if `yes`.
    pub(super) fn unasked(self, yes: bool) -> Self {
        Self {
            is_unasked: self.is_unasked || yes,
            ..self
        }
    }

    /// The options of a command line that clap could not read.
    fn requested() -> Self {
        Self {
            format: requested_format(&arguments()),
            ..Self::default()
        }
    }

    /// The same, without any messages but errors.
    pub(super) fn quietly(self) -> Self {
        Self {
            quiet: true,
            verbose: false,
            ..self
        }
    }

    pub(super) fn is_json(self) -> bool {
        self.format == Format::Json
    }

    /// Whether `-v` is given.
    pub(super) fn is_verbose(self) -> bool {
        self.verbose
    }

    /// The log level that `-q` or `-v` chooses.
    pub(super) fn log_level(self) -> Option<&'static str> {
        match (self.quiet, self.verbose) {
            (true, _) => Some("warn"),
            (_, true) => Some("debug"),
            _ => None,
        }
    }

    /// Prints why a command failed and what to do next; for programs also as JSON on stdout, unless the data there say it.
    pub(super) fn failure(self, failure: &CommandFailure) -> ExitCode {
        if self.is_json() && !failure.is_shown {
            // A failure to print a failure has nowhere to go.
            let _ = write(&failure.as_json());
        }
        say_failure(io::stderr(), failure);
        ExitCode::from(failure.exit_code)
    }

    /// Says what the command has done.
    pub(super) fn done(self, text: &str) {
        self.say("", text);
    }

    /// Says what to do next.
    pub(super) fn next(self, step: &str) {
        self.say("next: ", step);
    }

    /// Says something about the data or the command.
    pub(super) fn note(self, text: &str) {
        self.say("note: ", text);
    }

    /// Says what is missing or does not work.
    pub(super) fn warning(self, text: &str) {
        self.say("warning: ", text);
    }

    /// Says something that only `-v` shows.
    pub(super) fn detail(self, text: &str) {
        if self.verbose {
            self.note(text);
        }
    }

    fn say(self, label: &str, text: &str) {
        if !self.quiet {
            say(io::stderr(), label, text);
        }
    }

    /// Whether there is a person at a terminal who can be questioned.
    pub(super) fn is_interactive(self) -> bool {
        !self.is_json()
            && !self.is_unasked
            && io::stdin().is_terminal()
            && io::stderr().is_terminal()
    }

    /// Whether the progress of a call is shown.
    pub(super) fn tells_progress(self) -> bool {
        self.verbose || (!self.quiet && io::stderr().is_terminal())
    }

    /// Shows the progress of a call.
    pub(super) fn progress(self, text: &str) {
        if self.tells_progress() {
            say(io::stderr(), "progress: ", text);
        }
    }

    /// Shows the JSON that answers a request: to programs as it is, to people as `lay_out` prints it.
    pub(super) fn answer<'a, T: Deserialize<'a>>(
        self,
        request: &str,
        body: &'a [u8],
        lay_out: impl FnOnce(T) -> Done,
    ) -> Done {
        match self.format {
            Format::Json => print_json(body),
            Format::Table => lay_out(daemon_client::read(request, body)?),
        }
    }
}

/// Prints the help, or what is wrong with the arguments.
pub(super) fn print_usage(help_or_mistake: &clap::Error) -> ExitCode {
    if let Some(failure) = mistake::failure_of(help_or_mistake) {
        return Output::requested().failure(&failure);
    }
    let text = help_or_mistake.render();
    let plain = help::with_blanks(&text.to_string());
    if !help_or_mistake.use_stderr() {
        let is_printed = if io::stdout().is_terminal() {
            write(&help::with_blanks(&text.ansi().to_string())).is_ok()
        } else {
            write(&plain).is_ok()
        };
        return ExitCode::from(u8::from(!is_printed));
    }
    // A failure to print a failure has nowhere to go.
    let _ = io::stderr().write_all(plain.as_bytes());
    if Output::requested().is_json() {
        let what = plain.strip_prefix("error: ").unwrap_or(&plain);
        let _ = write(&CommandFailure::with_code(what.trim_end(), USAGE).as_json());
    }
    ExitCode::from(USAGE)
}

/// JSON if arguments have `-o json`, in any of its spellings.
fn requested_format(arguments: &[String]) -> Format {
    let mut before = "";
    for argument in arguments {
        match argument.as_str() {
            "--" => return Format::Table,
            "-ojson" | "-o=json" | "--output=json" => return Format::Json,
            "json" if matches!(before, "-o" | "--output") => return Format::Json,
            other => before = other,
        }
    }
    Format::Table
}

/// The failure of a command that does one thing to several. Prints all failures but the last, which it returns to be printed by the caller,
/// with the exit code of the first.
pub(super) fn report_failures(mut failures: Vec<CommandFailure>) -> Done {
    let Some(mut last) = failures.pop() else {
        return Ok(());
    };
    for failure in &failures {
        say_failure(io::stderr(), failure);
    }
    if let Some(first) = failures.first() {
        last.exit_code = first.exit_code;
    }
    Err(last.shown())
}

/// Writes why something failed and what to do next.
pub(super) fn say_failure(mut place: impl Write, failure: &CommandFailure) {
    if !failure.what.is_empty() {
        say(&mut place, "error: ", &failure.in_words());
    }
    if let Some(step) = &failure.next_step {
        say(place, "next: ", step);
    }
}

/// Writes a message, whose second and later lines are indented.
fn say(mut place: impl Write, label: &str, text: &str) {
    let text = as_typed(text);
    let lines: Vec<String> = text.lines().map(for_people).collect();
    // A message that cannot be written has nowhere to go.
    let _ = writeln!(place, "{label}{}", lines.join("\n  "));
}

/// Prints a table that fits the terminal.
pub(super) fn print_table<const N: usize>(
    columns: [Column; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> Done {
    let rows: Vec<[String; N]> = rows
        .into_iter()
        .map(|row| row.map(|cell| for_people(&cell)))
        .collect();
    write(&table::layout(columns, &rows, platform::terminal_width()))
}

/// The first line of a description, shortened for a table.
pub(super) fn first_line(description: &str) -> String {
    shortened(description.trim_start().lines().next().unwrap_or_default())
}

/// The beginning of a text, for a table.
pub(super) fn shortened(text: &str) -> String {
    const SHOWN: usize = 100;
    if text.chars().count() <= SHOWN {
        return text.to_owned();
    }
    text.chars().take(SHOWN - 1).chain(['…']).collect()
}

/// Prints a list of names and values.
pub(super) fn print_facts<N: AsRef<str>>(facts: impl IntoIterator<Item = (N, String)>) -> Done {
    let facts = facts.into_iter();
    let facts = facts.map(|(name, value)| [visible(name.as_ref()), for_people(&value)]);
    let facts: Vec<_> = facts.collect();
    write(&table::facts(&facts, platform::terminal_width()))
}

/// Prints JSON text of mcpproxy, indented. The commands in its steps get the options of this command line.
pub(super) fn print_json(json: &[u8]) -> Done {
    let json = String::from_utf8_lossy(json);
    print_line(&pretty_json::with_steps(&json, &as_typed))
}

/// Prints JSON text of a server, indented.
pub(super) fn print_foreign_json(json: &str) -> Done {
    print_line(&pretty_json::pretty(json))
}

/// Prints JSON text exactly as it is, but on a terminal with control characters escaped.
pub(super) fn print_exact_json(json: &str) -> Done {
    if io::stdout().is_terminal() {
        print_line(&visible_json(json))
    } else {
        print_line(json)
    }
}

/// A value as JSON text.
pub(super) fn as_json(value: &impl Serialize) -> Done<Vec<u8>> {
    serde_json::to_vec(value)
        .map_err(|error| CommandFailure::failed(format!("failed to write JSON: {error}")))
}

/// Prints a value as JSON, as [`print_json`] does.
pub(super) fn print_value(value: &impl Serialize) -> Done {
    print_json(&as_json(value)?)
}

/// Prints text exactly as it is, with a line end.
pub(super) fn print_line(text: &str) -> Done {
    write(&format!("{text}\n"))
}

/// Prints text of a server: as it is into a file or a pipe, escaped on a terminal.
pub(super) fn print_foreign_text(text: &str) -> Done {
    if io::stdout().is_terminal() {
        return print_escaped(text);
    }
    print_line(text.strip_suffix('\n').unwrap_or(text))
}

/// Prints text of a server escaped, also into a pipe: `less` or `grep` behind it prints on a terminal.
pub(super) fn print_escaped(text: &str) -> Done {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let lines: Vec<String> = text.split('\n').map(visible).collect();
    print_line(&lines.join("\n"))
}

/// Whether the reader of stdout is gone.
static IS_UNREAD: AtomicBool = AtomicBool::new(false);

/// Whether the reader of stdout is gone, so that a command that follows something ends.
pub(super) fn is_unread() -> bool {
    IS_UNREAD.load(Ordering::Relaxed)
}

fn write(text: &str) -> Done {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // The reader has seen enough: `mcpproxy tools list | head`.
        Err(gone) if gone.kind() == io::ErrorKind::BrokenPipe => {
            IS_UNREAD.store(true, Ordering::Relaxed);
            Ok(())
        }
        other => other
            .map_err(|error| CommandFailure::failed(format!("failed to write to stdout: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::Output;

    #[test]
    fn a_command_that_is_not_to_ask_never_asks() {
        let out = Output::default();
        assert!(!out.unasked(false).is_unasked && out.unasked(true).unasked(false).is_unasked);
        assert!(!out.unasked(true).is_interactive());
    }
}
