//! Adding servers: one, or several by one change of the file.

use serde_json::{Map, Value};

use super::{
    Backing, Management, ServerChange,
    patching::read_new,
    writing::{bad_name, command_line},
};
use crate::{
    config::{Change, ChangeOf},
    failure::{ErrorCode, Result},
    text::ServerName,
};

impl<B: Backing> Management<B> {
    /// Adds a server. What a person adds is trusted unless the entry says otherwise.
    pub async fn add_server(&self, name: &str, entry: Map<String, Value>) -> Result<ServerChange> {
        self.check_name(name).await?;
        let id = self.add(vec![self.addition(name, entry)?]).await?;
        Ok(ServerChange::of(self.server(name)?, &["added"]).with_id(id))
    }

    /// Adds servers by one change of the file, and gives its number in the history. If a server cannot be added, the others still are. Fails
    /// as a whole if the change cannot be made.
    pub async fn add_servers(
        &self,
        entries: Vec<(String, Map<String, Value>)>,
    ) -> Result<Vec<Result<Option<u64>>>> {
        let mut additions: Vec<Result<Change>> = Vec::new();
        for (name, entry) in entries {
            let checked = self.check_name(&name).await;
            additions.push(checked.and_then(|()| self.addition(&name, entry)));
        }
        loop {
            let written = self.add(additions.iter().flatten().cloned().collect());
            let written = written.await;
            let taken = written.as_ref().err();
            let taken = taken.filter(|failure| failure.code == ErrorCode::ServerExists);
            let taken = taken.and_then(|failure| failure.server.as_deref());
            // Of two additions with one name the first is made.
            let taken = taken.and_then(|name| {
                let mut additions = additions.iter_mut().rev();
                additions.find(|addition| addition.as_ref().is_ok_and(|one| adds(one, name)))
            });
            match (taken, written) {
                (Some(taken), Err(failure)) => *taken = Err(failure),
                (_, written) => {
                    let id = written?;
                    let results = additions.into_iter();
                    return Ok(results.map(|one| one.map(|_| id)).collect());
                }
            }
        }
    }

    async fn add(&self, additions: Vec<Change>) -> Result<Option<u64>> {
        for addition in &additions {
            let name = addition.server().map(|(name, _)| ServerName::parse(name));
            if let Some(Ok(name)) = name
                && self.server(name.as_str()).is_err()
            {
                self.0.begin_anew(&name).await;
            }
        }
        let by = ChangeOf::this_task();
        let note = by.note();
        self.check_in_force(self.write(by, "add", additions).await)?;
        Ok(note.id())
    }

    /// The change that adds this server, if it can be added.
    pub(super) fn addition(&self, name: &str, entry: Map<String, Value>) -> Result<Change> {
        let parsed = ServerName::parse(name).map_err(|error| bad_name(name, &error))?;
        let entry = read_new(&parsed, entry, &self.0.our_address())?;
        match command_line(&entry) {
            Some(failure) => Err(failure.of_server(name)),
            None => Ok(Change::of_server(name, Some(entry))),
        }
    }
}

/// Whether a change adds a server of this name.
fn adds(change: &Change, other: &str) -> bool {
    change
        .server()
        .is_some_and(|(name, _)| name.eq_ignore_ascii_case(other))
}
