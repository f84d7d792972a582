//! The only printer. Data goes to stdout, everything said about it to stderr.
//!
//! Names, descriptions and errors come from strangers: what could steer a terminal is shown escaped.

use std::{
    io::{self, IsTerminal, Write},
    process::ExitCode,
    sync::atomic::{AtomicBool, Ordering},
};

use serde::{Deserialize, Serialize};

use super::{
    escapes::{visible, visible_json},
    failure::{CommandFailure, Done},
    help, mistake, platform, pretty_json,
    table::{self, Column},
    typed::{for_people, typed},
};
use crate::daemon_client;

pub(super) use super::typed::{as_typed, shell_word};
pub(super) use crate::text::count;

/// How a command shows its data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// For people
    #[default]
    Table,
    /// For programs
    Json,
}

/// How a command shows its data, and how much it says beside them.
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
    /// Whether the command is not to ask.
    #[arg(skip)]
    is_unasked: bool,
}

impl Output {
    /// The same, for a command whose stdout carries something else.
    pub(super) fn without_data(self) -> Self {
        Self {
            format: Format::Table,
            ..self
        }
    }

    /// The same, asking nothing at all where that is said.
    pub(super) fn unasked(self, yes: bool) -> Self {
        Self {
            is_unasked: self.is_unasked || yes,
            ..self
        }
    }

    /// As the command line asks for it that cannot be read as a whole.
    fn requested() -> Self {
        let arguments = typed();
        let format = if requests_json(&arguments) {
            Format::Json
        } else {
            Format::Table
        };
        Self {
            format,
            ..Self::default()
        }
    }

    /// The same, saying nothing but errors.
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

    /// Whether more is wanted.
    pub(super) fn is_verbose(self) -> bool {
        self.verbose
    }

    /// The log level that is meant, if one is.
    pub(super) fn log_level(self) -> Option<&'static str> {
        match (self.quiet, self.verbose) {
            (true, _) => Some("warn"),
            (_, true) => Some("debug"),
            _ => None,
        }
    }

    /// Says why a command failed and what to do next; to programs also on stdout, unless that says so already.
    pub(super) fn failure(self, failure: &CommandFailure) -> ExitCode {
        if self.is_json() && !failure.is_shown {
            // Nobody is left to tell when stdout is gone.
            let _ = write(&failure.as_json());
        }
        say_failure(failure);
        ExitCode::from(failure.exit_code)
    }

    /// Says what the command has done.
    pub(super) fn done(self, text: &str) {
        if !self.quiet {
            say_line("", &as_typed(text));
        }
    }

    /// Says what to do next.
    pub(super) fn next(self, step: &str) {
        if !self.quiet {
            say("next", step);
        }
    }

    /// Says something about what the command does, beside its data.
    pub(super) fn note(self, text: &str) {
        if !self.quiet {
            say("note", text);
        }
    }

    /// Says that something is missing or will not do what is meant, beside the data.
    pub(super) fn warning(self, text: &str) {
        if !self.quiet {
            say("warning", text);
        }
    }

    /// Whether there is a person at a terminal to ask.
    pub(super) fn is_interactive(self) -> bool {
        !self.is_json()
            && !self.is_unasked
            && io::stdin().is_terminal()
            && io::stderr().is_terminal()
    }

    /// What the person at the terminal answers; nothing where there is none, or nothing more comes.
    pub(super) fn answer_to(self, question: &str) -> Option<String> {
        if !self.is_interactive() {
            return None;
        }
        write!(io::stderr(), "{} ", for_people(question)).ok()?;
        let mut answer = String::new();
        match io::stdin().read_line(&mut answer) {
            Ok(n) if n > 0 => Some(answer),
            _ => None,
        }
    }

    /// Asks the person at the terminal, for whom an empty answer is yes; no where there is none.
    pub(super) fn agrees(self, question: &str) -> bool {
        self.decides(&format!("{question} [Y/n]"), true)
    }

    /// Asks the person at the terminal, for whom an empty answer is no; no where there is none, or where data are for programs.
    pub(super) fn asks(self, question: &str) -> bool {
        self.decides(&format!("{question} [y/N]"), false)
    }

    /// Asks until the answer is a decision.
    fn decides(self, question: &str, by_default: bool) -> bool {
        loop {
            let Some(answer) = self.answer_to(question) else {
                return false;
            };
            if let Some(decided) = yes_or_no(&answer, by_default) {
                return decided;
            }
            self.note(&format!("{:?} is neither y nor n", answer.trim()));
        }
    }

    /// Says something that only who asked for more wants to hear.
    pub(super) fn detail(self, text: &str) {
        if self.verbose {
            say("note", text);
        }
    }

    /// Whether somebody wants to hear how far a call has come.
    pub(super) fn tells_progress(self) -> bool {
        self.verbose || (!self.quiet && io::stderr().is_terminal())
    }

    /// Says how far a call has come.
    pub(super) fn progress(self, text: &str) {
        if self.tells_progress() {
            say("progress", text);
        }
    }

    /// Shows what came of a verb, which is JSON from the daemon or from us: to programs as it is, to people as the command lays it
    /// out.
    pub(super) fn answer<'a, T: Deserialize<'a>>(
        self,
        request: &str,
        body: &'a [u8],
        lay_out: impl FnOnce(T) -> Done,
    ) -> Done {
        match self.format {
            Format::Json => json(body),
            Format::Table => lay_out(daemon_client::read(request, body)?),
        }
    }
}

