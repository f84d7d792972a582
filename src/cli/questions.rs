//! Questions to the person at the terminal.

use std::io::{self, Write};

use super::{Output, platform, typed::for_people};

impl Output {
    /// The answer of the person at the terminal; nothing where there is none, or stdin has ended.
    pub(super) fn answer_to(self, question: &str) -> Option<String> {
        if !self.is_interactive() {
            return None;
        }
        platform::drop_typed();
        write!(io::stderr(), "{} ", for_people(question)).ok()?;
        let mut answer = String::new();
        match io::stdin().read_line(&mut answer) {
            Ok(n) if n > 0 => Some(answer),
            _ => None,
        }
    }

    /// The answer, which does not show as it is typed; nothing where there is nobody at a terminal.
    pub(super) fn hidden_answer_to(self, question: &str) -> Option<String> {
        if !self.is_interactive() {
            return None;
        }
        read_hidden(question).ok()
    }

    /// A yes or no, for which Enter is yes; no where there is nobody at a terminal.
    pub(super) fn agrees(self, question: &str) -> bool {
        self.decides(&format!("{question} [Y/n]"), true)
    }

    /// A yes or no, for which Enter is no; no where there is nobody at a terminal.
    pub(super) fn asks(self, question: &str) -> bool {
        self.decides(&format!("{question} [y/N]"), false)
    }

    /// Repeats the question until the answer is yes or no.
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
}

/// Reads a line from the terminal that does not show as it is typed.
pub(super) fn read_hidden(question: &str) -> io::Result<String> {
    // If the terminal is gone, reading says so.
    let _ = write!(io::stderr(), "{question} ");
    let typed = platform::read_hidden_line();
    let _ = writeln!(io::stderr());
    typed
}

/// The decision in an answer; nothing where it is none.
fn yes_or_no(answer: &str, by_default: bool) -> Option<bool> {
    match &*answer.trim().to_ascii_lowercase() {
        "" => Some(by_default),
        "y" | "yes" => Some(true),
        "n" | "no" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::yes_or_no;

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
