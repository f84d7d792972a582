//! An own failure as JSON for its readers.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::{
    failure::{error_code::Failure, step::NextStep},
    text::visible::visible_json,
    wire::Raw,
};

/// The JSON of a failure. Nothing in the names that strangers wrote hides from the eye or steers what shows it.
pub fn shown_failure(failure: &impl Serialize) -> Raw {
    let plain = Raw::author(failure);
    let shown = RawValue::from_string(visible_json(plain.as_str()));
    shown.map_or(plain, |shown| Raw::author(&shown))
}

/// A failure and the next step.
// Its hint names requests, and its step is there for whoever words it otherwise.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Failure")]
pub struct RestFailure {
    #[serde(flatten)]
    failure: Failure,
    /// The next step as data.
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<Box<NextStep>>,
}

impl RestFailure {
    /// Of this failure.
    pub fn of(failure: Failure) -> Self {
        Self {
            step: failure.step.clone(),
            failure: failure.over_rest(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::error_code::ErrorCode;

    #[test]
    fn letters_that_nobody_sees_are_escaped() {
        let failure = Failure::new(ErrorCode::UnknownTool, "no", "look")
            .of_server("s\u{200b}")
            .of_tool("a\u{202e}b\u{200b}ä");
        let expected = r#"{"error":"no","code":"unknown_tool","server":"s\u200b","tool":"a\u202eb\u200bä","hint":"Look."}"#;
        assert_eq!(shown_failure(&failure).as_str(), expected);
    }
}
