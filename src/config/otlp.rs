//! `otlp_endpoint`: the collector that gets the spans of calls.

use std::fmt;

use crate::text::secret::Secret;

/// A collector that takes spans over HTTP. Shows itself without what is secret of its address.
#[derive(Clone, PartialEq, Eq)]
pub struct OtlpEndpoint {
    pub(super) url: Secret,
    pub(super) shown: String,
    pub(super) secrets: Vec<Secret>,
}

impl OtlpEndpoint {
    /// The address that spans are posted to, with user and password where it has them.
    pub fn url(&self) -> &Secret {
        &self.url
    }

    /// What of the address must not show anywhere.
    pub fn secrets(&self) -> impl Iterator<Item = &Secret> {
        self.secrets.iter()
    }
}

impl fmt::Display for OtlpEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for OtlpEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OtlpEndpoint").field(&self.shown).finish()
    }
}
