//! A text of a definition as the rules read it.

use std::{
    cell::{OnceCell, RefCell},
    collections::BTreeSet,
};

use super::{
    fold::{fold, words_of_name},
    judging::{judge, parameter_of},
    phrase::Topic,
    phrases::{KnownTexts, Match, Phrases, remember},
    purpose::ToolPurpose,
};

/// The state with which the texts of a definition are read.
#[derive(Default)]
pub(super) struct PassageReader {
    pub(super) phrases: Phrases,
    /// The purpose of the tool; `None` if the texts are not of a tool.
    pub(super) purpose: Option<ToolPurpose>,
    pub(super) asked: AskedBeyond,
    /// Texts to which nothing objected, as texts of this kind.
    plain: KnownTexts<Kind>,
}

impl PassageReader {
    /// Whether the tool's purpose is to keep secrets.
    pub(super) fn keeps_secrets(&self) -> bool {
        self.purpose
            .as_ref()
            .is_some_and(|purpose| purpose.keeps_secrets)
    }

    /// Whether the tool's purpose is this topic.
    pub(super) fn is_about(&self, topic: Topic) -> bool {
        self.purpose
            .as_ref()
            .is_some_and(|purpose| purpose.is_about(topic))
    }
}

/// Limit: parameters beyond the purpose that are noted.
const BEYOND: usize = 8;

/// The parameters of a tool that are beyond its purpose, by the words of their names. In a cell, because passages share the reader.
#[derive(Default)]
pub(super) struct AskedBeyond(RefCell<BTreeSet<String>>);

impl AskedBeyond {
    pub(super) fn note(&self, parameter: &str) {
        let mut names = self.0.borrow_mut();
        if names.len() < BEYOND {
            names.insert(words_of_name(parameter));
        }
    }

    pub(super) fn into_names(self) -> BTreeSet<String> {
        self.0.into_inner()
    }
}

/// The kind of a text in a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The name of the defined thing.
    Name,
    /// A key of an object: the name of a parameter, or a keyword.
    Key,
    /// Sentences for the model or a person.
    Prose,
    /// Anything else: defaults, allowed values, examples, patterns, addresses.
    Value,
}

/// A text of a definition.
pub(super) struct Passage<'a> {
    /// A JSON pointer into the definition, escaped.
    pub(super) place: &'a str,
    pub(super) kind: Kind,
    pub(super) text: &'a str,
    pub(super) reader: &'a PassageReader,
    pub(super) bytes: BytesSeen,
    sentences: OnceCell<Sentences>,
}

/// The set of bytes in a text, by which most rules see at once that they need not read it.
pub(super) struct BytesSeen([u64; 4]);

impl BytesSeen {
    fn of(text: &str) -> Self {
        let mut seen = [0; 4];
        for byte in text.bytes() {
            seen[usize::from(byte >> 6)] |= 1 << (byte & 63);
        }
        Self(seen)
    }

    /// Whether the text has one of these bytes.
    pub(super) fn have_any(&self, bytes: &[u8]) -> bool {
        let is_seen = |byte: &u8| self.0[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1;
        bytes.iter().any(is_seen)
    }

    pub(super) fn are_ascii(&self) -> bool {
        self.0[2] | self.0[3] == 0
    }

    /// Whether the text may have control characters, with line ends: those of ASCII, or 0xC2, with which those beyond ASCII begin.
    pub(super) fn have_controls(&self) -> bool {
        self.0[0] & u64::from(u32::MAX) != 0 || self.have_any(&[0x7F, 0xC2])
    }
}

/// A folded text, and the phrases in it.
pub(super) struct Sentences {
    pub(super) folded: String,
    pub(super) matches: Vec<Match>,
}

impl Sentences {
    pub(super) fn of(text: &str, phrases: &Phrases) -> Self {
        let folded = fold(text);
        let matches = phrases.find(&folded).to_vec();
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
            bytes: BytesSeen::of(text),
            sentences: OnceCell::new(),
        }
    }

    /// Whether nothing objected to the same text elsewhere. Then only rules that depend on the tool and the place need to read it.
    pub(super) fn is_plain(&self) -> bool {
        self.reader.plain.borrow().get(self.text) == Some(&self.kind)
    }

    /// Notes that nothing objects to this text.
    pub(super) fn note_plain(&self) {
        remember(&self.reader.plain, self.text, self.kind);
    }

    /// The folded text and its phrases, without private things that are of the tool's purpose. Made once, when a rule needs it.
    pub(super) fn sentences(&self) -> &Sentences {
        self.sentences.get_or_init(|| {
            let folded = fold(self.text);
            let found = self.reader.phrases.find(&folded);
            let prose = Some(self.place).filter(|_| self.kind == Kind::Prose);
            let of = (self.place, prose.and_then(parameter_of));
            let judged = judge(self.reader.purpose.as_ref(), of, &folded, &found);
            if let Some(parameter) = judged.asking {
                self.reader.asked.note(parameter);
            }
            Sentences {
                folded,
                matches: judged.matches,
            }
        })
    }
}
