//! Asks a login shell for its `PATH`: runs it with its start-up files, reads one line, and ends it with all it started.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStringExt,
    path::Path,
    process::Stdio,
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::Command,
    sync::watch,
    time::timeout,
};

use super::{Grace, group::Group, stop_steps};
use crate::storage::in_words;

/// A shell that has not answered by then (a prompt, a network folder) is given up.
pub(super) const ANSWERS_WITHIN: Duration = Duration::from_secs(5);

/// What the shell gets to end by itself: start-up files leave locks behind when the traps that remove them never run.
const GRACE: Grace = Grace {
    after_eof: Duration::from_millis(250),
    after_term: Duration::from_secs(1),
};

/// How long the answer waits for what the shell started to be gone. It is killed in any case.
const REAPING: Duration = Duration::from_millis(500);

/// Limit: what start-up files print before and around the answer.
const PRINTED: usize = 1024 * 1024;

/// Start-up files look at these before they ask, update themselves or enter a terminal multiplexer.
const BE_QUIET: [(&str, &str); 2] = [
    ("DISABLE_AUTO_UPDATE", "true"),
    ("ZSH_TMUX_AUTOSTART", "false"),
];

/// The shell's `PATH` after its start-up files, in the home folder given, or else ours; or why there is none.
pub(super) async fn path_of(
    shell: &OsStr,
    home: Option<&Path>,
    deadline: Duration,
) -> Result<OsString, String> {
    // Start-up files print things; the marks enclose the answer. `printenv` is a program, so the shell's own syntax for
    // lists and quotes does not matter.
    let mark = uuid::Uuid::new_v4().simple().to_string();
    let mut command = Command::new(shell);
    command
        .arg("-ilc")
        .arg(format!(
            "echo {mark}; /usr/bin/env printenv PATH; echo {mark}"
        ))
        .envs(BE_QUIET)
        .envs(home.map(|home| ("HOME", home)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut group = Group::spawn(command, None, watch::Sender::new(None))
        .map_err(|error| format!("it cannot be started: {}", in_words(&error)))?;
    let stdout = group.leader().stdout.take().expect("it is piped");
    let answer = timeout(deadline, read_between(stdout, mark.as_bytes())).await;
    // Also after a good answer: start-up files leave things running.
    stop_steps::ask(&mut group, GRACE).await;
    let _ = timeout(REAPING, stop_steps::kill(&mut group)).await;
    let answer = answer.map_err(|_| format!("no answer within {} s", deadline.as_secs()))?;
    let path = answer.ok_or("it exited before it answered")?;
    if !path.contains(&b'/') {
        return Err("its PATH is empty".to_owned());
    }
    Ok(OsString::from_vec(path))
}

/// What stands between two marks, without the space around it. Does not wait for the end of the input, which a background
/// process may hold.
async fn read_between(mut input: impl AsyncRead + Unpin, mark: &[u8]) -> Option<Vec<u8>> {
    let mut printed = Vec::new();
    while printed.len() < PRINTED {
        if input.read_buf(&mut printed).await.ok()? == 0 {
            return None;
        }
        let mut marks = memchr::memmem::find_iter(&printed, mark);
        if let (Some(first), Some(second)) = (marks.next(), marks.next()) {
            let between = printed.get(first + mark.len()..second)?;
            return Some(between.trim_ascii().to_vec());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::{
        ffi::OsStr,
        fs,
        time::{Duration, Instant},
    };

    use super::path_of;

    const LONG: Duration = Duration::from_secs(20);

    async fn path_with_profile(profile: &str, deadline: Duration) -> Result<String, String> {
        let home = tempfile::tempdir().expect("a temporary folder");
        fs::write(home.path().join(".profile"), profile).expect("writable");
        let path = path_of(OsStr::new("/bin/sh"), Some(home.path()), deadline).await;
        path.map(|path| path.into_string().expect("ascii"))
    }

    #[tokio::test]
    async fn the_path_is_found_among_what_start_up_files_print() {
        let profile =
            "echo Welcome; PATH=/from/profile:$PATH; export PATH; sleep 1000 & echo PATH=/no";
        let path = path_with_profile(profile, LONG).await.expect("an answer");
        assert!(path.starts_with("/from/profile:"), "{path}");
        assert!(!path.contains("Welcome") && !path.contains('\n'), "{path}");
    }

    #[tokio::test]
    async fn a_shell_that_is_given_up_may_clear_its_locks() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let lock = home.path().join("lock");
        let profile = r#"trap 'rm -f "$HOME/lock"; exit 1' TERM; : > "$HOME/lock"; while :; do sleep 0.1; done"#;
        fs::write(home.path().join(".profile"), profile).expect("writable");
        let shell = OsStr::new("/bin/sh");
        let path = path_of(shell, Some(home.path()), Duration::from_millis(500)).await;
        assert!(path.is_err() && !lock.exists(), "{path:?}");
    }

    #[tokio::test]
    async fn a_shell_that_hangs_or_fails_is_given_up() {
        let begun = Instant::now();
        let hanging = path_with_profile("sleep 1000", Duration::from_millis(200));
        assert_eq!(hanging.await, Err("no answer within 0 s".to_owned()));
        assert!(begun.elapsed() < LONG);
        let failing = path_with_profile("exit 3", LONG).await;
        assert_eq!(failing, Err("it exited before it answered".to_owned()));
        let no_shell = path_of(OsStr::new("/no/such/shell"), None, LONG);
        let why = no_shell.await.expect_err("there is none");
        assert!(why.starts_with("it cannot be started"), "{why}");
    }
}
