//! The only printer. Data goes to stdout, everything said about it to stderr.
//!
//! Names, descriptions and errors come from strangers: what could steer a terminal is shown escaped.

use std::{
    io::{self, IsTerminal, Write},
    process::ExitCode,
};

use comfy_table::{ContentArrangement, Table, presets};

use serde::Deserialize;

use super::{failure::CommandFailure, platform, pretty_json};
use crate::{daemon_client, visible::is_invisible};

/// How a command shows its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// For people
    Table,
    /// For programs
    Json,
}

/// The option of every command that shows data.
#[derive(Debug, clap::Args)]
pub(super) struct OutputOption {
    /// How to show it
    #[arg(short = 'o', long = "output", value_enum, default_value_t = Format::Table, value_name = "FORMAT")]
    pub(super) format: Format,
}

/// Prints the help that was asked for, or what is wrong with the arguments.
pub(super) fn usage(help_or_mistake: &clap::Error) -> ExitCode {
    // Nobody is left to tell when the terminal is gone.
    let _ = help_or_mistake.print();
    u8::try_from(help_or_mistake.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// Says why a command failed and what to do next.
pub(super) fn failure(failure: &CommandFailure) -> ExitCode {
    say("error", &failure.what);
    if let Some(step) = &failure.next_step {
        say("next step", step);
    }
    ExitCode::from(failure.exit_code)
}

/// Says something about what the command does, beside its data.
pub(super) fn note(text: &str) {
    say("note", text);
}

fn say(kind: &str, text: &str) {
    let lines: Vec<String> = text.lines().map(visible).collect();
    let _ = writeln!(io::stderr(), "{kind}: {}", lines.join("\n  "));
}

/// Prints a table; a cell that is too wide for the terminal is wrapped.
pub(super) fn table<const COLUMNS: usize>(
    header: [&str; COLUMNS],
    rows: impl IntoIterator<Item = [String; COLUMNS]>,
) -> Result<(), CommandFailure> {
    let mut table = bare_table();
    table.set_header(header);
    print_table(table, rows)
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
pub(super) fn facts(facts: impl IntoIterator<Item = [String; 2]>) -> Result<(), CommandFailure> {
    print_table(bare_table(), facts)
}

fn bare_table() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    if let Some(width) = platform::terminal_width() {
        table
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(width);
    }
    table
}

fn print_table<const COLUMNS: usize>(
    mut table: Table,
    rows: impl IntoIterator<Item = [String; COLUMNS]>,
) -> Result<(), CommandFailure> {
    for row in rows {
        table.add_row(row.map(|cell| visible(&cell)));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    write(&format!("{}\n", table.trim_fmt()))
}

/// Prints JSON text, laid out for reading, its values as they are.
pub(super) fn json(json: &[u8]) -> Result<(), CommandFailure> {
    write(&format!(
        "{}\n",
        pretty_json::pretty(&String::from_utf8_lossy(json))
    ))
}

/// Shows what came of a verb, which is JSON from the daemon or from us: to programs as it is, to people as the command lays it
/// out.
pub(super) fn answer<'a, T: Deserialize<'a>>(
    format: Format,
    request: &str,
    body: &'a [u8],
    lay_out: impl FnOnce(T) -> Result<(), CommandFailure>,
) -> Result<(), CommandFailure> {
    match format {
        Format::Json => json(body),
        Format::Table => lay_out(daemon_client::read(request, body)?),
    }
}

/// A value of ours as the daemon would answer it.
pub(super) fn as_json(value: &impl serde::Serialize) -> Result<Vec<u8>, CommandFailure> {
    serde_json::to_vec(value).map_err(|error| {
        CommandFailure::failed(format!("failed to write the outcome as JSON: {error}"))
    })
}

/// Prints text exactly as it is, and a line end.
pub(super) fn exactly(text: &str) -> Result<(), CommandFailure> {
    write(&format!("{text}\n"))
}

/// Prints a stranger's text: as it is into a file or a pipe, escaped onto a terminal.
pub(super) fn foreign_text(text: &str) -> Result<(), CommandFailure> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    if !io::stdout().is_terminal() {
        return exactly(text);
    }
    let lines: Vec<String> = text.split('\n').map(visible).collect();
    exactly(&lines.join("\n"))
}

fn write(text: &str) -> Result<(), CommandFailure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // The reader has seen enough: `mcpproxy tools list | head`.
        Err(gone) if gone.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other
            .map_err(|error| CommandFailure::failed(format!("failed to write to stdout: {error}"))),
    }
}

/// One line of text in which nothing steers a terminal or hides from the eye.
fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => shown.push(' '),
            '\r' => {}
            c if is_invisible(c) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn what_steers_a_terminal_is_shown_escaped() {
        assert_eq!(visible("grüße 世界\tx\r"), "grüße 世界 x");
        assert_eq!(
            visible("\u{1b}[2Jx\u{202e}y\u{9b}"),
            "\\u{1b}[2Jx\\u{202e}y\\u{9b}"
        );
    }
}
