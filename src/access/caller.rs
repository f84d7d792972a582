//! Who asks: the subject and roles on whose behalf a request runs.

use std::sync::Arc;

/// The identity behind a request. Cheap to clone. Only [`super::Access`] makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    subject: Arc<str>,
    roles: Arc<[String]>,
}

impl Caller {
    /// Of this subject, without roles.
    pub(super) fn of(subject: &str) -> Self {
        Self {
            subject: subject.into(),
            roles: Arc::from([]),
        }
    }

    /// Of this subject, for tests that need several callers.
    #[cfg(test)]
    pub(crate) fn named(subject: &str) -> Self {
        Self::of(subject)
    }

    /// The name access rules and records know this caller by.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// The same, to be held without a copy.
    pub fn shared_subject(&self) -> Arc<str> {
        self.subject.clone()
    }

    /// Roles that access rules may ask for.
    pub fn roles(&self) -> &[String] {
        &self.roles
    }

    /// Whether both are the same subject. Roles may change while a session lasts.
    pub fn is_same_subject(&self, other: &Self) -> bool {
        self.subject == other.subject
    }
}
