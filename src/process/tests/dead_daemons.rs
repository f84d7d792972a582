//! The sweep ends what a killed daemon left, and nothing else.

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use super::{Ground, eventually, is_running, server, shell};
use crate::process::{
    ChildLedger, end_left_behind,
    ledger::{DaemonRecord, MARK},
    left_behind, process_table,
};

/// The data folder of the daemon that `a_daemon_that_is_killed` plays.
const PLAY_DAEMON: &str = "TEST_DATA_DIR";

/// Outlives its daemon: ignores the end of its input. Its child too.
const SURVIVOR: &str = "sleep 1000 & echo $!; exec sleep 1000";

/// What [`PLAY_DAEMON`] starts, if not [`SURVIVOR`].
const PLAY_SCRIPT: &str = "TEST_SCRIPT";

/// Not a test of its own: [`KilledDaemon`] runs it in a process of its own and kills that.
#[tokio::test]
#[ignore = "played by other tests"]
async fn a_daemon_that_is_killed() {
    let Some(folder) = std::env::var_os(PLAY_DAEMON) else {
        return;
    };
    let mut ground = Ground::new();
    ground.ledger = ChildLedger::open(Path::new(&folder)).expect("a ledger");
    let script = std::env::var(PLAY_SCRIPT).expect("what to start");
    let mut child = ground.sh(&script);
    let grandchild = child.pid().await;
    let pids = format!("{} {grandchild}", child.process.pid());
    fs::write(Path::new(&folder).join("pids.new"), pids).expect("writable");
    fs::rename(
        Path::new(&folder).join("pids.new"),
        Path::new(&folder).join("pids"),
    )
    .expect("writable");
    std::future::pending::<()>().await;
}

/// What a daemon left that was killed with SIGKILL.
struct KilledDaemon {
    leader: u32,
    member: u32,
}

impl KilledDaemon {
    async fn in_folder(folder: &Path) -> Self {
        let (left, mut daemon) = Self::unreaped(folder, SURVIVOR).await;
        daemon.wait().expect("it is ours");
        left
    }

    /// With the daemon, whose zombie is there until it is waited for.
    async fn unreaped(folder: &Path, script: &str) -> (Self, Child) {
        let name = "process::tests::dead_daemons::a_daemon_that_is_killed";
        let mut daemon = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", name, "--ignored"])
            .env(PLAY_DAEMON, folder)
            .env(PLAY_SCRIPT, script)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("this program starts");
        let pids = folder.join("pids");
        eventually("the daemon has a child", || pids.exists()).await;
        daemon.kill().expect("it runs");
        let text = fs::read_to_string(pids).expect("just written");
        let mut pids = text
            .split(' ')
            .map(|pid| pid.parse().expect("a process id"));
        let mut next = || pids.next().expect("two of them");
        let left = Self {
            leader: next(),
            member: next(),
        };
        (left, daemon)
    }

