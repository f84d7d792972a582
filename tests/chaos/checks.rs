//! What must hold of the machine when it is quiet, and at the end.

use std::{collections::BTreeSet, time::Duration};

use rustix::process::Signal;
use tokio::time::{Instant, sleep};

use crate::{
    daemon::{self, Figures},
    plan::Transport,
    run::Run,
    servers,
    support::{patience, processes},
};

/// How long the machine may take to be quiet.
const QUIET: Duration = Duration::from_mins(1);

impl Run {
    /// One child a server at most, and nobody else.
    pub async fn check_processes(&self, when: &str) {
        let mark = &self.scene.home.mark;
        let deadline = Instant::now() + QUIET;
        loop {
            let mut wrong = Vec::new();
            let mut known = BTreeSet::new();
            for server in &self.servers {
                if server.plan.transport != Transport::Stdio {
                    continue;
                }
                let alive = server.upstream.alive();
                let expected = if server.plan.sleepy { 0..=1 } else { 1..=1 };
                if !expected.contains(&alive.len()) {
                    wrong.push(format!("{}: {alive:?}", server.plan.name));
                }
                known.extend(alive);
            }
            let running: BTreeSet<u32> =
                processes::marked(servers::MARK, mark).into_iter().collect();
            if running != known {
                wrong.push(format!("servers {running:?}, of which we know {known:?}"));
            }
            let bridges = self.clients.iter().filter_map(|client| client.pid());
            let expected: BTreeSet<u32> = bridges.chain([self.daemon_pid()]).collect();
            let programs: BTreeSet<u32> = self.scene.home.processes().into_iter().collect();
            // The one that watches the daemon.
            let others = programs.difference(&expected).count();
            if !programs.is_superset(&expected) || others != 1 {
                wrong.push(format!(
                    "programs {programs:?}, expected {expected:?} and one more"
                ));
            }
            if wrong.is_empty() {
                return;
            }
            if Instant::now() > deadline {
                let wrong = wrong.join("; ");
                return self.note(None, format!("the process table {when}: {wrong}"));
            }
            sleep(patience::LOOK_AGAIN * 10).await;
        }
    }

    /// What the daemon takes is back where it was.
    pub async fn check_figures(&self, before: Figures) -> Figures {
        let deadline = Instant::now() + QUIET;
        loop {
            let after = daemon::figures(self.daemon_pid()).unwrap_or(before);
            let back = after.memory_mib <= before.memory_mib + 40
                && after.descriptors <= before.descriptors + 20
                // Threads for files come and go: an idle daemon has had 18 of all kinds, and 28.
                && after.threads <= before.threads + 16;
            if back {
                return after;
            }
            if Instant::now() > deadline {
                self.note(None, format!("not given back: {before:?}, then {after:?}"));
                return after;
            }
            sleep(Duration::from_secs(1)).await;
        }
    }

    pub fn check_strays(&self) {
        for client in &self.clients {
            for stray in client.strays() {
                self.note(None, format!("{} never asked for {stray}", client.name));
            }
        }
    }

    /// Clients leave, SIGTERM ends the daemon, and nothing of the run is left.
    pub async fn check_end(&self) {
        for client in &self.clients {
            if let Err(why) = client.leave().await {
                self.note(None, why);
            }
        }
        let pid = self.daemon_pid();
        daemon::kill(pid, Signal::TERM);
        if let Err(why) = daemon::ended(pid).await {
            self.note(None, why);
        }
        let mark = &self.scene.home.mark;
        let deadline = Instant::now() + QUIET;
        loop {
            let left = [
                processes::marked(servers::MARK, mark),
                self.scene.home.processes(),
            ]
            .concat();
            if left.is_empty() {
                return;
            }
            if Instant::now() > deadline {
                return self.note(None, format!("left after SIGTERM: {left:?}"));
            }
            sleep(patience::LOOK_AGAIN * 10).await;
        }
    }
}
