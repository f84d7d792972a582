//! The next step in words, with who may read them.

use serde::{Serialize, Serializer};

use super::plain_words::for_model;
use crate::text::cut::shortened;

/// Limit: bytes of a sentence. Names that a client made up stand in it, and would come back whole otherwise.
pub(super) const LONGEST_SENTENCE: usize = 2048;

/// What a model reads first in answer to a request of which nothing ran.
pub const NOTHING_RAN: &str = "Nothing ran";

/// The next step in words. Words for models are shown to nobody else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HintText {
    words: Box<str>,
    pub(super) is_for_models: bool,
    pub(super) nothing_ran: bool,
}

impl HintText {
    /// Words for every reader.
    pub fn new(words: impl Into<String>) -> Self {
        Self {
            words: sentence(shortened(words, LONGEST_SENTENCE)).into(),
            is_for_models: false,
            nothing_ran: false,
        }
    }

    /// After a request of which nothing ran.
    #[must_use]
    pub fn not_run(mut self) -> Self {
        self.nothing_ran = true;
        self
    }

    /// The words for people; none if there are only words for models.
    pub fn for_people(&self) -> &str {
        if self.is_for_models { "" } else { &self.words }
    }

    /// The words for a model, with quotes instead of backticks.
    pub fn advice(&self) -> String {
        for_model(&self.words)
    }

    /// The words for a model whose request failed: the outcome comes first.
    pub fn for_model(&self) -> String {
        let advice = self.advice();
        if self.nothing_ran {
            format!("{NOTHING_RAN}. {advice}")
        } else {
            advice
        }
    }
}

impl Serialize for HintText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.for_people())
    }
}

/// A hint as a sentence, with a capital letter and a full stop, unless it begins with a command, a name or a sign.
fn sentence(text: String) -> String {
    let word = text.split([' ', ',', ':', ';']).next().unwrap_or_default();
    let is_word = !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase());
    let mut text = match text.split_at_checked(1) {
        Some((first, rest)) if is_word && word != "mcpproxy" => first.to_ascii_uppercase() + rest,
        _ => text,
    };
    if text.starts_with(char::is_alphabetic) && !text.ends_with(['.', '?', '…']) {
        text.push('.');
    }
    text
}
