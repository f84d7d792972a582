//! The memory that the daemon and its children use. Only Linux gives it cheaply.

use std::{fs, path::Path};

use super::{ledger, process_table};
use crate::storage::DataFile;

/// The resident memory of this process, in bytes.
pub fn own_memory() -> Option<u64> {
    process_table::resident(std::process::id())
}

/// The same of the processes of a server that this daemon started, with what they started themselves; nothing where none runs, or what
/// runs is in a container. Blocks for some milliseconds.
pub fn memory_of_server(data_dir: &Path, server: &str) -> Option<u64> {
    let (own, numbering) = (std::process::id(), process_table::pid_namespace());
    let entries = fs::read_dir(DataFile::Children.within(data_dir)).ok()?;
    let groups = entries.filter_map(|entry| {
        let (announced, started) = ledger::parse(&ledger::read(&entry.ok()?.path()).ok()?)?;
        let is_ours = announced.daemon.pid == own && announced.daemon.numbering == numbering;
        let is_meant = announced.server.as_str() == server && announced.container_runtime.is_none();
        started
            .filter(|_| is_ours && is_meant)
            .map(|started| started.group)
    });
    let groups: Vec<u32> = groups.collect();
    if groups.is_empty() {
        return None;
    }
    let processes = process_table::all().into_iter();
    let of_server = processes.filter(|one| one.living && groups.contains(&one.group));
    let found = of_server.filter_map(|one| process_table::resident(one.pid));
    found.reduce(|all, more| all + more)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::own_memory;

    #[test]
    fn a_process_uses_some_memory() {
        let bytes = own_memory().expect("Linux tells it");
        assert!(bytes > 1 << 20, "{bytes}");
    }
}
