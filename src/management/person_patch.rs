//! What a person changes of a server's entry by the smart patch.

use serde_json::{Map, Value};

use super::{
    Backing, Management,
    patching::{Rights, plan_patch, read_patch},
    servers::ServerChange,
};
use crate::failure::error_code::Failure;

impl<B: Backing> Management<B> {
    /// Changes what is named of a server's entry, and leaves the rest of it as it is. A person may change everything.
    pub async fn patch_server(
        &self,
        name: &str,
        patch: Map<String, Value>,
    ) -> Result<ServerChange, Failure> {
        let row = self.row_before_change(name)?;
        let patch = read_patch(name, patch)?;
        let (server, us) = (name.to_owned(), self.backing().our_address());
        let planned = self
            .change_seeing("patch", name, move |text| {
                plan_patch(text, &server, &patch, &us, Rights::Person)
            })
            .await;
        let planned = planned.map_err(|failure| self.not_in_file(name, failure))?;
        drop(row);
        self.backing().follows(name).await;
        Ok(ServerChange {
            server: self.server(name)?,
            changed: planned.changed.clone(),
            warnings: self.without_effect(name, &planned.changed),
        })
    }
}
