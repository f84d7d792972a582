//! What the scanner found, as people read it.

use serde::{Deserialize, Serialize};

use super::finding_place::place_in_words;
use crate::{
    text::secret::Secrets,
    trust::scanner::{self, Finding, Severity},
};

/// A finding of the scanner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ShownFinding {
    /// The rule.
    pub rule: String,
    /// The finding in words.
    #[serde(default)]
    pub meaning: String,
    /// Why it matters, in a sentence.
    #[serde(default)]
    pub why: String,
    /// `remark` (minor) or `hold` (dangerous).
    #[schemars(with = "String")]
    pub severity: Severity,
    /// The place, a JSON pointer into the definition.
    pub place: String,
    /// The place in words, such as `the description of parameter path`.
    #[serde(default)]
    pub place_in_words: String,
    /// The text, escaped.
    pub excerpt: String,
    /// The part of the excerpt that the rule found; absent if it is the whole excerpt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marked: Option<MarkedPart>,
    /// The tool (`server:tool`) or server that a name resembles, in lower case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub like: Option<String>,
}

/// A part of a text, in characters counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MarkedPart {
    /// The first character.
    pub start: usize,
    /// The character after the last.
    pub end: usize,
}

impl From<Finding> for ShownFinding {
    fn from(finding: Finding) -> Self {
        Self {
            rule: finding.rule.to_owned(),
            meaning: scanner::in_words(finding.rule).to_owned(),
            why: scanner::why(finding.rule).to_owned(),
            severity: finding.severity,
            place_in_words: place_in_words(&finding.place),
            place: finding.place,
            excerpt: finding.excerpt,
            marked: finding.marked.map(|part| MarkedPart {
                start: part.start,
                end: part.end,
            }),
            like: finding.like,
        }
    }
}

/// Findings as they are shown, without what must not show.
pub(super) fn shown_findings(secrets: &Secrets, findings: Vec<Finding>) -> Vec<ShownFinding> {
    let findings = findings.into_iter();
    let findings = findings.map(|finding| finding.without(secrets));
    findings.map(ShownFinding::from).collect()
}
