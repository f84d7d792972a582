//! What this program is.

use schemars::JsonSchema;
use serde::Serialize;

use crate::wire::Revision;

/// The commit of the sources, which whoever builds a release names; an empty one counts as none.
const COMMIT: Option<&str> = option_env!("MCPPROXY_COMMIT");

/// What this program is.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ProgramVersion {
    /// Its version.
    pub version: &'static str,
    /// The commit that it was built from; null in a build that was not told of one.
    pub commit: Option<&'static str>,
    /// The revisions of the protocol that it speaks.
    pub revisions: Vec<&'static str>,
}

impl ProgramVersion {
    /// Ours.
    pub fn own() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            commit: COMMIT.filter(|commit| !commit.is_empty()),
            revisions: Revision::all().map(Revision::as_str).collect(),
        }
    }
}
