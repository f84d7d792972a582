//! What is wrong in a part of the configuration that is read strictly: all of it, so that a person need not correct one after the other.

use std::fmt;

use super::{ConfigError, line_column::LineColumn};

/// Limit: mistakes that are named; of more it is said how many there are.
const NAMED: usize = 20;

/// What was read, or everything that is wrong with it.
pub(super) type Read<T> = Result<T, Mistakes>;

/// Mistakes, of which none is lost: whoever has one can give no value.
#[derive(Debug, Default)]
pub(super) struct Mistakes(Vec<Mistake>);

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Mistake {
    line: usize,
    column: usize,
    key: String,
    problem: String,
}

/// Those after the first, in the order of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OtherMistakes(Vec<Mistake>);

impl Mistakes {
    /// One, at this place.
    pub(super) fn one(at: LineColumn, key: &str, problem: String) -> Self {
        Self(vec![Mistake {
            line: at.line,
            column: at.column,
            key: key.to_owned(),
            problem,
        }])
    }

    /// Notes more.
    pub(super) fn add(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// What was read, if nothing is wrong with it; otherwise that is noted.
    pub(super) fn take<T>(&mut self, read: Read<T>) -> Option<T> {
        read.map_err(|others| self.add(others)).ok()
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What was read, if nothing is wrong at all.
    pub(super) fn unless_any<T>(self, read: Option<T>) -> Read<T> {
        match read {
            Some(read) if self.is_empty() => Ok(read),
            _ => Err(self),
        }
    }

    /// All that was read, or all that is wrong.
    pub(super) fn gather<T>(all: impl Iterator<Item = Read<T>>) -> Read<Vec<T>> {
        let mut mistakes = Self::default();
        let read: Vec<Option<T>> = all.map(|one| mistakes.take(one)).collect();
        mistakes.unless_any(read.into_iter().collect())
    }
}

impl From<Mistakes> for ConfigError {
    fn from(mistakes: Mistakes) -> Self {
        let mut all = mistakes.0;
        all.sort();
        all.dedup();
        let mut all = all.into_iter();
        // Without any there would be a value.
        let first = all.next().unwrap_or_else(|| Mistake {
            line: 1,
            column: 1,
            key: "serverAuth".to_owned(),
            problem: "cannot be read".to_owned(),
        });
        Self::AccessControl {
            line: first.line,
            column: first.column,
            key: first.key,
            problem: first.problem,
            others: OtherMistakes(all.collect()),
        }
    }
}

impl fmt::Display for OtherMistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for mistake in self.0.iter().take(NAMED - 1) {
            let Mistake {
                line,
                column,
                key,
                problem,
            } = mistake;
            write!(f, "; line {line}, column {column}: `{key}` {problem}")?;
        }
        match self.0.len().saturating_sub(NAMED - 1) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}
