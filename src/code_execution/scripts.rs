//! Starts the processes of scripts. Few run at once, a bounded number waits, and each further one is refused.

use std::{
    env, io,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::Duration,
};

use serde_json::value::RawValue;
use tokio::{
    process::Command,
    sync::Semaphore,
    time::{Instant, timeout_at},
};

use super::{RunningScript, limits, messages::ScriptStart};

/// The command of this program that makes it the process of a script.
const COMMAND: &str = "run-script";

/// The running program, also if its file has been replaced since it started.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// Starts scripts. Clones share one limit.
#[derive(Clone)]
pub struct Scripts(Arc<Parts>);

struct Parts {
    program: PathBuf,
    /// A permit for each script that runs.
    places: Arc<Semaphore>,
    /// A permit for each script that runs or waits.
    queue: Arc<Semaphore>,
}

/// A script to run.
#[derive(Debug)]
pub struct Script {
    /// Its text.
    pub code: String,
    /// The value of its variable `input`.
    pub input: Box<RawValue>,
    /// How long it may take, without its wait for a place.
    pub wall: Duration,
}

/// Why a script does not run.
#[derive(Debug, thiserror::Error)]
pub enum NotStarted {
    /// There are too many already.
    #[error("too many scripts are running")]
    TooMany,
    /// The process could not be started.
    #[error("the process of the script could not be started")]
    Process(#[source] io::Error),
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl Scripts {
    /// Runs scripts with this program, or with the given one of the same version, as tests do.
    pub fn run_by(program: Option<PathBuf>) -> Self {
        let own = || {
            if Path::new(THIS_PROGRAM).exists() {
                return PathBuf::from(THIS_PROGRAM);
            }
            env::current_exe().unwrap_or_else(|_| PathBuf::from("mcpproxy"))
        };
        Self(Arc::new(Parts {
            program: program.unwrap_or_else(own),
            places: Arc::new(Semaphore::new(limits::PLACES)),
            queue: Arc::new(Semaphore::new(limits::PLACES + limits::QUEUE)),
        }))
    }

    /// Starts a script as soon as there is a place, for which it waits as long as the script may take. Dropping the result ends the script.
    pub async fn start(&self, script: Script) -> Result<RunningScript, NotStarted> {
        let parts = &self.0;
        let waits = parts.queue.clone().try_acquire_owned();
        let waits = waits.map_err(|_| NotStarted::TooMany)?;
        let patience = Instant::now() + script.wall;
        let runs = timeout_at(patience, parts.places.clone().acquire_owned()).await;
        let runs = runs.ok().and_then(Result::ok).ok_or(NotStarted::TooMany)?;
        let process = self.command().spawn().map_err(NotStarted::Process)?;
        let wall = script.wall;
        let start = ScriptStart {
            code: script.code,
            input: script.input,
            wall_ms: milliseconds(wall),
            cpu_ms: milliseconds(limits::CPU),
        };
        let start = serde_json::to_vec(&start);
        let start = start.map_err(|error| NotStarted::Process(error.into()))?;
        RunningScript::begin(process, [runs, waits], &start, wall)
            .await
            .map_err(NotStarted::Process)
    }

    /// A process that inherits nothing but its pipes.
    fn command(&self) -> Command {
        let mut command = Command::new(&self.0.program);
        command
            .arg(COMMAND)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        // On Windows programs do not start without some variables.
        #[cfg(unix)]
        command.env_clear().current_dir("/").process_group(0);
        command
    }
}
