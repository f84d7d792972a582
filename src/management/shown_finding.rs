//! What the scanner found, as people read it.

use serde::{Deserialize, Serialize};

use super::finding_place::place_in_words;
use crate::{
    text::secret::Secrets,
    trust::scanner::{self, Finding, Severity},
};

/// What the scanner found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ShownFinding {
    /// The rule.
    pub rule: String,
    /// What the rule means, in words.
    #[serde(default)]
    pub meaning: String,
    /// Why it matters, in a sentence.
    #[serde(default)]
    pub why: String,
    /// `remark` or `hold`.
    pub severity: String,
    /// Where: a JSON pointer into the definition.
    pub place: String,
    /// The same for people: `the description of parameter path`.
    #[serde(default)]
    pub place_in_words: String,
    /// What, escaped.
    pub excerpt: String,
    /// Which part of the excerpt the rule objects to; nothing where that is all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marked: Option<MarkedPart>,
    /// The tool (`server:tool`) or the server that a name is taken for, in lower case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub like: Option<String>,
}

/// A part of a text, in characters counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MarkedPart {
    /// The first one.
    pub start: usize,
    /// The first one behind it.
    pub end: usize,
}

impl From<Finding> for ShownFinding {
    fn from(finding: Finding) -> Self {
        Self {
            rule: finding.rule.to_owned(),
            meaning: scanner::in_words(finding.rule).to_owned(),
            why: scanner::why(finding.rule).to_owned(),
            severity: match finding.severity {
                Severity::Remark => "remark",
                Severity::Hold => "hold",
            }
            .to_owned(),
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
