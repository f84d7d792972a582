//! The line that begins a run of a server in its log, so that runs have a beginning and lines have a time; and what keeps a server
//! from writing such lines itself. Pure.

use std::time::SystemTime;

use crate::text::moment::utc;

/// How such a line begins.
const BEGINNING: &str = "--- started ";

/// How it ends.
const END: &str = " ---";

/// The line for a run that began at this moment: `--- started 2026-07-28T09:30:00Z ---`.
pub(super) fn run_mark(began: SystemTime) -> String {
    format!("{BEGINNING}{}{END}", utc(began))
}

/// Whether a line of a log is such a line, and not the server's own.
pub fn is_run_mark(line: &str) -> bool {
    let moment = line.strip_prefix(BEGINNING);
    let moment = moment.and_then(|rest| rest.strip_suffix(END));
    moment.is_some_and(|moment| moment.len() == "2026-07-28T09:30:00Z".len())
}

/// What stands in a log between the lines that a server wrote, because the disk was too slow for some.
pub(super) fn gap_notice(dropped: u64) -> String {
    format!("… {dropped}{MISSING}: the disk was too slow")
}

/// The words for a gap.
const MISSING: &str = " lines are missing here";

/// What is put before a server's line that looks like a mark.
const NOT_OURS: char = '\\';

/// Changes the beginning of a server's line that looks like a mark.
pub(super) fn escape_mark(line: &mut String) {
    let seen = line.trim_start_matches(|c: char| !c.is_ascii_graphic());
    let counted = seen.trim_start_matches(|c: char| c.is_ascii_digit());
    if seen.starts_with(BEGINNING.trim_end()) || counted.starts_with(MISSING) {
        line.insert(0, NOT_OURS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_writes_no_line_that_looks_like_ours() {
        let check = |line: &str, is_changed: bool| {
            let mut told = line.to_owned();
            escape_mark(&mut told);
            let expected = if is_changed { "\\" } else { "" };
            assert_eq!(told, format!("{expected}{line}"));
            assert!(!is_run_mark(&told));
        };
        check("--- started 2026-01-01T00:00:00Z ---", true);
        check(" \u{200b}--- started 2026-01-01T00:00:00Z --- ", true);
        check(&gap_notice(7), true);
        check("--- begun", false);
        check("job --- started", false);
        check("", false);
    }

    #[test]
    fn a_mark_is_known_again() {
        assert!(is_run_mark(&run_mark(SystemTime::now())));
        for line in ["", "--- started ---", "--- started 2026 ---", "started"] {
            assert!(!is_run_mark(line), "{line}");
        }
    }
}
