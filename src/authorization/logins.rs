//! The table of logins: one for each server that a person can log in to.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{ServerLogin, login_file, terms::Terms};
use crate::{
    config::ServerEntry,
    runtime::sync::Guarded,
    storage::{self, DiskFault},
    text::ServerName,
};

/// How long the end waits for a renewal: torn off, it may cost the login.
const GRACE: Duration = Duration::from_secs(5);

/// The logins of all servers. Cheap to clone.
#[derive(Clone)]
pub struct Logins(Arc<Known>);

struct Known {
    data_dir: PathBuf,
    tasks: TaskTracker,
    stop: CancellationToken,
    servers: Guarded<BTreeMap<ServerName, Arc<ServerLogin>>>,
}

impl Logins {
    /// Logins that are kept in this data folder.
    pub fn new(data_dir: &Path) -> Self {
        Self(Arc::new(Known {
            data_dir: data_dir.to_owned(),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
            servers: Guarded::default(),
        }))
    }

    /// The login of a server; nothing for programs, and where the entry has an `Authorization` of its own. Reads a small file the first
    /// time, and after each change of what the login depends on.
    pub fn of(&self, entry: &ServerEntry) -> Option<Arc<ServerLogin>> {
        let terms = Terms::of(entry)?;
        let mut servers = self.0.servers.lock();
        if let Some(known) = servers.get(&entry.name)
            && known.is_of(&terms)
        {
            return Some(known.clone());
        }
        let login = Arc::new(ServerLogin::load(
            entry.name.clone(),
            terms,
            login_file::file_of(&self.0.data_dir, &entry.name),
            self.0.tasks.clone(),
            self.0.stop.child_token(),
        ));
        if let Some(before) = servers.insert(entry.name.clone(), login.clone()) {
            before.abandon();
        }
        Some(login)
    }

    /// Forgets the tokens of a server whose entry may lead elsewhere by now, and what it is registered as. Whether there was something.
    pub fn forget_tokens(&self, name: &ServerName) -> Result<bool, DiskFault> {
        let known = self.0.servers.lock().get(name).cloned();
        let was_logged_in = known.map_or(Ok(false), |login| login.log_out())?;
        let file = login_file::file_of(&self.0.data_dir, name);
        let was_there = file.exists();
        storage::remove(&file).map_err(DiskFault::of("remove", &file))?;
        Ok(was_logged_in || was_there)
    }

    /// Forgets a server that was taken out of the configuration.
    pub fn forget(&self, name: &ServerName) {
        let known = self.0.servers.lock().remove(name);
        let forgotten = match known {
            Some(login) => login.forget(),
            None => storage::remove(&login_file::file_of(&self.0.data_dir, name)),
        };
        if let Err(error) = forgotten {
            tracing::warn!(server = %name, %error, "the login of a removed server cannot be removed");
        }
    }

    /// Ends logins under way, and waits a moment for renewals.
    pub async fn end(&self) {
        self.0.stop.cancel();
        self.0.tasks.close();
        // What takes longer is given up.
        let _ = tokio::time::timeout(GRACE, self.0.tasks.wait()).await;
    }
}
