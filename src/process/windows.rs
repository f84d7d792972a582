//! Windows: the child alone. There is no group, so what the child started is not ended with it.

use std::io;

use tokio::{
    process::{Child, Command},
    sync::watch,
};

use super::{Exit, process_table::Signal};

/// `CREATE_NO_WINDOW`: a console program opens no window on the desktop.
const NO_WINDOW: u32 = 0x0800_0000;

/// A child. Dropped, it is killed.
pub(super) struct Group {
    leader: Child,
    pid: u32,
    exit: watch::Sender<Option<Exit>>,
}

impl Group {
    /// Starts the command; `exit` learns how it ended.
    pub(super) fn spawn(
        mut command: Command,
        _mark: Option<&str>,
        exit: watch::Sender<Option<Exit>>,
    ) -> io::Result<Self> {
        let leader = command
            .creation_flags(NO_WINDOW)
            .kill_on_drop(true)
            .spawn()?;
        let pid = leader
            .id()
            .ok_or_else(|| io::Error::other("the new process has no id"))?;
        Ok(Self { leader, pid, exit })
    }

    /// The id of the child.
    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// The child itself, to take its streams from.
    pub(super) fn leader(&mut self) -> &mut Child {
        &mut self.leader
    }

    /// Waits for the child to end. May be dropped and called again.
    pub(super) async fn leader_exit(&mut self) -> Exit {
        if let Some(exit) = *self.exit.borrow() {
            return exit;
        }
        let status = self.leader.wait().await;
        let code = status.ok().and_then(|status| status.code());
        let exit = code.map_or(Exit::Unknown, Exit::Code);
        self.exit.send_replace(Some(exit));
        exit
    }

    /// Kills the child. There is no gentler signal: the end of its input was one.
    #[expect(clippy::unused_async, reason = "the same shape as on unix")]
    pub(super) async fn signal(&mut self, signal: Signal) {
        if matches!(signal, Signal::Kill) {
            // Fails only if it has ended already.
            let _ = self.leader.start_kill();
        }
    }

    /// Nothing to do: waiting has released the child.
    pub(super) async fn reap(&mut self) {
        let _ = self.leader.wait().await;
    }

    /// Always says no: the child has no group that we could look at.
    #[expect(clippy::unused_async, reason = "the same shape as on unix")]
    pub(super) async fn has_living(&mut self) -> bool {
        false
    }

    /// Resolves at once, for the same reason.
    #[expect(clippy::unused_async, reason = "the same shape as on unix")]
    pub(super) async fn wait_until_gone(&mut self, _signal: Option<Signal>) {}
}
