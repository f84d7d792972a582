//! A process group on unix. Its leader is our child. Every signal goes to all of its members, and to the processes that left the group and
//! still have the child's mark in their environment.

use std::{io, time::Duration};

use rustix::{
    io::Errno,
    process::{Pid, WaitId, WaitIdOptions, kill_process_group, waitid},
};
use tokio::{
    process::{Child, Command},
    signal::unix::{Signal as SignalStream, SignalKind, signal},
    sync::watch,
};

use super::{
    Exit, members,
    process_table::{self, Seen, Signal},
};

/// How long to wait before looking again whether members are left, at first and at most.
const LOOK_AGAIN: (Duration, Duration) = (Duration::from_millis(4), Duration::from_millis(100));

/// The size of the pipes to a child, where the system lets a program choose. Messages are often larger than the usual 64 KiB, and a full
/// pipe makes its two ends take turns. Ordinary users may have 64 MiB of pipes in all.
#[cfg(target_os = "linux")]
const PIPE_SIZE: usize = 256 << 10;

#[cfg(target_os = "linux")]
fn widen_pipes(child: &Child) {
    // A pipe that stays as it is does the same, only slower.
    if let Some(stdin) = &child.stdin {
        let _ = rustix::pipe::fcntl_setpipe_size(stdin, PIPE_SIZE);
    }
    if let Some(stdout) = &child.stdout {
        let _ = rustix::pipe::fcntl_setpipe_size(stdout, PIPE_SIZE);
    }
}

#[cfg(not(target_os = "linux"))]
fn widen_pipes(_: &Child) {}

/// A child that leads a process group. Dropped before [`Group::reap`], the group is killed.
pub(super) struct Group {
    leader: Child,
    id: Pid,
    /// The mark in the environment of all that the leader starts, if that is to end with it.
    mark: Option<String>,
    /// The members outside of the group that were seen so far.
    strays: Vec<Seen>,
    /// Signals that a child has ended. Received from before the start on, so that no end is missed.
    ends: SignalStream,
    exit: watch::Sender<Option<Exit>>,
    /// Invariant: signals go to the group only before the leader is reaped. Until then its zombie keeps the number of the group
    /// from being given to a stranger.
    reaped: bool,
}

impl Group {
    /// Starts the command as the leader of a new group; `exit` learns how the leader ended. Members are also those outside of the
    /// group that bear `mark`.
    pub(super) fn spawn(
        mut command: Command,
        mark: Option<&str>,
        exit: watch::Sender<Option<Exit>>,
    ) -> io::Result<Self> {
        let ends = signal(SignalKind::child())?;
        let leader = command.process_group(0).kill_on_drop(true).spawn()?;
        widen_pipes(&leader);
        let id = leader
            .id()
            .and_then(|id| Pid::from_raw(id.cast_signed()))
            .ok_or_else(|| io::Error::other("the new process has no id"))?;
        Ok(Self {
            leader,
            id,
            mark: mark.map(str::to_owned),
            strays: Vec::new(),
            ends,
            exit,
            reaped: false,
        })
    }

    /// The id of the leader and of the group.
    pub(super) fn pid(&self) -> u32 {
        self.id.as_raw_pid().cast_unsigned()
    }

    /// The child itself, to take its streams from.
    pub(super) fn leader(&mut self) -> &mut Child {
        &mut self.leader
    }

    /// Waits for the leader to end, without reaping it. Cancel-safe.
    pub(super) async fn leader_exit(&mut self) -> Exit {
        loop {
            if let Some(exit) = *self.exit.borrow() {
                return exit;
            }
            if let Some(exit) = self.look() {
                self.exit.send_replace(Some(exit));
            } else if self.ends.recv().await.is_none() {
                self.exit.send_replace(Some(Exit::Unknown));
            }
        }
    }

