//! What to start: a program with arguments, an environment and a folder. Never a shell line.

use std::{
    collections::BTreeMap,
    env,
    ffi::{OsStr, OsString},
    fmt, io,
    path::{Path, PathBuf},
    process::Stdio,
};

use tokio::process::Command;

use super::BaseEnvironment;
use crate::{
    names::ServerName,
    secret::{Secret, Secrets},
};

/// A child to start.
#[derive(Clone)]
pub struct Launch {
    /// The server that it serves.
    pub server: ServerName,
    /// A name to be found on the child's `PATH`, or a path; a relative one counts from `cwd`.
    pub command: String,
    /// Passed as they are.
    pub args: Vec<String>,
    /// On top of the base environment.
    pub env: Vec<(String, Secret)>,
    /// The child's folder; the home folder if absent, because ours depends on who started us.
    pub cwd: Option<PathBuf>,
    /// What is masked in what it writes to stderr.
    pub secrets: Secrets,
}

/// Arguments may hold credentials, so they are counted only.
impl fmt::Debug for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Launch")
            .field("server", &self.server)
            .field("command", &self.command)
            .field("args", &self.args.len())
            .field("env", &self.env)
            .field("cwd", &self.cwd)
            .finish_non_exhaustive()
    }
}

/// Why a child could not be started. The text names folders of this machine: it is for the operator, and
/// [`SpawnError::outside`] is for clients.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// The command is a name, and no program on the `PATH` has it.
    #[error("failed to start server {server:?}: the command {command:?} is not on PATH")]
    NotFound {
        /// The server.
        server: ServerName,
        /// The command as configured.
        command: String,
        /// The `PATH` that was searched.
        path: OsString,
    },
    /// The command is a path, and no program is there.
    #[error("failed to start server {server:?}: there is no program at {file:?}")]
    NoProgram {
        /// The server.
        server: ServerName,
        /// The path, made whole.
        file: PathBuf,
    },
    /// The command is a path, and what is there may not be executed.
    #[error("failed to start server {server:?}: the file {file:?} may not be executed")]
    NotExecutable {
        /// The server.
        server: ServerName,
        /// The path, made whole.
        file: PathBuf,
    },
    /// No such folder.
    #[error("failed to start server {server:?}: the folder {cwd:?} to start it in does not exist")]
    NoFolder {
        /// The server.
        server: ServerName,
        /// The folder as configured.
        cwd: PathBuf,
    },
    /// The program is there and did not start.
    #[error("failed to start server {server:?}: the system refused to run {command:?}")]
    Refused {
        /// The server.
        server: ServerName,
        /// The command as configured.
        command: String,
        /// The system's reason.
        source: io::Error,
    },
}

impl SpawnError {
    /// What a client may read: no path, no environment.
    pub fn outside(&self) -> &'static str {
        match self {
            Self::NotFound { .. } | Self::NoProgram { .. } => "its command was not found",
            Self::NotExecutable { .. } => "its command may not be executed",
            Self::NoFolder { .. } => "the folder to start it in does not exist",
            Self::Refused { .. } => "the system refused to run its command",
        }
    }

    /// What the operator can do about it.
    pub fn next_step(&self) -> &'static str {
        match self {
            Self::NotFound { command, .. } if command.contains(char::is_whitespace) => {
                "write the program alone as \"command\" and the rest as \"args\""
            }
            Self::NotFound { .. } => {
                "install it, write its full path as \"command\", or add its folder to PATH in \"environment\""
            }
            Self::NoProgram { .. } => "correct the path in \"command\"",
            Self::NotExecutable { .. } => {
                "make it executable (chmod +x), or write what runs it as \"command\", such as python3, and the file as the first of \"args\""
            }
            Self::NoFolder { .. } => "create the folder or correct \"cwd\"",
            Self::Refused { .. } => {
                "check that the file is a program for this machine and may be executed"
            }
        }
    }
}

impl Launch {
    /// The file that would be executed.
    pub fn resolve(&self, base: &BaseEnvironment) -> Result<PathBuf, SpawnError> {
        self.locate(&base.for_child(&self.env))
    }

    /// The command, ready to start in a clean environment with all three streams piped.
    pub(super) fn command(&self, base: &BaseEnvironment) -> Result<Command, SpawnError> {
        let environment = base.for_child(&self.env);
        let mut command = Command::new(self.locate(&environment)?);
        command.current_dir(self.folder(&environment));
        command
            .args(&self.args)
            .env_clear()
            .envs(environment)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Ok(command)
    }

    /// The error for a program that was found and did not start.
    pub(super) fn refused(&self, source: io::Error) -> SpawnError {
        SpawnError::Refused {
            server: self.server.clone(),
            command: self.command.clone(),
            source,
        }
    }

    fn locate(&self, environment: &BTreeMap<OsString, OsString>) -> Result<PathBuf, SpawnError> {
        if let Some(cwd) = self.cwd.as_ref().filter(|cwd| !cwd.is_dir()) {
            return Err(SpawnError::NoFolder {
                server: self.server.clone(),
                cwd: cwd.clone(),
            });
        }
        let path = environment
            .get(OsStr::new("PATH"))
            .cloned()
            .unwrap_or_default();
        let from = self.folder(environment);
        which::which_in(&self.command, Some(&path), &from)
            .map_err(|_| self.not_found(path, from.join(&self.command)))
    }

    fn folder(&self, environment: &BTreeMap<OsString, OsString>) -> PathBuf {
        let ours = env::current_dir().unwrap_or_else(|_| Path::new("/").to_owned());
        if let Some(cwd) = &self.cwd {
            return ours.join(cwd);
        }
        let home = environment.get(OsStr::new("HOME")).map(PathBuf::from);
        let home = home.or_else(env::home_dir);
        // Users of services may have none.
        home.filter(|home| home.is_dir()).unwrap_or(ours)
    }

    fn not_found(&self, path: OsString, file: PathBuf) -> SpawnError {
        let server = self.server.clone();
        let is_name = Path::new(&self.command).components().count() < 2;
        if is_name {
            let command = self.command.clone();
            SpawnError::NotFound {
                server,
                command,
                path,
            }
        } else if file.is_file() {
            SpawnError::NotExecutable { server, file }
        } else {
            SpawnError::NoProgram { server, file }
        }
    }
}
