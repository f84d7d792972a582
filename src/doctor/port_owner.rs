//! Which process listens on a port, out of `/proc` where there is one. Processes of other users cannot be seen.

use std::{collections::HashSet, fs, path::Path};

/// In the table of connections: waits for connections.
const LISTENS: &str = "0A";

/// `NAME, process PID`, if it can be told.
pub(super) fn of(port: u16) -> Option<String> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(fs::read_to_string);
    let sockets: HashSet<String> = tables
        .iter()
        .flatten()
        .flat_map(|table| listening_sockets(table, port))
        .collect();
    if sockets.is_empty() {
        return None;
    }
    let processes = fs::read_dir("/proc").ok()?.filter_map(Result::ok);
    let holds = |folder: &Path| {
        let files = fs::read_dir(folder.join("fd")).ok()?.filter_map(Result::ok);
        let mut targets = files.filter_map(|file| fs::read_link(file.path()).ok());
        targets
            .any(|target| sockets.contains(&*target.to_string_lossy()))
            .then_some(())
    };
    for process in processes {
        let name = process.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        if holds(&process.path()).is_some() {
            let program = fs::read_to_string(process.path().join("comm")).unwrap_or_default();
            return Some(format!("{}, process {pid}", program.trim()));
        }
    }
    None
}

/// The sockets that listen on the port, as `/proc/PID/fd` names them.
fn listening_sockets(table: &str, port: u16) -> Vec<String> {
    let wanted = format!(":{port:04X}");
    let rows = table.lines().skip(1).filter_map(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let listens = columns.get(1)?.ends_with(&wanted) && *columns.get(3)? == LISTENS;
        listens.then(|| format!("socket:[{}]", columns.get(9).unwrap_or(&"")))
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::listening_sockets;

    #[test]
    fn the_table_is_read() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1\n   1: 0100007F:1F90 0100007F:9999 01 00000000:00000000 00:00000000 00000000  1000        0 4712 1\n";
        assert_eq!(listening_sockets(table, 8080), ["socket:[4711]"]);
        assert!(listening_sockets(table, 80).is_empty());
    }
}
