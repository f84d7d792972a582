//! The daemon's side of a running script: its messages in order, and always an end, whatever its process does.

use std::{io, process::ExitStatus, time::Duration};

use tokio::{
    io::AsyncWriteExt,
    process::{Child, ChildStdin, ChildStdout},
    sync::OwnedSemaphorePermit,
    time::{Instant, timeout, timeout_at},
};

use super::{CodePlace, ScriptCode, ScriptEnd, ScriptEvent, ScriptFailure, limits};
use crate::wire::lines::{self, Line, Lines};

/// How long a process may take to exit after it closed its output.
const REAPING: Duration = Duration::from_secs(1);

/// One script in its process. Dropping it kills the process at once.
pub struct RunningScript {
    process: Child,
    input: ChildStdin,
    lines: Lines<ChildStdout>,
    /// When the process is killed.
    deadline: Instant,
    wall: Duration,
    /// A place to run and one in the queue, both given back when dropped.
    _places: [OwnedSemaphorePermit; 2],
}

/// The process does not read its input: it ended.
#[derive(Debug, thiserror::Error)]
#[error("the process of the script has ended")]
pub struct BrokenScript;

impl RunningScript {
    pub(super) async fn begin(
        mut process: Child,
        places: [OwnedSemaphorePermit; 2],
        start: &[u8],
        wall: Duration,
    ) -> io::Result<Self> {
        let missing = || io::Error::other("a pipe is missing");
        let input = process.stdin.take().ok_or_else(missing)?;
        let output = process.stdout.take().ok_or_else(missing)?;
        let mut script = Self {
            process,
            input,
            lines: Lines::new(output, limits::MESSAGE + (1 << 10)),
            deadline: Instant::now() + wall + limits::GRACE,
            wall,
            _places: places,
        };
        let begun = timeout_at(script.deadline, script.send(start)).await;
        begun.map_err(|_| io::ErrorKind::TimedOut)??;
        Ok(script)
    }

    /// When the process is killed.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// The failure of a script that still runs at its deadline. `waiting_for` is the call that it waited for, and where it made that.
    pub fn timed_out(&self, waiting_for: Option<(&str, &CodePlace)>) -> ScriptFailure {
        let why = format!("the script took longer than {} ms", self.wall.as_millis());
        let code = ScriptCode::Timeout;
        match waiting_for {
            Some((call, at)) => {
                let line = at.position.map(|(line, _)| format!(" in line {line}"));
                let line = line.unwrap_or_default();
                let why = format!("{why}; it was waiting for {call}{line}");
                ScriptFailure::new(code, why).at(at.clone())
            }
            None => ScriptFailure::new(code, why),
        }
    }

    /// The next message of the script. Cancel-safe. Not to be called again after [`ScriptEvent::Ended`].
    pub async fn next(&mut self) -> ScriptEvent {
        let broken = |why: String| ScriptFailure::new(ScriptCode::EngineFailed, why);
        let line = match self.lines.next().await {
            Ok(Some(Line::Text(line))) => line,
            Ok(Some(Line::TooLarge(_))) => {
                let why = "the script wrote more at once than is allowed";
                return ScriptEvent::Ended(broken(why.to_owned()).into());
            }
            Ok(None) | Err(_) => {
                let status = timeout(REAPING, self.process.wait()).await;
                let status = status.ok().and_then(Result::ok);
                return ScriptEvent::Ended(ScriptEnd::Failed(died(status)));
            }
        };
        match serde_json::from_slice(&line) {
            Ok(event) => event,
            Err(error) => {
                let why = format!("the engine sent no valid message: {error}");
                ScriptEvent::Ended(broken(why).into())
            }
        }
    }

    /// Gives the script the results that it waits for: a JSON array.
    pub async fn answer(&mut self, results: &[u8]) -> Result<(), BrokenScript> {
        let sent = timeout_at(self.deadline, self.send(results)).await;
        sent.map_err(|_| BrokenScript)?.map_err(|_| BrokenScript)
    }

    async fn send(&mut self, line: &[u8]) -> io::Result<()> {
        let mut whole = Vec::with_capacity(line.len() + 1);
        lines::append(line, &mut whole);
        self.input.write_all(&whole).await?;
        self.input.flush().await
    }
}

/// Why a process ended without [`ScriptEvent::Ended`], by its exit status.
fn died(status: Option<ExitStatus>) -> ScriptFailure {
    #[cfg(unix)]
    if let Some(signal) =
        status.and_then(|status| std::os::unix::process::ExitStatusExt::signal(&status))
    {
        // The system enforces its limit of processor time by SIGXCPU, then by SIGKILL.
        let is_for_time = signal == rustix::process::Signal::XCPU.as_raw()
            || signal == rustix::process::Signal::KILL.as_raw();
        if is_for_time {
            let why = format!(
                "the script computed for more than {} s in one step, which timeout_ms cannot extend",
                limits::CPU.as_secs()
            );
            return ScriptFailure::new(ScriptCode::Timeout, why);
        }
        let why = format!("the engine crashed (signal {signal})");
        return ScriptFailure::new(ScriptCode::EngineFailed, why);
    }
    let why = match status {
        Some(status) => format!("the engine exited ({status})"),
        None => "the engine exited".to_owned(),
    };
    ScriptFailure::new(ScriptCode::EngineFailed, why)
}
