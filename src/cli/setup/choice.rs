//! The choice that `--import` or `--connect` of `mcpproxy setup` makes.

use super::super::{CommandFailure, Done, Output};

/// A choice among the found servers or clients.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Choice {
    All,
    Nothing,
    /// There is neither an option nor a terminal: nothing is done, and the report names what could be.
    Undecided,
    Named(Vec<String>),
    /// The person at the terminal chooses.
    Ask,
}

impl Choice {
    /// The choice by the values of an option. Fails if `none` is among others.
    pub(super) fn of(option: &str, words: &[String], yes: bool, out: Output) -> Done<Self> {
        let other = words.iter().find(|word| *word != "none");
        if let Some(other) = other.filter(|_| words.iter().any(|word| word == "none")) {
            let what = format!("{option} none contradicts {option} {other}");
            let failure = CommandFailure::usage(what).undone(super::UNDONE);
            return Err(failure.next("leave one of them out"));
        }
        Ok(Self::read(words, yes, out.is_interactive()))
    }

    fn read(words: &[String], yes: bool, has_person: bool) -> Self {
        let is = |word: &str| words.iter().any(|given| given == word);
        match words {
            [] if yes => Self::All,
            [] if has_person => Self::Ask,
            [] => Self::Undecided,
            _ if is("all") => Self::All,
            _ if is("none") => Self::Nothing,
            _ => Self::Named(words.to_vec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Choice, Output};

    #[test]
    fn nothing_and_something_contradict_each_other() {
        let check = |words: &[&str], expected: Option<&str>| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            let read = Choice::of("--import", &words, true, Output::default());
            assert_eq!(read.err().map(|failure| failure.what).as_deref(), expected);
        };
        check(&["none", "none"], None);
        check(&["all", "codex"], None);
        let all = "--import none contradicts --import all";
        check(&["all", "none"], Some(all));
        let codex = "--import none contradicts --import codex";
        check(&["none", "codex"], Some(codex));
    }

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
