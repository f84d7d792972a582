//! What entries refer to and is not there, as data: the web UI asks for it in a field.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::{ConfigFinding, FindingKind, Settings};

/// A missing value to which an entry refers.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct MissingValue {
    /// `secret`, or `variable` of the daemon's environment.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// The key with the reference, such as `env.TOKEN`.
    pub key: String,
}

impl MissingValue {
    fn of(finding: &ConfigFinding) -> Option<Self> {
        let (kind, name) = match &finding.kind {
            FindingKind::LacksVariable(name) => ("variable", name),
            FindingKind::LacksSecret { name, .. } => ("secret", name),
            _ => return None,
        };
        Some(Self {
            kind: kind.to_owned(),
            name: name.clone(),
            key: finding.key.clone(),
        })
    }
}

/// What the entry of a server refers to and is not there.
pub(super) fn missing(settings: &Settings, name: &str) -> Vec<MissingValue> {
    let broken = settings.broken_entry(name);
    let findings = broken.iter().flat_map(|broken| &broken.findings);
    findings.filter_map(MissingValue::of).collect()
}
