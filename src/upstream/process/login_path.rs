//! The `PATH` of the person's login shell. A service manager starts us with a bare one, on which no `npx` or `uvx` is found.

use std::{
    ffi::{OsStr, OsString},
    sync::Arc,
    time::Duration,
};

use tokio::sync::OnceCell;

/// Limit: a shell that has not answered by then (a prompt, a network folder) is given up.
const PATIENCE: Duration = Duration::from_secs(5);

/// Limit: what a start-up file prints before and around our answer.
const PRINTED: usize = 1024 * 1024;

/// Finds the login shell's `PATH` once, when first asked. Clones share the answer.
#[derive(Debug, Clone, Default)]
pub struct LoginPath {
    found: Arc<OnceCell<Option<OsString>>>,
}

impl LoginPath {
    /// The `PATH`, or nothing if there is no login shell to ask, or it does not answer. The first call asks, for at most
    /// 5 s, and others wait for it; a daemon that calls it at its start, beside other things, has the answer when a child needs it.
    pub async fn get(&self) -> Option<OsString> {
        self.found.get_or_init(ask).await.clone()
    }
}

#[cfg(not(unix))]
async fn ask() -> Option<OsString> {
    None
}

#[cfg(unix)]
async fn ask() -> Option<OsString> {
    // A daemon with a terminal was started from a shell and has its PATH already. And an interactive shell would stop at once:
    // it is not that terminal's foreground group.
    if std::fs::File::open("/dev/tty").is_ok() {
        return None;
    }
    let shell = std::env::var_os("SHELL").filter(|shell| !shell.is_empty())?;
    let path = ask_shell(&shell, std::env::home_dir(), PATIENCE).await;
    if path.is_none() {
        tracing::warn!(
            shell = %shell.display(),
            "the login shell did not tell its PATH; commands are searched on our own"
        );
    }
    path
}

#[cfg(unix)]
async fn ask_shell(
    shell: &OsStr,
    home: Option<std::path::PathBuf>,
    patience: Duration,
) -> Option<OsString> {
    use std::{os::unix::ffi::OsStringExt, process::Stdio};

    use super::{group::Group, ladder};

    // Start-up files print things; the marks tell them from the answer. `printenv` is a program, so the shell's own syntax for
    // lists and quotes does not matter.
    let mark = uuid::Uuid::new_v4().simple().to_string();
    let mut command = tokio::process::Command::new(shell);
    command
        .arg("-ilc")
        .arg(format!(
            "echo {mark}; /usr/bin/env printenv PATH; echo {mark}"
        ))
        // Start-up files that would ask, update themselves or take over the terminal.
        .envs([
            ("DISABLE_AUTO_UPDATE", "true"),
            ("ZSH_TMUX_AUTOSTART", "false"),
        ])
        .envs(home.map(|home| ("HOME", home)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut group = Group::spawn(command, tokio::sync::watch::Sender::new(None)).ok()?;
    let answer = async {
        let stdout = group.leader().stdout.take()?;
        read_between(stdout, mark.as_bytes()).await
    };
    let answer = tokio::time::timeout(patience, answer).await;
    // Also after a good answer: start-up files leave things running.
    let _ = tokio::time::timeout(patience, ladder::kill(&mut group)).await;
    answer
        .ok()
        .flatten()
        .filter(|path| path.contains(&b'/'))
        .map(OsString::from_vec)
}

/// The one line between two lines of `mark`. Does not wait for the end of the input, which a background process may hold.
#[cfg(unix)]
async fn read_between(
    mut input: impl tokio::io::AsyncRead + Unpin,
    mark: &[u8],
) -> Option<Vec<u8>> {
    use tokio::io::AsyncReadExt;

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

#[cfg(all(test, unix))]
mod tests {
    use std::{
        ffi::OsStr,
        fs,
        time::{Duration, Instant},
    };

    use super::ask_shell;

    async fn path_with_profile(profile: &str, patience: Duration) -> Option<String> {
        let home = tempfile::tempdir().expect("a temporary folder");
        fs::write(home.path().join(".profile"), profile).expect("writable");
        let path = ask_shell(
            OsStr::new("/bin/sh"),
            Some(home.path().to_owned()),
            patience,
        )
        .await;
        path.map(|path| path.into_string().expect("ascii"))
    }

    #[tokio::test]
    async fn the_shells_path_is_found_among_what_its_start_up_files_print() {
        let profile =
            "echo Welcome; PATH=/from/profile:$PATH; export PATH; sleep 1000 & echo PATH=/no";
        let path = path_with_profile(profile, Duration::from_secs(20)).await;
        let path = path.expect("an answer");
        assert!(path.starts_with("/from/profile:"), "{path}");
        assert!(!path.contains("Welcome") && !path.contains('\n'), "{path}");
    }

    #[tokio::test]
    async fn a_shell_that_hangs_or_fails_is_given_up() {
        let begun = Instant::now();
        let path = path_with_profile("sleep 1000", Duration::from_millis(200)).await;
        assert_eq!(path, None);
        assert!(begun.elapsed() < Duration::from_secs(10));
        assert_eq!(
            path_with_profile("exit 3", Duration::from_secs(20)).await,
            None
        );
        let no_shell = ask_shell(OsStr::new("/no/such/shell"), None, Duration::from_secs(20));
        assert_eq!(no_shell.await, None);
    }
}
