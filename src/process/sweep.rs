//! The sweep: ends the processes that a dead daemon left running. A process is ours only if its number *and* its start time are in the
//! ledger, if it is in the group of such a process, or if the mark that we give our children is in its environment.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, DirEntry},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use super::{
    container::{self, ServerContainer},
    ledger::{self, ChildLedger, DaemonRecord, Started},
    members::Running,
    process_table::{self, Seen, Signal},
};
use crate::{storage, text::names::ServerName};

/// From SIGTERM to SIGKILL. The input of these processes ended with their daemon, so they have had time already; but
/// `docker run` takes its container along only after a signal.
const AFTER_TERM: Duration = Duration::from_secs(2);

/// How long to wait for killed processes to be gone.
const AFTER_KILL: Duration = Duration::from_secs(2);

/// How long to wait before looking again.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// An entry whose daemon is gone.
struct OrphanEntry {
    path: PathBuf,
    mark: String,
    server: ServerName,
    /// Absent if the daemon was killed while it started the child.
    started: Option<Started>,
    container: Option<ServerContainer>,
}

/// What a file in the ledger's folder is to the sweep.
enum Verdict {
    OrphanEntry(OrphanEntry),
    /// It says nothing that can be used, and may be removed.
    Meaningless,
    /// It is a living daemon's, or cannot be read.
    NotOurs,
}

impl ChildLedger {
    /// Ends every group that a dead daemon left in this ledger, and says how many there were of each server. Entries of living
    /// daemons and processes that only look like ours are left alone.
    ///
    /// Blocks, up to 4 s if something is left and 10 s more if containers are: call it where blocking is allowed. Children may be started meanwhile.
    pub fn sweep(&self) -> BTreeMap<ServerName, usize> {
        end(self.left_behind(ledger::remove))
    }

    /// The entries of daemons that no longer run. Gives each meaningless file to `meaningless`.
    fn left_behind(&self, meaningless: impl Fn(&Path)) -> Vec<OrphanEntry> {
        let files = match fs::read_dir(&self.shared.folder) {
            Ok(files) => files,
            Err(error) => {
                tracing::warn!(folder = %self.shared.folder.display(), error = %storage::in_words(&error), "the ledger of child processes cannot be read");
                return Vec::new();
            }
        };
        let mut left = Vec::new();
        for file in files.filter_map(Result::ok) {
            match self.judge(&file) {
                Verdict::OrphanEntry(entry) => left.push(entry),
                Verdict::Meaningless => meaningless(&file.path()),
                Verdict::NotOurs => {}
            }
        }
        left
    }

    fn judge(&self, file: &DirEntry) -> Verdict {
        let path = file.path();
        let Ok(mark) = file.file_name().into_string() else {
            return Verdict::Meaningless;
        };
        // Ours are running, or being written right now.
        if mark.starts_with(self.shared.run.as_str()) {
            return Verdict::NotOurs;
        }
        let text = match ledger::read(&path) {
            Ok(text) => text,
            Err(error) => {
                tracing::warn!(path = %path.display(), error = %storage::in_words(&error), "an entry of the ledger of child processes cannot be read");
                return Verdict::NotOurs;
            }
        };
        // What was cut off in its first line was cut off before its child was started.
        let Some((announced, started)) = ledger::parse(&text) else {
            return Verdict::Meaningless;
        };
        // After a reboot, or from another container, process numbers mean nothing here.
        if announced.daemon.numbering != self.shared.daemon.numbering {
            return Verdict::Meaningless;
        }
        if is_alive(&announced.daemon) {
            return Verdict::NotOurs;
        }
        let container = announced.container_runtime.map(|runtime| ServerContainer {
            runtime,
            mark: mark.clone(),
            environment: None,
        });
        Verdict::OrphanEntry(OrphanEntry {
            container,
            path,
            mark,
            server: announced.server,
            started,
        })
    }
}

/// Ends every group that a dead daemon left in this data folder, as [`ChildLedger::sweep`] does, while another daemon may have it.
/// They get `grace` to end by themselves.
pub fn end_left_behind(data_dir: &Path, grace: Duration) -> BTreeMap<ServerName, usize> {
    let left = left_in(data_dir);
    if !left.is_empty() {
        thread::sleep(grace);
    }
    end(left)
}

