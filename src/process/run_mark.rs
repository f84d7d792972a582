//! The line that begins a run of a server in its log, so that runs can be told apart and lines have a time. Pure.

use std::time::SystemTime;

use crate::moment::utc;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_known_again() {
        assert!(is_run_mark(&run_mark(SystemTime::now())));
        for line in ["", "--- started ---", "--- started 2026 ---", "started"] {
            assert!(!is_run_mark(line), "{line}");
        }
    }
}
