//! Counting processes from outside, where the platform lets us look (`/proc`).

use std::{fs, path::Path};

/// Whether the process runs; one that has ended and waits for its parent does not.
pub fn runs(pid: u32) -> bool {
    if !Path::new("/proc").exists() {
        return rustix_pid(pid).is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok());
    }
    state(pid).is_some_and(|state| state != 'Z' && state != 'X')
}

/// Asks a process to end, as a service manager does.
pub fn terminate(pid: u32) {
    let pid = rustix_pid(pid).expect("a process id");
    // It may have ended already.
    let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
}

/// Stops a process where it stands, as a debugger does.
pub fn stop(pid: u32) {
    let pid = rustix_pid(pid).expect("a process id");
    // It may have ended already.
    let _ = rustix::process::kill_process(pid, rustix::process::Signal::STOP);
}

/// Kills a process.
pub fn kill(pid: u32) {
    let pid = rustix_pid(pid).expect("a process id");
    // It may have ended already.
    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
}

/// The running processes that were started with this in their environment, children of children included.
/// Nothing where there is no `/proc`.
pub fn marked(name: &str, value: &str) -> Vec<u32> {
    let marker = format!("{name}={value}");
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(|pid| runs(*pid) && environment_has(*pid, &marker))
        .collect()
}

fn environment_has(pid: u32, marker: &str) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let mut variables = environment.split(|byte| *byte == 0);
    variables.any(|variable| variable == marker.as_bytes())
}

/// The letter after the program's name, which may itself hold blanks and brackets.
fn state(pid: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after) = stat.rsplit_once(')')?;
    after.trim_start().chars().next()
}

fn rustix_pid(pid: u32) -> Option<rustix::process::Pid> {
    rustix::process::Pid::from_raw(i32::try_from(pid).ok()?)
}
