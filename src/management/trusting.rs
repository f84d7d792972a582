//! How an entry that an agent wrote becomes a person's: only as that person saw it. What is approved of its definitions is `inspection`'s.

use super::{
    Backing, Management,
    patching::{Planned, not_edited},
};
use crate::{
    config::{Change, ServerEntry, fingerprint_as_written, written_entry},
    failure::error_code::{ErrorCode, Failure},
};

impl<B: Backing> Management<B> {
    /// Writes what gives an entry trust, if the file still says the same as the entry that a person decided about.
    pub(super) async fn trust(
        &self,
        entry: &ServerEntry,
        action: &'static str,
        changes: Vec<Change>,
    ) -> Result<(), Failure> {
        let (name, as_written) = (entry.name.to_string(), entry.as_written.clone());
        let decide = move |text: &str| {
            let written = written_entry(text, &name).map_err(not_edited)?;
            if fingerprint_as_written(&written) == as_written {
                return Ok(Planned::of(changes.clone()));
            }
            let error = format!("the entry of the server {name:?} has just changed");
            let hint = "Review it again; it is held as before.";
            Err(Failure::new(ErrorCode::ToolChanged, error, hint).of_server(&name))
        };
        let planned = self.change_seeing(action, entry.name.as_str(), decide);
        planned.await.map(drop)
    }
}

/// Who wrote an entry is told by the last writer.
pub(super) fn by_a_person(name: &str) -> Change {
    Change::RemoveKey {
        server: name.to_owned(),
        path: vec!["changed_by".to_owned()],
    }
}