    fn is_running(&self) -> bool {
        is_running(self.leader) || is_running(self.member)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_ends_what_a_killed_daemon_left() {
    let ground = Ground::new();
    let left = KilledDaemon::in_folder(ground.folder.path()).await;
    assert!(is_running(left.leader) && is_running(left.member));
    let elsewhere = Ground::new();
    assert!(
        elsewhere.ledger.sweep().is_empty(),
        "another data folder is another daemon's"
    );
    assert!(is_running(left.leader) && is_running(left.member));
    assert!(left_behind(elsewhere.folder.path()).is_empty());
    let named = left_behind(ground.folder.path());
    assert_eq!(named.into_iter().collect::<Vec<_>>(), [server()]);

    let swept = ground.ledger.sweep();
    assert_eq!(swept.into_iter().collect::<Vec<_>>(), [(server(), 1)]);
    assert!(!left.is_running());
    assert_eq!(ground.entries(), 0);
    assert!(ground.ledger.sweep().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_finds_the_members_of_a_group_whose_leader_is_gone() {
    let ground = Ground::new();
    let left = KilledDaemon::in_folder(ground.folder.path()).await;
    let leader = process_table::all()
        .into_iter()
        .find(|seen| seen.pid == left.leader)
        .expect("it runs");
    process_table::signal(&leader, process_table::Signal::Kill);
    eventually("the leader is gone", || !is_running(left.leader)).await;
    assert!(is_running(left.member));
    // Another daemon may be about to write this one.
    let begun = ground.folder.path().join("children/begun");
    fs::write(&begun, "").expect("writable");
    let ended = end_left_behind(ground.folder.path(), Duration::ZERO);
    assert_eq!(ended.len(), 1);
    assert!(!left.is_running());
    assert!(begun.exists() && ground.entries() == 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_whose_zombie_nobody_removes_is_dead() {
    let ground = Ground::new();
    let (left, mut daemon) = KilledDaemon::unreaped(ground.folder.path(), SURVIVOR).await;
    let is_zombie = || process_table::find(daemon.id()).is_some_and(|seen| !seen.living);
    eventually("the daemon is a zombie", is_zombie).await;
    assert_eq!(ground.ledger.sweep().len(), 1);
    assert!(!left.is_running());
    assert!(is_zombie(), "and it is one still");
    daemon.wait().expect("it is ours");
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_finds_what_a_child_started_in_a_session_of_its_own() {
    let ground = Ground::new();
    let script = "setsid sh -c 'echo $$; exec sleep 1000' & exec sleep 1000";
    let (left, mut daemon) = KilledDaemon::unreaped(ground.folder.path(), script).await;
    daemon.wait().expect("it is ours");
    let member = process_table::find(left.member).expect("it runs");
    assert_eq!(member.group, left.member, "it left the group");
    assert_eq!(ground.ledger.sweep().len(), 1);
    assert!(!left.is_running());
}

/// Never the identity of a running process.
fn dead_daemon() -> DaemonRecord {
    DaemonRecord {
        numbering: process_table::pid_namespace(),
        pid: std::process::id(),
        start: Some("never".into()),
    }
}

/// A process of nobody's ledger, in a group of its own; killed in the end.
struct Stranger(Child);

impl Stranger {
    fn start(mark: Option<&str>) -> Self {
        let mut command = Command::new("sh");
        command
            .args(["-c", "echo ready; exec sleep 1000"])
            .envs(mark.map(|mark| (MARK, mark)))
            .process_group(0)
            .stdout(Stdio::piped());
        let mut child = command.spawn().expect("sh starts");
        let stdout = child.stdout.take().expect("it is piped");
        let mut line = String::new();
        BufReader::new(stdout)
            .read_line(&mut line)
            .expect("readable");
        Self(child)
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn a_recycled_process_number_is_not_touched() {
    let ground = Ground::new();
    let stranger = Stranger::start(None);
    let dead = ChildLedger::existing_as(ground.folder.path(), dead_daemon()).expect("a ledger");
    let mut entry = dead.announce(&server(), None);
    entry.record(stranger.0.id());
    let path = ground.folder.path().join("children").join(entry.mark());
    let true_start = process_table::start_of(stranger.0.id()).expect("it runs");
    let text = fs::read_to_string(&path).expect("just written");
    assert!(text.contains(&true_start));
    // What the ledger knew under this number had started at another time.
    fs::write(&path, text.replace(&true_start, "1")).expect("writable");

    assert!(ground.ledger.sweep().is_empty());
    assert!(is_running(stranger.0.id()));
    assert_eq!(ground.entries(), 0);
}

#[tokio::test]
async fn a_child_whose_daemon_was_killed_while_it_started_is_found_by_its_mark() {
    let ground = Ground::new();
    let dead = ChildLedger::existing_as(ground.folder.path(), dead_daemon()).expect("a ledger");
    let entry = dead.announce(&server(), None);
    let child = Stranger::start(Some(entry.mark()));
    let stranger = Stranger::start(Some("another mark"));
    assert_eq!(ground.ledger.sweep().len(), 1);
    assert!(!is_running(child.0.id()));
    assert!(is_running(stranger.0.id()));
}

#[tokio::test]
async fn the_children_of_a_living_daemon_are_left_alone() {
    let ground = Ground::new();
    let mut child = ground.sh(SURVIVOR);
    let grandchild = child.pid().await;
    let second = ChildLedger::open(ground.folder.path()).expect("a ledger");
    assert!(second.sweep().is_empty() && ground.ledger.sweep().is_empty());
    assert!(is_running(child.process.pid()) && is_running(grandchild));
    assert_eq!(ground.entries(), 1);
}

#[tokio::test]
async fn entries_that_mean_nothing_here_are_removed_and_harm_nobody() {
    let ground = Ground::new();
    let stranger = Stranger::start(None);
    let elsewhere = DaemonRecord {
        numbering: "another boot".into(),
        ..dead_daemon()
    };
    let other = ChildLedger::existing_as(ground.folder.path(), elsewhere).expect("a ledger");
    other.announce(&server(), None).record(stranger.0.id());
    let children = ground.folder.path().join("children");
    for (name, text) in [
        ("cut", "{\"server\":\"te"),
        ("empty", ""),
        ("noise", "\u{1}{}"),
    ] {
        fs::write(children.join(name), text).expect("writable");
    }
    assert!(ground.ledger.sweep().is_empty());
    assert!(is_running(stranger.0.id()));
    assert_eq!(ground.entries(), 0);
}

#[tokio::test]
async fn a_ledger_that_cannot_be_written_does_not_stop_servers() {
    let ground = Ground::new();
    fs::remove_dir_all(ground.folder.path().join("children")).expect("removable");
    let mut child = ground.start(&shell("echo ready; cat"));
    assert_eq!(child.line().await, "ready");
}

#[test]
fn who_looks_for_what_is_left_makes_no_folder() {
    let gone = tempfile::tempdir().expect("a temporary folder");
    let ledger = ChildLedger::existing(gone.path()).expect("no link");
    assert!(ledger.sweep().is_empty());
    assert!(!gone.path().join("children").exists());
}
