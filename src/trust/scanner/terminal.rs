//! Finds characters that steer a terminal: they hide, move or overwrite what a person reads there.

use super::{
    Findings, Passage,
    Severity::{Hold, Remark},
};

pub(super) fn read(text: &Passage<'_>, findings: &mut Findings) {
    if !text.bytes.have_controls() {
        return;
    }
    let mut characters = text.text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let range = at..at + character.len_utf8();
        match character {
            '\n' | '\t' => (),
            // A carriage return without a line feed overwrites the line, but not at the end of a text.
            '\r' if characters.peek().is_none_or(|(_, next)| *next == '\n') => (),
            '\r' => findings.add("terminal.return", Remark, text, range),
            '\u{1B}' | '\u{80}'..='\u{9F}' => findings.add("terminal.escape", Hold, text, range),
            control if control.is_control() => {
                findings.add("terminal.control", Hold, text, range);
            }
            _ => (),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::scanner::{Severity, hidden::tests::found_by};

    #[track_caller]
    fn check(text: &str, expected: &[(&str, Severity)]) {
        assert_eq!(found_by(read, text), expected, "{text:?}");
    }

    #[test]
    fn what_steers_a_terminal_is_held() {
        check("plain\ttext\nand\r\nlines\r", &[]);
        check("grün, 天気, naïve ±2", &[]);
        check("\u{1b}[8mhidden\u{1b}[0m", &[("terminal.escape", Hold)]);
        check("\u{9b}31m", &[("terminal.escape", Hold)]);
        check(
            "\u{1b}]8;;http://x\u{7}",
            &[("terminal.escape", Hold), ("terminal.control", Hold)],
        );
        check("rm\u{8}\u{8}ls", &[("terminal.control", Hold)]);
        check("nothing\u{0}", &[("terminal.control", Hold)]);
        check("evil\rgood", &[("terminal.return", Remark)]);
    }
}
