//! What a check found: how bad it is, with which thing, and what to do about it.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DoctorSeverity {
    /// As it should be.
    Ok,
    /// Works, and may surprise.
    Warn,
    /// Does not work.
    Fail,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DoctorFinding {
    /// How bad it is.
    pub severity: DoctorSeverity,
    /// Which check found it.
    pub check: &'static str,
    /// What was found, in a line.
    pub what: String,
    /// The file, the server or the address that it is about.
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// What to do about it, in a line; absent where nothing has to be done.
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
        f.pad(match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        })
    }
}