/// Prints the help that was asked for, or what is wrong with the arguments.
pub(super) fn usage(help_or_mistake: &clap::Error) -> ExitCode {
    if let Some(failure) = mistake::failure_of(help_or_mistake) {
        return Output::requested().failure(&failure);
    }
    let help = help_or_mistake.render();
    let is_lost = if help_or_mistake.use_stderr() {
        let help = help::as_typed(&help.to_string());
        io::stderr().write_all(help.as_bytes()).is_err()
    } else {
        let is_shown = io::stdout().is_terminal();
        let plain = || help.to_string();
        let help = if is_shown {
            help.ansi().to_string()
        } else {
            plain()
        };
        write(&help::as_typed(&help)).is_err()
    };
    let code = match u8::try_from(help_or_mistake.exit_code()).unwrap_or(1) {
        0 if is_lost => 1,
        code => code,
    };
    if help_or_mistake.use_stderr() {
        let text = help_or_mistake.to_string();
        let text = text.strip_prefix("error: ").unwrap_or(&text);
        let mistake = CommandFailure::with_code(text.trim_end(), code);
        if Output::requested().is_json() {
            let _ = write(&mistake.as_json());
        }
    }
    ExitCode::from(code)
}

/// What could not be read may still say how its failure is to be shown.
fn requests_json(arguments: &[String]) -> bool {
    let mut before = "";
    for argument in arguments {
        match argument.as_str() {
            "--" => return false,
            "-ojson" | "-o=json" | "--output=json" => return true,
            "json" if matches!(before, "-o" | "--output") => return true,
            other => before = other,
        }
    }
    false
}

/// The failure of a command that does one thing to several: each is said with its step, the last by whoever gets it, with the exit code of
/// the first.
pub(super) fn overall(mut failures: Vec<CommandFailure>) -> Done {
    let Some(mut last) = failures.pop() else {
        return Ok(());
    };
    failures.iter().for_each(say_failure);
    last.exit_code = failures
        .first()
        .map_or(last.exit_code, |first| first.exit_code);
    Err(last.shown())
}

/// Says why something failed and what to do next.
fn say_failure(failure: &CommandFailure) {
    say_failure_on(io::stderr(), failure);
}

/// The same, in another place.
pub(super) fn say_failure_on(mut place: impl Write, failure: &CommandFailure) {
    let what = failure.in_words();
    let what = Some(&what).filter(|_| !failure.what.is_empty());
    let step = failure.next_step.as_ref();
    for (kind, text) in [("error", what), ("next", step)] {
        if let Some(text) = text {
            // Nobody is left to tell when the terminal is gone.
            let _ = writeln!(place, "{}", line(&format!("{kind}: "), &as_typed(text)));
        }
    }
}

fn say(kind: &str, text: &str) {
    say_line(&format!("{kind}: "), &as_typed(text));
}

fn say_line(label: &str, text: &str) {
    // Nobody is left to tell when the terminal is gone.
    let _ = writeln!(io::stderr(), "{}", line(label, text));
}

fn line(label: &str, text: &str) -> String {
    let lines: Vec<String> = text.lines().map(for_people).collect();
    format!("{label}{}", lines.join("\n  "))
}

