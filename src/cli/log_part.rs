//! Which part of a log is shown, and how.

use clap::Args;

use super::{CommandFailure, Done, Output, mistake::whole_number, output};

/// Which part of a log is shown.
#[derive(Debug, Clone, Copy, Args)]
pub(super) struct LogPart {
    /// How many lines, at most 500
    #[arg(short = 'n', long, default_value_t = 50, value_parser = whole_number(1..=500_u16))]
    pub(super) lines: u16,
    /// Print new lines as they come, until Ctrl-C
    #[arg(short, long)]
    pub(super) follow: bool,
    /// Print lines unchanged, terminal control characters included
    #[arg(long)]
    pub(super) raw: bool,
}

impl LogPart {
    /// Prints lines of it.
    pub(super) fn print(self, text: &str) -> Done {
        if self.raw {
            return output::exactly(text.strip_suffix('\n').unwrap_or(text));
        }
        output::escaped_text(text)
    }

    /// Following has no end that would close a JSON document.
    pub(super) fn check(self, out: Output) -> Done {
        if self.raw && out.is_json() {
            let mistake = CommandFailure::usage(
                "--raw cannot be used with -o json, which never changes lines",
            );
            return Err(mistake.next("leave one of them out"));
        }
        if self.follow && out.is_json() {
            let mistake = CommandFailure::usage("--follow cannot be used with -o json");
            return Err(mistake.next("leave one of them out"));
        }
        Ok(())
    }
}
