//! Unix without `/proc`: the `ps` program. Start times have a resolution of one second.

use std::{
    collections::{HashMap, HashSet},
    process::{Command, Stdio},
};

use rustix::process::{Pid, kill_process};

use super::{Seen, Signal};

/// The system's own, whatever the `PATH`.
const PS: &str = "/bin/ps";

/// Shows the environment after the command.
const WITH_ENVIRONMENT: &str = if cfg!(target_vendor = "apple") {
    "-Eww"
} else {
    "-eww"
};

pub(in crate::process) fn pid_namespace() -> String {
    // A process number with its start time is unique enough over boots.
    String::new()
}

pub(in crate::process) fn all() -> Vec<Seen> {
    ps(&["-axo", "pid=,pgid=,stat=,lstart="])
        .lines()
        .filter_map(parse)
        .collect()
}

pub(in crate::process) fn find(pid: u32) -> Option<Seen> {
    let line = ps(&["-o", "pid=,pgid=,stat=,lstart=", "-p", &pid.to_string()]);
    parse(line.lines().next()?)
}

/// macOS shows the environment of our own user's processes only, and never that of its own programs (`/bin`, `/usr/bin`).
pub(in crate::process) fn values_of(variable: &str, processes: &[&Seen]) -> HashMap<u32, String> {
    if processes.is_empty() {
        return HashMap::new();
    }
    let wanted: HashSet<u32> = processes.iter().map(|process| process.pid).collect();
    ps(&[WITH_ENVIRONMENT, "-axo", "pid=,command="])
        .lines()
        .filter_map(|line| value_in(line, variable))
        .filter(|(pid, _)| wanted.contains(pid))
        .collect()
}

/// The command stands before the environment, separated by blanks alone; the last word of that form is the environment's.
fn value_in(line: &str, variable: &str) -> Option<(u32, String)> {
    let mut words = line.split_ascii_whitespace();
    let pid = words.next()?.parse().ok()?;
    let value = words.rev().find_map(|word| {
        let rest = word.strip_prefix(variable)?;
        rest.strip_prefix('=')
    })?;
    Some((pid, value.to_owned()))
}

pub(in crate::process) fn resident(_pid: u32) -> Option<u64> {
    None
}

pub(in crate::process) fn signal(process: &Seen, signal: Signal) {
    let same = find(process.pid).is_some_and(|seen| seen.start == process.start);
    if let (true, Some(pid)) = (same, Pid::from_raw(process.pid.cast_signed())) {
        // Fails if the process ended meanwhile, or is not ours to signal.
        let _ = kill_process(pid, signal.number());
    }
}

/// What `ps` prints; nothing if it cannot be run. The time zone and the language are fixed, because start times are compared.
fn ps(arguments: &[&str]) -> String {
    Command::new(PS)
        .args(arguments)
        .env("TZ", "UTC0")
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
        .unwrap_or_default()
}

fn parse(line: &str) -> Option<Seen> {
    let mut words = line.split_ascii_whitespace();
    let pid = words.next()?.parse().ok()?;
    let group = words.next()?.parse().ok()?;
    let living = !words.next()?.starts_with('Z');
    let start = words.collect::<Vec<_>>().join(" ");
    (!start.is_empty()).then_some(Seen {
        pid,
        group,
        start,
        living,
    })
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn a_line_of_ps_is_a_process() {
        let line = "  812   800 Ss   Mon Nov 23 09:05:01 2026    ";
        let seen = parse(line).expect("it is a whole line");
        assert_eq!((seen.pid, seen.group, seen.living), (812, 800, true));
        assert_eq!(seen.start, "Mon Nov 23 09:05:01 2026");
    }

    #[test]
    fn a_zombie_is_not_living() {
        let seen = parse("812 800 Z+ Mon Nov 23 09:05:01 2026").expect("it is a whole line");
        assert!(!seen.living);
    }

    #[test]
    fn a_line_without_a_start_time_is_no_process() {
        for line in ["", "812", "812 800", "812 800 S", "PID PGID STAT STARTED"] {
            assert_eq!(parse(line), None, "{line:?}");
        }
    }
}
