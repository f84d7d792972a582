//! Containers of servers: the programs that run them, their names and labels, and their removal. The arguments of `docker run` come from
//! `config::Isolation`.
//!
//! A container is no child of the daemon, so neither its process group nor the mark in an environment finds it. It has the mark as a label.

use std::{
    ffi::{OsStr, OsString},
    io::{self, Read},
    path::PathBuf,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{config::Named, storage::in_words, text::names::ServerName};

/// The programs that can run a container. The first one that is found on the `PATH` is used.
pub(super) const RUNTIMES: [&str; 2] = ["docker", "podman"];

/// The label of our containers; its value is the child's mark.
const LABEL: &str = "mcpproxy.child";

/// How long removing containers may take. A running container engine needs less than a second.
pub(super) const REMOVAL: Duration = Duration::from_secs(10);

/// How long one list of containers may take. An engine that hangs must not hold up the stop of a server.
const LISTING: Duration = Duration::from_secs(2);

/// How long after the end of a killed program its container may still come into being.
pub(super) const LATE: Duration = Duration::from_millis(400);

/// How long to wait before looking again.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// How long to wait before asking whether the engine's program has ended.
const POLL: Duration = Duration::from_millis(5);

/// What is read of what the engine's program prints.
const MOST_OUTPUT: u64 = 64 << 10;

/// Variables that say which engine the programs speak to. Servers themselves do not inherit them.
const ENGINE_FAMILIES: [&str; 2] = ["DOCKER_", "CONTAINER_"];

/// The name and the label of the container with this mark.
pub(super) fn named(server: &ServerName, mark: &str) -> Named {
    Named {
        name: format!("mcpproxy-{server}-{mark}"),
        label: format!("{LABEL}={mark}"),
    }
}

/// Whether the container engine's program needs this variable to find its engine.
pub(super) fn is_for_engine(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    ENGINE_FAMILIES
        .iter()
        .any(|family| name.starts_with(family))
}

/// The container with one mark, if there is one.
pub(super) struct ServerContainer {
    pub(super) runtime: PathBuf,
    pub(super) mark: String,
    /// The environment of `runtime`; that of this process where absent.
    pub(super) environment: Option<Vec<(OsString, OsString)>>,
}

impl ServerContainer {
    /// [`ServerContainer::remove`] beside other work, within [`REMOVAL`].
    pub(super) async fn removed(self, settled: Duration) -> Result<(), String> {
        let deadline = Instant::now() + REMOVAL;
        let removing = tokio::task::spawn_blocking(move || self.remove(settled, deadline));
        let removed = removing.await;
        removed.unwrap_or_else(|_| Err("the daemon ended".to_owned()))?;
        Ok(())
    }

    /// Removes the container, whatever state it is in. Gives whether there was one. `settled` is how long one may still come into
    /// being: the engine finishes the work of a program that was killed.
    ///
    /// Blocks until the deadline at most.
    pub(super) fn remove(&self, settled: Duration, deadline: Instant) -> Result<bool, String> {
        let filter = format!("label={LABEL}={}", self.mark);
        let look = ["ps", "--all", "--quiet", "--no-trunc", "--filter", &filter];
        let begun = Instant::now();
        let mut removed = false;
        loop {
            let listed = self.run(&look, deadline.min(Instant::now() + LISTING))?;
            let mut failed = None;
            for id in listed.split_whitespace() {
                let gone = self.run(&["rm", "--force", "--volumes", id], deadline);
                removed |= gone.is_ok();
                failed = gone.err();
            }
            let is_empty = listed.trim().is_empty();
            if is_empty && (removed || begun.elapsed() >= settled) {
                return Ok(removed);
            }
            // `rm` also fails where the engine is removing it at this moment, so the next look decides.
            let wait = is_empty || failed.is_some();
            if let Some(reason) = failed.filter(|_| Instant::now() >= deadline) {
                return Err(reason);
            }
            if wait {
                thread::sleep(LOOK_AGAIN);
            }
        }
    }

    /// Runs the engine's program to its end and gives what it printed.
    fn run(&self, args: &[&str], deadline: Instant) -> Result<String, String> {
        let verb = args.first().copied().unwrap_or_default();
        let failed = |reason: &str| format!("`{} {verb}` {reason}", self.runtime.display());
        let mut command = Command::new(&self.runtime);
        if let Some(environment) = &self.environment {
            command.env_clear().envs(environment.iter().cloned());
        }
        command
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let output = output(command, deadline)
            .map_err(|error| failed(&format!("cannot be run: {}", in_words(&error))))?;
        match output {
            Some(output) if output.success => Ok(output.out),
            Some(output) => Err(failed(&format!("failed: {}", output.err.trim()))),
            None => Err(failed("did not end in time")),
        }
    }
}

/// The output of a program that ended.
struct ProgramOutput {
    success: bool,
    out: String,
    err: String,
}

/// Waits for the program to end; nothing if it was killed at the deadline. What it prints has to fit into a pipe.
fn output(mut command: Command, deadline: Instant) -> io::Result<Option<ProgramOutput>> {
    let mut child = command.spawn()?;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(POLL);
    };
    Ok(Some(ProgramOutput {
        success: status.success(),
        out: read_text(child.stdout.take()),
        err: read_text(child.stderr.take()),
    }))
}

/// What is there to read; less where it cannot be read.
fn read_text(stream: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        // A part is as good as it gets.
        let _ = stream.take(MOST_OUTPUT).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