/// Prints a table that fits the terminal.
pub(super) fn table<const N: usize>(
    columns: [Column; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> Done {
    let rows: Vec<[String; N]> = rows
        .into_iter()
        .map(|row| row.map(|cell| for_people(&cell)))
        .collect();
    write(&table::layout(columns, &rows, terminal_width()))
}

/// The beginning of a text: a table is for a glance.
pub(super) fn shortened(text: &str) -> String {
    const SHOWN: usize = 100;
    if text.chars().count() <= SHOWN {
        return text.to_owned();
    }
    text.chars().take(SHOWN - 1).chain(['…']).collect()
}

/// Prints a list of names and values.
pub(super) fn facts<N: AsRef<str>>(facts: impl IntoIterator<Item = (N, String)>) -> Done {
    let facts = facts.into_iter();
    let facts = facts.map(|(name, value)| [visible(name.as_ref()), for_people(&value)]);
    write(&table::facts(&facts.collect::<Vec<_>>(), terminal_width()))
}

fn terminal_width() -> Option<usize> {
    platform::terminal_width().map(usize::from)
}

/// Prints JSON text of ours, laid out for reading, its values as they are; commands in its steps are as this command line is typed.
pub(super) fn json(json: &[u8]) -> Done {
    let json = String::from_utf8_lossy(json);
    exactly(&pretty_json::with_steps(&json, &as_typed))
}

/// Prints a stranger's JSON text, laid out for reading, its values as they are.
pub(super) fn foreign_json(json: &str) -> Done {
    exactly(&pretty_json::pretty(json))
}

/// Prints JSON text exactly as it is; onto a terminal with what could steer it escaped.
pub(super) fn exact_json(json: &str) -> Done {
    if io::stdout().is_terminal() {
        exactly(&visible_json(json))
    } else {
        exactly(json)
    }
}

/// A value of ours as the daemon would answer it.
pub(super) fn as_json(value: &impl Serialize) -> Done<Vec<u8>> {
    serde_json::to_vec(value).map_err(|error| {
        CommandFailure::failed(format!("failed to write the result as JSON: {error}"))
    })
}

/// Prints a value of ours as [`json`] does.
pub(super) fn print_value(value: &impl Serialize) -> Done {
    json(&as_json(value)?)
}

/// Prints text exactly as it is, and a line end.
pub(super) fn exactly(text: &str) -> Done {
    write(&format!("{text}\n"))
}

/// Prints a stranger's text: as it is into a file or a pipe, escaped onto a terminal.
pub(super) fn foreign_text(text: &str) -> Done {
    if io::stdout().is_terminal() {
        return escaped_text(text);
    }
    exactly(text.strip_suffix('\n').unwrap_or(text))
}

/// Prints a stranger's text escaped, wherever it goes: what is read through a pipe by `less` or `grep` ends on a terminal, too.
pub(super) fn escaped_text(text: &str) -> Done {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let lines: Vec<String> = text.split('\n').map(visible).collect();
    exactly(&lines.join("\n"))
}

/// What a person answered; of what is neither nobody can tell.
fn yes_or_no(answer: &str, by_default: bool) -> Option<bool> {
    match &*answer.trim().to_ascii_lowercase() {
        "" => Some(by_default),
        "y" | "yes" => Some(true),
        "n" | "no" => Some(false),
        _ => None,
    }
}

/// Whether what was printed last met nobody who reads it.
static IS_UNREAD: AtomicBool = AtomicBool::new(false);

/// Whether nobody reads what is printed any more, so that what would go on for ever ends.
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
    use super::{Output, yes_or_no};

    #[test]
    fn a_command_that_is_not_to_ask_never_asks() {
        let out = Output::default();
        assert!(!out.unasked(false).is_unasked && out.unasked(true).unasked(false).is_unasked);
        assert!(!out.unasked(true).is_interactive());
    }

    #[test]
    fn only_a_yes_is_a_yes() {
        for (answers, expected) in [
            (&["y", "Yes\n", " Y\r\n"][..], Some(true)),
            (&["n", "NO\n"], Some(false)),
            (&["yess", "ja", "maybe\n"], None),
        ] {
            for by_default in [true, false] {
                let decided = |answer: &&str| yes_or_no(answer, by_default) == expected;
                assert!(answers.iter().all(decided));
                assert_eq!(yes_or_no(" \n", by_default), Some(by_default));
            }
        }
    }
}
