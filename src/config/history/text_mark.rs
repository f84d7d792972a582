//! A hash of a text of the configuration file, where the text itself must not be stored because it may contain secrets.

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

    /// The hash in hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for TextMark {
    type Error = &'static str;

    /// Refuses an empty one, which earlier versions wrote for a change of approvals or tokens.
    fn try_from(mark: String) -> Result<Self, Self::Error> {
        if mark.is_empty() {
            return Err("the mark of no text");
        }
        Ok(Self(mark))
    }
}
