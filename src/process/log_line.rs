//! The lines of a server's log. Those of the server begin with the moment at which they were read; those of mcpproxy between them do not.
//! Pure.

use std::time::SystemTime;

use crate::text::moment;

/// The beginning and the end of the line that marks the start of a run.
const BEGINNING: &str = "--- started ";
const END: &str = " ---";

/// The moment before a line, and the blank behind it.
const STAMP: usize = "2026-07-28T09:30:00.000Z ".len();

/// The line for a run that began at this moment: `--- started 2026-07-28T09:30:00Z ---`.
pub(super) fn run_mark(began: SystemTime) -> String {
    format!("{BEGINNING}{}{END}", moment::utc(began))
}

/// Puts the moment before each of these lines: `2026-07-28T09:30:00.123Z listening`.
pub(super) fn stamp(lines: &mut [String], read: SystemTime) {
    let read = moment::utc_millis(moment::millis(read));
    for line in lines {
        line.insert_str(0, &format!("{read} "));
    }
}

/// The line that stands for lines which are missing in a log, because the disk was too slow.
pub(super) fn gap_notice(dropped: u64) -> String {
    format!("… lines missing: {dropped}; the disk was too slow")
}

/// The text that the server wrote in a line of its log; nothing if the line is mcpproxy's. Logs of former versions have no moments.
pub fn own_words(line: &str) -> Option<&str> {
    if let Some((read, words)) = line.split_at_checked(STAMP)
        && read.ends_with("Z ")
        && moment::read(read.trim_end()).is_some()
    {
        return Some(words);
    }
    let is_ours = line.starts_with(BEGINNING) && line.ends_with(END);
    (!is_ours).then_some(line)
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::{own_words, run_mark, stamp};

    #[test]
    fn a_line_that_looks_like_ours_is_its_own_all_the_same() {
        for words in [
            "",
            "ready",
            "--- started 2026-01-01T00:00:00Z ---",
            "… 7 lines",
        ] {
            let mut lines = [words.to_owned()];
            stamp(&mut lines, SystemTime::now());
            assert_eq!(own_words(&lines[0]), Some(words), "{lines:?}");
        }
        assert_eq!(own_words(&run_mark(SystemTime::now())), None);
        for former in [
            "",
            "ready",
            "2026",
            "2026-01-01T00:00:00Z or later, that is",
        ] {
            assert_eq!(own_words(former), Some(former));
        }
    }
}