    /// How the leader ended, if it has. Does not reap it.
    fn look(&mut self) -> Option<Exit> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match waitid(WaitId::Pid(self.id), options) {
            Ok(Some(status)) => Some(
                status
                    .exit_status()
                    .map(Exit::Code)
                    .or_else(|| status.terminating_signal().map(Exit::Signal))
                    .unwrap_or(Exit::Unknown),
            ),
            Ok(None) | Err(Errno::INTR) => None,
            Err(_) => {
                // It is not our child any more, so its number may be a stranger's by now.
                self.reaped = true;
                Some(Exit::Unknown)
            }
        }
    }

    /// Sends the signal to every member.
    pub(super) async fn signal(&mut self, signal: Signal) {
        self.signal_group(signal);
        let strays = self.living().await.into_iter();
        let strays: Vec<Seen> = strays.filter(|member| !self.is_in_group(member)).collect();
        signal_each(strays, signal).await;
    }

    /// Reaps the leader, which has ended, and of the members those that became our children because we are process 1 of a
    /// container, where nobody else would.
    pub(super) async fn reap(&mut self) {
        // Fails only if it was reaped already.
        let _ = self.leader.wait().await;
        self.reaped = true;
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        while let Ok(Some(_)) = waitid(WaitId::Pgid(Some(self.id)), options) {}
        let strays = self.strays.clone();
        if strays.is_empty() {
            return;
        }
        let reaping = tokio::task::spawn_blocking(move || {
            for stray in &strays {
                let is_same =
                    process_table::find(stray.pid).is_some_and(|seen| seen.start == stray.start);
                if let (true, Some(pid)) = (is_same, Pid::from_raw(stray.pid.cast_signed())) {
                    // Fails if it is not our child.
                    let _ = waitid(WaitId::Pid(pid), options);
                }
            }
        });
        // Fails only when the runtime ends.
        let _ = reaping.await;
    }

    /// Whether a member is left that is not a zombie.
    pub(super) async fn has_living(&mut self) -> bool {
        !self.living().await.is_empty()
    }

    /// Resolves when no member is left. Until then sends `signal`, if there is one, to each member that is seen: one may have started
    /// another meanwhile. Has no deadline: the caller sets one.
    pub(super) async fn wait_until_gone(&mut self, signal: Option<Signal>) {
        let (mut pause, longest) = LOOK_AGAIN;
        loop {
            let members = self.living().await;
            if members.is_empty() {
                return;
            }
            if let Some(signal) = signal {
                signal_each(members, signal).await;
            }
            tokio::time::sleep(pause).await;
            pause = longest.min(pause * 2);
        }
    }

    /// The members that are not zombies, wherever they are.
    async fn living(&mut self) -> Vec<Seen> {
        let (group, mark) = (self.group(), self.mark.clone());
        let looking = tokio::task::spawn_blocking(move || members::living(group, mark.as_deref()));
        let living = looking.await.unwrap_or_default();
        for member in &living {
            if !self.is_in_group(member) && !self.strays.contains(member) {
                self.strays.push(member.clone());
            }
        }
        living
    }

    fn is_in_group(&self, member: &Seen) -> bool {
        Some(member.group) == self.group()
    }

    /// The number of the group, as long as it is ours.
    fn group(&self) -> Option<u32> {
        (!self.reaped).then(|| self.pid())
    }

    fn signal_group(&self, signal: Signal) {
        if !self.reaped {
            // The only failure is that nobody is left.
            let _ = kill_process_group(self.id, signal.number());
        }
    }
}

async fn signal_each(members: Vec<Seen>, signal: Signal) {
    if members.is_empty() {
        return;
    }
    let sending = tokio::task::spawn_blocking(move || {
        for member in &members {
            process_table::signal(member, signal);
        }
    });
    // Fails only when the runtime ends, and then the group is dropped.
    let _ = sending.await;
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.reaped {
            return;
        }
        // Reached when the runtime ends or a task is aborted. The ledger keeps its entry: the next start looks once more.
        self.signal_group(Signal::Kill);
        for member in members::living(self.group(), self.mark.as_deref()) {
            process_table::signal(&member, Signal::Kill);
        }
    }
}
