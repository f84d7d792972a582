//! Real children: `sh` scripts that behave as badly as servers do.

mod dead_daemons;
mod ends;
mod starts;

use std::{
    path::Path,
    time::{Duration, Instant},
};

use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{ChildStdin, ChildStdout},
};

use super::{BaseEnvironment, ChildLedger, Launch, Process, StderrLog, process_table, spawn};
use crate::text::{names::ServerName, secret::Secrets};

/// Far beyond what anything here takes, even on a busy machine.
const DEADLINE: Duration = Duration::from_secs(30);

/// A data folder with everything that a child needs.
struct Ground {
    folder: TempDir,
    ledger: ChildLedger,
    log: StderrLog,
}

/// A child that has been started.
struct Started {
    process: Process,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Ground {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let ledger = ChildLedger::open(folder.path()).expect("a ledger");
        let log = StderrLog::new(folder.path(), &server());
        Self {
            folder,
            ledger,
            log,
        }
    }

    fn start(&self, launch: &Launch) -> Started {
        let (process, stdin, stdout) =
            spawn(launch, &base(), &self.ledger, &self.log).expect("a program that starts");
        let lines = BufReader::new(stdout).lines();
        Started {
            process,
            stdin,
            lines,
        }
    }

    fn sh(&self, script: &str) -> Started {
        self.start(&shell(script))
    }

    fn entries(&self) -> usize {
        entries(self.folder.path())
    }
}

impl Started {
    async fn line(&mut self) -> String {
        let line = tokio::time::timeout(DEADLINE, self.lines.next_line());
        line.await
            .expect("in time")
            .expect("readable")
            .expect("a line")
    }

    /// Reads a line that is a process id.
    async fn pid(&mut self) -> u32 {
        self.line().await.parse().expect("a process id")
    }
}

fn server() -> ServerName {
    ServerName::parse("test").expect("a good name")
}

fn base() -> BaseEnvironment {
    BaseEnvironment::new(&crate::config::Environment::default(), None)
}

fn shell(script: &str) -> Launch {
    Launch {
        secrets: Secrets::default(),
        server: server(),
        command: "sh".into(),
        args: vec!["-c".into(), script.into()],
        env: Vec::new(),
        cwd: None,
        isolation: None,
    }
}

fn entries(data_dir: &Path) -> usize {
    std::fs::read_dir(data_dir.join("children"))
        .expect("a ledger")
        .count()
}

fn is_running(pid: u32) -> bool {
    process_table::all()
        .iter()
        .any(|seen| seen.pid == pid && seen.living)
}

/// Looks until it is so.
async fn eventually(what: &str, condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < DEADLINE, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
