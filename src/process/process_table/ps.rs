//! Unix without `/proc`: the `ps` program. Start times have a resolution of one second.

use std::process::{Command, Stdio};

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

pub(super) fn numbering() -> String {
    // A process number with its start time is unique enough over boots.
    String::new()
}

pub(super) fn all() -> Vec<Seen> {
    ps(&["-axo", "pid=,pgid=,stat=,lstart="])
        .lines()
        .filter_map(parse)
        .collect()
}

pub(super) fn start_of(pid: u32) -> Option<String> {
    let line = ps(&["-o", "pid=,pgid=,stat=,lstart=", "-p", &pid.to_string()]);
    parse(line.lines().next()?).map(|process| process.start)
}

pub(super) fn has_living(group: u32) -> bool {
    all()
        .iter()
        .any(|process| process.group == group && process.living)
}

pub(super) fn bears(pid: u32, variable: &str) -> bool {
    ps(&[WITH_ENVIRONMENT, "-o", "command=", "-p", &pid.to_string()])
        .split_ascii_whitespace()
        .any(|word| word == variable)
}

pub(super) fn signal(process: &Seen, signal: Signal) {
    let same = start_of(process.pid).as_ref() == Some(&process.start);
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
