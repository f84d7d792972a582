//! A text of a definition, as the rules read it.

use std::cell::OnceCell;

use super::{
    fold::fold,
    phrases::{self, Match},
};

/// A text of a definition.
pub(super) struct Passage<'a> {
    /// Where it stands, escaped.
    pub(super) place: &'a str,
    pub(super) kind: Kind,
    pub(super) text: &'a str,
    sentences: OnceCell<Sentences>,
}

/// A text as patterns read it, and the phrases in it.
pub(super) struct Sentences {
    pub(super) folded: String,
    pub(super) matches: Vec<Match>,
}

impl Sentences {
    pub(super) fn of(text: &str) -> Self {
        let folded = fold(text);
        let matches = phrases::find(&folded);
        Self { folded, matches }
    }
}

impl<'a> Passage<'a> {
    pub(super) fn new(place: &'a str, kind: Kind, text: &'a str) -> Self {
        Self {
            place,
            kind,
            text,
            sentences: OnceCell::new(),
        }
    }

    /// It is read once, whichever rule asks first.
    pub(super) fn sentences(&self) -> &Sentences {
        self.sentences.get_or_init(|| Sentences::of(self.text))
    }
}

/// What a text is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The name of the thing itself.
    Name,
    /// A key of an object: the name of a parameter, or a keyword.
    Key,
    /// Sentences for the model or a person.
    Prose,
    /// Anything else: defaults, allowed values, examples, patterns, addresses.
    Value,
}
