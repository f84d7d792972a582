//! Who asks: the subject and roles on whose behalf a request runs.

use std::sync::Arc;

/// The identity behind a request. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    subject: Arc<str>,
    roles: Arc<[String]>,
}

impl Caller {
    /// A client that showed no identity.
    pub fn anonymous() -> Self {
        Self {
            subject: "anonymous".into(),
            roles: Arc::from([]),
        }
    }

    /// The person at this machine's terminal: whoever can open the local socket.
    pub fn operator() -> Self {
        Self {
            subject: "operator".into(),
            roles: Arc::from([]),
        }
    }

    /// The name access rules and records know this caller by.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// Roles that access rules may ask for.
    pub fn roles(&self) -> &[String] {
        &self.roles
    }
}
