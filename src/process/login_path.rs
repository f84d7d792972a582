//! The `PATH` of the person's login shell, found once for the whole daemon: a service manager starts the daemon with a bare one, on which
//! no `npx` or `uvx` is found.

use std::{
    ffi::OsString,
    sync::{Arc, OnceLock},
};

use tokio::sync::watch;

#[cfg(unix)]
use super::login_shell;

/// Nothing yet, or the shell's answer.
type Answer = Option<Option<OsString>>;

/// Finds the login shell's `PATH` once, on first use. Clones share the answer.
#[derive(Debug, Clone, Default)]
pub struct LoginPath {
    found: Arc<OnceLock<watch::Receiver<Answer>>>,
}

impl LoginPath {
    /// One that asks nobody: for a daemon whose own `PATH` is the right one.
    pub fn without_shell() -> Self {
        let (answer, answered) = watch::channel(Some(None));
        drop(answer);
        Self {
            found: Arc::new(OnceLock::from(answered)),
        }
    }

    /// The `PATH`, or nothing if there is no login shell to ask, or it does not answer. The first call starts the shell, for at most
    /// 5 s, and others wait for it; a daemon that calls it at its start, beside other things, has the answer when a child needs
    /// it. The shell runs to its end even when nobody waits for the answer any more: a shell that is killed in the middle of its
    /// start-up files leaves their locks behind.
    pub async fn get(&self) -> Option<OsString> {
        let ask = || {
            let (answer, answered) = watch::channel(None);
            tokio::spawn(async move { answer.send_replace(Some(ask_shell().await)) });
            answered
        };
        let mut answered = self.found.get_or_init(ask).clone();
        // Gone without an answer: the runtime is ending.
        let answer = answered.wait_for(Option::is_some).await.ok()?;
        answer.clone().flatten()
    }
}

/// Asks the shell; on other systems none sets a `PATH`.
#[cfg(unix)]
async fn ask_shell() -> Option<OsString> {
    // A daemon with a terminal was started from a shell and has its PATH already. And an interactive shell would stop at once:
    // its group is not that terminal's foreground group.
    if std::fs::File::open("/dev/tty").is_ok() {
        return None;
    }
    let shell = std::env::var_os("SHELL").filter(|shell| !shell.is_empty())?;
    let path = login_shell::path_of(&shell, None, login_shell::ANSWERS_WITHIN).await;
    if let Err(reason) = &path {
        tracing::warn!(
            shell = %shell.display(),
            %reason,
            "the login shell did not print its PATH; mcpproxy uses the daemon's PATH"
        );
    }
    path.ok()
}

#[cfg(not(unix))]
#[expect(clippy::unused_async, reason = "the same shape as on unix")]
async fn ask_shell() -> Option<OsString> {
    None
}