/// The servers of which a dead daemon left processes in this data folder. Changes nothing.
pub fn left_behind(data_dir: &Path) -> BTreeSet<ServerName> {
    let mut left = left_in(data_dir);
    if !left.is_empty() {
        let running = Running::look();
        left.retain(|entry| !entry.processes(&running).is_empty());
    }
    left.into_iter().map(|entry| entry.server).collect()
}

/// The entries of dead daemons in this data folder. Removes no meaningless file: a daemon may be writing it right now.
fn left_in(data_dir: &Path) -> Vec<OrphanEntry> {
    if !storage::DataFile::Children.within(data_dir).is_dir() {
        return Vec::new();
    }
    match ChildLedger::existing(data_dir) {
        Ok(ledger) => ledger.left_behind(|_| {}),
        Err(error) => {
            tracing::debug!(%error, "nothing is known of processes of an earlier daemon");
            Vec::new()
        }
    }
}

/// Ends the processes and containers of these entries, and gives how many there were of each server.
fn end(left: Vec<OrphanEntry>) -> BTreeMap<ServerName, usize> {
    let mut swept = BTreeMap::new();
    if left.is_empty() {
        return swept;
    }
    let running = Running::look();
    for entry in &left {
        let processes = entry.processes(&running);
        for process in &processes {
            process_table::signal(process, Signal::Terminate);
        }
        if !processes.is_empty() {
            tracing::warn!(server = %entry.server, processes = processes.len(), "stopping processes of an earlier daemon");
            *swept.entry(entry.server.clone()).or_default() += 1;
        }
    }
    wait_until_gone(&left, AFTER_TERM, |_| {});
    wait_until_gone(&left, AFTER_KILL, |process| {
        process_table::signal(process, Signal::Kill);
    });
    let deadline = Instant::now() + container::REMOVAL;
    for entry in left {
        let container = entry.container.as_ref();
        match container.map_or(Ok(false), |one| one.remove(container::LATE, deadline)) {
            Ok(removed) => {
                if removed && !swept.contains_key(&entry.server) {
                    swept.insert(entry.server.clone(), 1);
                }
                ledger::remove(&entry.path);
            }
            Err(reason) => {
                tracing::warn!(server = %entry.server, %reason, "a container of an earlier daemon could not be removed; the next start of the daemon tries again");
            }
        }
    }
    swept
}

/// In doubt, yes: a second daemon's children are not ours to end. A zombie is dead, however long its parent leaves it there.
fn is_alive(daemon: &DaemonRecord) -> bool {
    process_table::find(daemon.pid).is_some_and(|found| {
        let is_same = daemon
            .start
            .as_ref()
            .is_none_or(|start| *start == found.start);
        is_same && found.living
    })
}

/// Looks again until nothing is left or the time is up, and does `each` to what it sees.
fn wait_until_gone(left: &[OrphanEntry], timeout: Duration, each: impl Fn(&Seen)) {
    let begun = Instant::now();
    loop {
        let running = Running::look();
        let remaining: Vec<&Seen> = left
            .iter()
            .flat_map(|entry| entry.processes(&running))
            .collect();
        for process in &remaining {
            each(process);
        }
        if remaining.is_empty() || begun.elapsed() > timeout {
            return;
        }
        thread::sleep(LOOK_AGAIN);
    }
}

impl OrphanEntry {
    /// The running processes that certainly belong to this child.
    fn processes<'a>(&self, running: &'a Running) -> Vec<&'a Seen> {
        // As long as its leader exists, even as a zombie, the group is the one that the daemon made. Afterwards its number can be a
        // stranger's, and only the mark proves it.
        let group = self.started.as_ref().filter(|started| {
            started.start.is_some()
                && running.processes.iter().any(|process| {
                    process.pid == started.pid && Some(&process.start) == started.start.as_ref()
                })
        });
        let is_ours = |process: &&Seen| {
            group.is_some_and(|started| started.group == process.group)
                || running.bears(process, &self.mark)
        };
        let living = running.processes.iter().filter(|process| process.living);
        living.filter(is_ours).collect()
    }
}
