//! A text of a definition, as the rules read it.

use std::cell::OnceCell;

pub(super) use super::kind::Kind;
use super::{
    fold::fold,
    phrases::{Match, Phrases},
    purpose::ToolPurpose,
};

/// What texts are read with: the phrases, and what the tool is for that they are of.
#[derive(Default)]
pub(super) struct PassageReader {
    pub(super) phrases: Phrases,
    pub(super) purpose: ToolPurpose,
}

/// A text of a definition.
pub(super) struct Passage<'a> {
    /// Where it stands, escaped.
    pub(super) place: &'a str,
    pub(super) kind: Kind,
    pub(super) text: &'a str,
    pub(super) reader: &'a PassageReader,
    sentences: OnceCell<Sentences>,
}

/// A text as patterns read it, and the phrases in it.
pub(super) struct Sentences {
    pub(super) folded: String,
    pub(super) matches: Vec<Match>,
}

impl Sentences {
    pub(super) fn of(text: &str, phrases: &Phrases) -> Self {
        let folded = fold(text);
        let matches = phrases.find(&folded);
        Self { folded, matches }
    }
}

impl<'a> Passage<'a> {
    pub(super) fn new(
        place: &'a str,
        kind: Kind,
        text: &'a str,
        reader: &'a PassageReader,
    ) -> Self {
        Self {
            place,
            kind,
            text,
            reader,
            sentences: OnceCell::new(),
        }
    }

    /// It is read once, whichever rule asks first. What is private and of the tool's purpose is no phrase.
    pub(super) fn sentences(&self) -> &Sentences {
        self.sentences.get_or_init(|| {
            let read = Sentences::of(self.text, &self.reader.phrases);
            let matches =
                self.reader
                    .purpose
                    .judged((self.place, self.kind), &read.folded, read.matches);
            Sentences { matches, ..read }
        })
    }
}
