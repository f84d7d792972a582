//! What a check found: how bad it is, with which thing, and what to do about it.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use crate::failure::NextStep;

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DoctorSeverity {
    /// Nothing is wrong.
    Ok,
    /// A warning.
    Warn,
    /// A failure.
    Fail,
}

/// A finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DoctorFinding {
    /// The severity.
    pub severity: DoctorSeverity,
    /// The check.
    pub check: &'static str,
    /// The finding in a line.
    pub what: String,
    /// The file, server or address.
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The next step in a line; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

impl DoctorFinding {
    pub(super) fn ok(check: &'static str, what: impl Into<String>) -> Self {
        Self {
            severity: DoctorSeverity::Ok,
            check,
            what: what.into(),
            place: None,
            fix: None,
        }
    }

    pub(super) fn warn(
        check: &'static str,
        what: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self {
            severity: DoctorSeverity::Warn,
            fix: Some(fix.into()),
            ..Self::ok(check, what)
        }
    }

    pub(super) fn fail(
        check: &'static str,
        what: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self {
            severity: DoctorSeverity::Fail,
            ..Self::warn(check, what, fix)
        }
    }

    /// A failure with the step of its server; a warning if the server only waits for a value or a login.
    pub(super) fn of_server(
        check: &'static str,
        what: impl Into<String>,
        step: &NextStep,
        fix: impl Into<String>,
    ) -> Self {
        if step.ends_a_wait() {
            Self::warn(check, what, fix)
        } else {
            Self::fail(check, what, fix)
        }
    }

    /// The same, about this thing.
    pub(super) fn at(self, place: impl fmt::Display) -> Self {
        Self {
            place: Some(place.to_string()),
            ..self
        }
    }
}

impl fmt::Display for DoctorSeverity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}
