//! What a person chose by flags: all, nothing, some by name, or by prompts.

use super::super::Output;

/// A choice among things that are found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Choice {
    All,
    Nothing,
    /// No flag and no person: nothing is done, and the report names what could be.
    Undecided,
    Named(Vec<String>),
    /// There is a person at a terminal.
    Ask,
}

impl Choice {
    pub(super) fn of(words: &[String], yes: bool, out: Output) -> Self {
        Self::read(words, yes, out.is_interactive())
    }

    fn read(words: &[String], yes: bool, has_person: bool) -> Self {
        let is = |word: &str| words.iter().any(|given| given == word);
        if is("all") || (words.is_empty() && yes) {
            Self::All
        } else if is("none") {
            Self::Nothing
        } else if words.is_empty() && !has_person {
            Self::Undecided
        } else if words.is_empty() {
            Self::Ask
        } else {
            Self::Named(words.to_vec())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Choice;

    #[test]
    fn without_a_person_nothing_is_done_that_was_not_said() {
        let check = |words: &[&str], yes: bool, has_person: bool, expected: Choice| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(Choice::read(&words, yes, has_person), expected);
        };
        check(&[], false, false, Choice::Undecided);
        check(&[], true, false, Choice::All);
        check(&[], false, true, Choice::Ask);
        check(&["none"], true, true, Choice::Nothing);
        check(&["all"], false, false, Choice::All);
        check(
            &["codex"],
            true,
            true,
            Choice::Named(vec!["codex".to_owned()]),
        );
    }
}
