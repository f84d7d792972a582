//! Linux: `/proc`.

use std::{collections::HashMap, fs, io, thread, time::Duration};

use rustix::{
    io::Errno,
    process::{Pid, PidfdFlags, kill_process, pidfd_open, pidfd_send_signal},
};

use super::{Seen, Signal};

/// While a process executes another program, for a fraction of these milliseconds, its environment is empty. Some have none for good.
const WAITS_FOR_EXEC: [u64; 3] = [0, 5, 20];

pub(in crate::process) fn pid_namespace() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let space = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    format!("{} {}", boot.trim(), space.display())
}

pub(in crate::process) fn all() -> Vec<Seen> {
    pids().filter_map(find).collect()
}

pub(in crate::process) fn find(pid: u32) -> Option<Seen> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse_stat(pid, &stat)
}

pub(in crate::process) fn values_of(variable: &str, processes: &[&Seen]) -> HashMap<u32, String> {
    let mut values = HashMap::new();
    let mut read = |process: &Seen| {
        let environment = fs::read(format!("/proc/{}/environ", process.pid)).ok()?;
        if let Some(value) = value_in(&environment, variable) {
            values.insert(process.pid, value);
        }
        Some(environment.is_empty())
    };
    let mut unread: Vec<&Seen> = processes.to_vec();
    for wait in WAITS_FOR_EXEC {
        if !unread.is_empty() {
            thread::sleep(Duration::from_millis(wait));
        }
        unread.retain(|process| read(process) == Some(true));
    }
    values
}

fn value_in(environment: &[u8], variable: &str) -> Option<String> {
    let value = environment.split(|byte| *byte == 0).find_map(|entry| {
        let rest = entry.strip_prefix(variable.as_bytes())?;
        rest.strip_prefix(b"=")
    })?;
    String::from_utf8(value.to_vec()).ok()
}

/// `VmRSS` of `/proc/PID/status` (`proc_pid_status(5)`).
pub(in crate::process) fn resident(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    kibibytes.checked_mul(1024)
}

pub(in crate::process) fn signal(process: &Seen, signal: Signal) {
    let Some(pid) = Pid::from_raw(process.pid.cast_signed()) else {
        return;
    };
    // A descriptor names the process and not the number, so what is checked after opening it holds when the signal is sent.
    let handle = pidfd_open(pid, PidfdFlags::empty());
    if find(process.pid).is_none_or(|seen| seen.start != process.start) {
        return;
    }
    // Fails if the process ended meanwhile, or is not ours to signal.
    let _ = match handle {
        Ok(handle) => pidfd_send_signal(handle, signal.number()),
        // Kernels before 5.3 have no such descriptors.
        Err(Errno::NOSYS) => kill_process(pid, signal.number()),
        Err(failure) => Err(failure),
    };
}

fn pids() -> impl Iterator<Item = u32> {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry: io::Result<fs::DirEntry>| {
            entry.ok()?.file_name().to_str()?.parse().ok()
        })
}

/// Reads `/proc/PID/stat` (`proc_pid_stat(5)`). The second field is the program's name in parentheses and may hold anything, so
/// the fields are counted from its end.
fn parse_stat(pid: u32, stat: &[u8]) -> Option<Seen> {
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(stat.get(name_end + 1..)?).ok()?;
    // Field 3 is the first here.
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let group = fields.nth(1)?;
    let began = fields.nth(16)?;
    Some(Seen {
        pid,
        group: group.parse().ok()?,
        start: began.to_owned(),
        living: !matches!(state, "Z" | "X" | "x"),
    })
}

#[cfg(test)]
mod tests {
    use super::{find, parse_stat, value_in};

    #[test]
    fn a_program_name_cannot_forge_the_fields() {
        let stat =
            b"42 (a) R 1 1 (\xff) S 1 77 77 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 9876 11 12";
        let seen = parse_stat(42, stat).expect("a good line");
        assert_eq!(
            (seen.group, seen.start.as_str(), seen.living),
            (77, "9876", true)
        );
        for bad in ["", "42 (a", "42 (a)", "42 (a) Z 1", "42 (a) S x y z"] {
            assert_eq!(parse_stat(42, bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn a_variable_is_found_by_its_whole_name() {
        let environment = b"XMARK=1\0MARKX=2\0MARK=a=b\0";
        assert_eq!(value_in(environment, "MARK").as_deref(), Some("a=b"));
        assert_eq!(value_in(b"MARK\0OTHER=MARK=1", "MARK"), None);
        assert_eq!(value_in(b"", "MARK"), None);
    }

    #[test]
    fn this_process_is_in_the_table() {
        assert!(find(std::process::id()).is_some());
        assert!(
            super::all()
                .iter()
                .any(|seen| seen.pid == std::process::id() && seen.living)
        );
    }
}
