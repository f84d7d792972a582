//! What tells one text of the configuration file from another, where the text itself may not be kept.

use serde::{Deserialize, Serialize};

/// The mark of a text. It is never empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct TextMark(String);

impl TextMark {
    /// The mark of this text.
    pub fn of(text: &str) -> Self {
        Self(blake3::hash(text.as_bytes()).to_hex().to_string())
    }

    /// As it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for TextMark {
    type Error = &'static str;

    /// Earlier versions wrote an empty one for a change beside the file.
    fn try_from(mark: String) -> Result<Self, Self::Error> {
        if mark.is_empty() {
            return Err("the mark of no text");
        }
        Ok(Self(mark))
    }
}
