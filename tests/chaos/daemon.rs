//! The daemon of a run, whichever process that is: it is killed and started, and sometimes a bridge is faster.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::{process::Command, time::Instant};

use super::clients::{Address, Places, send, socket};
use crate::support::{patience, processes};

/// Stands in the environment of every process of the program that a run starts, and of those that they start themselves.
pub const MARK: &str = "MCPPROXY_CHAOS_RUN";

/// How long a daemon may take to serve, and to end.
const PATIENCE: Duration = Duration::from_mins(1);

/// Where a run lives, and the program that it is about.
#[derive(Debug, Clone)]
pub struct Home {
    pub folder: PathBuf,
    pub places: Places,
    pub mark: String,
}

/// What a process has of the machine.
#[derive(Debug, Clone, Copy)]
pub struct Figures {
    pub memory_mib: u64,
    pub descriptors: usize,
    pub threads: u64,
}

impl Home {
    pub fn new(folder: &Path, mark: &str) -> Self {
        let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = free.local_addr().expect("a bound socket").port();
        Self {
            folder: folder.to_owned(),
            places: Places {
                port,
                socket: socket(&folder.join("data")),
            },
            mark: mark.to_owned(),
        }
    }

    pub fn config_file(&self) -> PathBuf {
        self.folder.join("mcp_config.json")
    }

    pub fn log_file(&self) -> PathBuf {
        self.folder.join("stderr.log")
    }

    /// The program with these arguments, with nothing of whoever runs the tests in its environment.
    pub fn program(&self, arguments: &[&str]) -> Command {
        let log = fs::File::options()
            .create(true)
            .append(true)
            .open(self.log_file())
            .expect("the folder is ours");
        let mut command = Command::new(binary());
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("SHELL", "/bin/sh")
            .env("HOME", &self.folder)
            .env(MARK, &self.mark)
            .arg("--config")
            .arg(self.config_file())
            .arg("--data-dir")
            .arg(self.folder.join("data"))
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        command
    }

    /// The bridge of one client.
    pub fn bridge(&self, endpoint: &str) -> Command {
        self.program(&["stdio", "--endpoint", endpoint])
    }

    /// A request to the operator's API; nothing while nobody answers.
    pub async fn rest(&self, method: &str, path: &str, body: &str) -> Option<(u16, Value)> {
        let to = Address::Local(self.places.socket.clone());
        let headers = [("content-type", "application/json".to_owned())];
        let asked = async {
            let coming = send(&to, method, path, &headers, body.to_owned())
                .await
                .ok()?;
            let status = coming.response.status().as_u16();
            let body = coming.collect().await.ok()?;
            Some((status, serde_json::from_slice(&body).ok()?))
        };
        tokio::time::timeout(PATIENCE, asked).await.ok()?
    }

    /// Starts a daemon and waits until one serves at our port. Gives its number.
    pub async fn start(&self) -> Result<u32, String> {
        let deadline = Instant::now() + PATIENCE;
        let mut child = self
            .program(&["serve"])
            .spawn()
            .map_err(|e| e.to_string())?;
        loop {
            if let Some((200, status)) = self.rest("GET", "/api/v1/status", "").await {
                let pid = status["pid"]
                    .as_u64()
                    .and_then(|pid| u32::try_from(pid).ok());
                let pid = pid.ok_or("a status without a pid")?;
                if status["listen"][0].is_string() {
                    // Ours is waited for, so that it is gone from the process table when it has ended.
                    tokio::spawn(async move { drop(child.wait().await) });
                    return Ok(pid);
                }
                // A bridge started one that found the port taken.
                kill(pid, Signal::KILL);
            }
            if Instant::now() > deadline {
                return Err(format!("no daemon serves within {PATIENCE:?}"));
            }
            if let Ok(Some(_)) = child.try_wait()
                && self.rest("GET", "/api/v1/status", "").await.is_none()
            {
                // Another one had the folder, and has ended.
                child = self
                    .program(&["serve"])
                    .spawn()
                    .map_err(|e| e.to_string())?;
            }
            tokio::time::sleep(patience::LOOK_AGAIN).await;
        }
    }

    /// The processes of the program that run.
    pub fn processes(&self) -> Vec<u32> {
        let mut found = processes::marked(MARK, &self.mark);
        found.sort_unstable();
        found
    }
}

/// The program that is tried.
pub fn binary() -> PathBuf {
    let given = std::env::var_os("MCPPROXY").map(PathBuf::from);
    given.unwrap_or_else(|| env!("CARGO_BIN_EXE_mcpproxy").into())
}

pub fn kill(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    // It may have ended already.
    let _ = kill_process(pid.expect("a process id"), signal);
}

/// Waits until a process has ended.
pub async fn ended(pid: u32) -> Result<(), String> {
    let deadline = Instant::now() + PATIENCE;
    while processes::runs(pid) {
        if Instant::now() > deadline {
            return Err(format!("the daemon {pid} does not end"));
        }
        tokio::time::sleep(patience::LOOK_AGAIN).await;
    }
    Ok(())
}

/// What this process has now.
pub fn figures(pid: u32) -> Option<Figures> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let number = |key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    Some(Figures {
        // Without the pages of the program itself, which the system keeps or drops as it likes.
        memory_mib: number("RssAnon:")? / 1024,
        descriptors: fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count(),
        threads: number("Threads:")?,
    })
}
