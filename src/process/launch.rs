//! The launch of a child: a program with arguments, an environment and a folder, never a shell line; and why a program is not found.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    ffi::{OsStr, OsString},
    fmt,
    io::{self, Read},
    path::{Path, PathBuf},
    process::Stdio,
};

use tokio::process::Command;

use super::{BaseEnvironment, container};
use crate::{
    config::{self, Isolation, ServerEntry},
    failure::NextStep,
    storage,
    text::{Secret, Secrets, ServerName, names},
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
    /// What is redacted in what it writes to stderr.
    pub secrets: Secrets,
    /// The container that it is to run in.
    pub isolation: Option<Isolation>,
}

impl Launch {
    /// The launch that an entry describes.
    pub fn of(entry: &ServerEntry, stdio: &config::Stdio) -> Self {
        let env = stdio.env.iter();
        Self {
            server: entry.name.clone(),
            command: stdio.command.clone(),
            args: stdio.args.clone(),
            env: env
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
            cwd: stdio.cwd.clone(),
            secrets: entry.secrets.clone(),
            isolation: stdio.isolation.clone(),
        }
    }
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
    #[error("`{command}` not found on PATH")]
    NotFound {
        /// The command as configured.
        command: String,
        /// The `PATH` that was searched.
        path: OsString,
    },
    /// It is to run in a container, and no program for that is on the `PATH`.
    #[error("neither docker nor podman found on PATH")]
    NoContainerRuntime,
    /// The command is a path, and no program is there.
    #[error("no program at {file:?}")]
    NoProgram {
        /// The path, made whole.
        file: PathBuf,
    },
    /// There is none, because of something that a shell would have taken away or replaced.
    #[error("no program {command:?}: mcpproxy uses no shell, so {what} as written")]
    NoShell {
        /// The command as configured.
        command: String,
        /// What stays without a shell.
        what: &'static str,
        /// What to write.
        step: &'static str,
    },
    /// The command is a path, and a folder is there.
    #[error("{file:?} is a folder, not a program")]
    IsFolder {
        /// The path, made whole.
        file: PathBuf,
    },
    /// What the command names may not be executed.
    #[error("{file:?} is not executable")]
    NotExecutable {
        /// The path, made whole.
        file: PathBuf,
    },
    /// No such folder.
    #[error("no folder {cwd:?} to start it in")]
    NoFolder {
        /// The folder as configured.
        cwd: PathBuf,
    },
    /// It is a script whose interpreter is not there.
    #[error("{file:?} cannot be run: its first line names {interpreter:?}, which does not exist")]
    NoInterpreter {
        /// The path, made whole.
        file: PathBuf,
        /// What stands behind the `#!`.
        interpreter: String,
    },
    /// The system knows no way to run it.
    #[error("{file:?} is neither a program for this machine nor a script with a #! line")]
    NotAProgram {
        /// The path, made whole.
        file: PathBuf,
    },
    /// The program is there and did not start.
    #[error("the system refused to run {command:?}: {}", storage::in_words(source))]
    Refused {
        /// The command as configured.
        command: String,
        /// The system's reason.
        source: io::Error,
    },
}

/// Whether a command is a whole command line, which only a shell would split: it has several words, and is no file.
pub fn is_command_line(command: &str) -> bool {
    command.trim().contains(char::is_whitespace) && !Path::new(command).exists()
}

/// The file that a command of an entry would run, with this folder and this `PATH` of its own. Nothing is started.
pub fn find_program(
    command: &str,
    cwd: Option<&Path>,
    path: Option<String>,
    base: &BaseEnvironment,
) -> Result<PathBuf, SpawnError> {
    let path = path.filter(|path| !path.is_empty());
    let path = path.map(|path| ("PATH".to_owned(), Secret::new(path)));
    locate(command, cwd, &base.for_child(path.as_slice()))
}

/// Limit: programs whose names are compared with one that is not found.
const COMPARED: usize = 20_000;

/// The program on the `PATH` that may have been meant by a name that is not there: it differs in a fifth of its letters at most.
pub fn closest_program(error: &SpawnError) -> Option<String> {
    let SpawnError::NotFound { command, path } = error else {
        return None;
    };
    let most = command.chars().count().div_ceil(5).min(3);
    let folders = env::split_paths(path).filter_map(|folder| folder.read_dir().ok());
    let names = folders.flatten().take(COMPARED).filter_map(|entry| {
        let name = entry.ok()?.file_name().into_string().ok()?;
        let is_near = command.len() > 2 && name.len().abs_diff(command.len()) <= most;
        let edits = is_near.then(|| names::edits(&name, command))?;
        (edits <= most).then_some((edits, name))
    });
    names.min().map(|(_, name)| name)
}

impl SpawnError {
    /// The product that a program comes with which was not found.
    pub fn comes_with(&self) -> Option<&'static str> {
        let Self::NotFound { command, .. } = self else {
            return None;
        };
        let part = PARTS_OF.iter().find(|(program, _)| program == command);
        part.map(|(_, whole)| *whole)
    }

    /// What a client may read: no path, no environment.
    pub fn outside(&self) -> &'static str {
        match self {
            Self::NotFound { .. }
            | Self::NoProgram { .. }
            | Self::NoShell { .. }
            | Self::IsFolder { .. } => "its command was not found",
            Self::NoContainerRuntime => "it needs Docker or Podman",
            Self::NotExecutable { .. } => "its command is not executable",
            Self::NoFolder { .. } => "the folder to start it in does not exist",
            Self::NoInterpreter { .. } | Self::NotAProgram { .. } | Self::Refused { .. } => {
                "the system refused to run its command"
            }
        }
    }

    /// What the operator can do about it.
    pub fn step(&self) -> NextStep {
        let how = match self {
            Self::NotFound { command, .. } if is_command_line(command) => {
                "write the program alone as `command` and the rest as `args`"
            }
            Self::NotFound { command, .. } => {
                return match self.comes_with() {
                    Some(whole) => {
                        NextStep::act(format!("`{command}` comes with {whole}: install that"))
                    }
                    None => NextStep::fix_key(
                        "command",
                        "install it, or correct its name or path in `command`",
                    ),
                };
            }
            Self::NoContainerRuntime => {
                return NextStep::act(
                    "install Docker or Podman, or disable `isolation` in its entry to run without a container",
                );
            }
            Self::NoProgram { file, .. } if is_command_line(&file.to_string_lossy()) => {
                "correct the path in `command`; arguments go into `args`"
            }
            Self::NoProgram { .. } | Self::IsFolder { .. } => {
                return NextStep::fix_key("command", "correct the path in `command`");
            }
            Self::NoShell { step, .. } => step,
            Self::NotExecutable { file } => {
                let file = names::shell_word(&file.to_string_lossy());
                return NextStep::act(format!("`chmod +x {file}`"))
                    .or_request("make the file in its `command` executable");
            }
            Self::NoFolder { cwd } if cwd.to_string_lossy().contains("/$") => {
                "write ${NAME} instead of $NAME in `cwd`"
            }
            Self::NoFolder { cwd } if cwd.exists() => {
                return NextStep::fix_key("cwd", "correct `cwd`, which is a file");
            }
            Self::NoFolder { .. } => {
                return NextStep::fix_key("cwd", "create the folder, or correct `cwd`");
            }
            Self::NoInterpreter { file, .. } => {
                return NextStep::act(format!("correct the first line of {}", file.display()));
            }
            Self::NotAProgram { .. } => {
                "put its interpreter into `command`, and the file into `args`"
            }
            Self::Refused { .. } => {
                return NextStep::act("check that the file is a program for this machine");
            }
        };
        NextStep::fix(how)
    }
}

/// Programs that come with a product of another name.
const PARTS_OF: [(&str, &str); 5] = [
    ("uvx", "uv"),
    ("npx", "Node.js"),
    ("node", "Node.js"),
    ("bunx", "Bun"),
    ("pipx", "pipx"),
];

impl Launch {
    /// The file that would be executed.
    pub fn resolve(&self, base: &BaseEnvironment) -> Result<PathBuf, SpawnError> {
        if self.isolation.is_some() {
            return container_runtime(base);
        }
        let environment = base.for_child(&self.env);
        locate(&self.command, self.cwd.as_deref(), &environment)
    }

    /// The command, ready to start in a clean environment with all three streams piped. That of a server in a container is the program
    /// that runs it, which comes along, and still without its [`Launch::run_arguments`].
    pub(super) fn command(
        &self,
        base: &BaseEnvironment,
    ) -> Result<(Command, Option<PathBuf>), SpawnError> {
        let mut environment = base.for_child(&self.env);
        let program = self.resolve(base)?;
        let mut command = Command::new(&program);
        command.current_dir(folder(self.cwd.as_deref(), &environment));
        let runtime = self.isolation.as_ref().map(|_| program);
        if runtime.is_some() {
            for (name, value) in env::vars_os().filter(|(name, _)| container::is_for_engine(name)) {
                environment.entry(name).or_insert(value);
            }
        } else {
            command.args(&self.args);
        }
        command
            .env_clear()
            .envs(environment)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Ok((command, runtime))
    }

    /// The arguments with which the container is started that is to bear this mark; none without a container.
    pub(super) fn run_arguments(&self, base: &BaseEnvironment, mark: &str) -> Vec<String> {
        let named = container::named(&self.server, mark);
        let own = self.env.iter().map(|(name, _)| name.as_str());
        let variables: BTreeSet<&str> = base.set_for_containers().chain(own).collect();
        let variables: Vec<&str> = variables.into_iter().collect();
        self.isolation.as_ref().map_or_else(Vec::new, |isolation| {
            isolation.run_arguments(&named, &variables, &self.args)
        })
    }

    /// The error for a program that was found and did not start.
    pub(super) fn refused(&self, base: &BaseEnvironment, source: io::Error) -> SpawnError {
        let command = self.command.clone();
        let Ok(file) = self.resolve(base) else {
            return SpawnError::Refused { command, source };
        };
        if source.raw_os_error() == Some(UNKNOWN_FORMAT) {
            return SpawnError::NotAProgram { file };
        }
        // The system says the same of a file that is not there and of an interpreter.
        let interpreter = interpreter_of(&file);
        match interpreter.filter(|_| source.kind() == io::ErrorKind::NotFound) {
            Some(interpreter) => SpawnError::NoInterpreter { file, interpreter },
            None => SpawnError::Refused { command, source },
        }
    }
}

/// The interpreter that the first line of a script names.
fn interpreter_of(file: &Path) -> Option<String> {
    let begin = beginning_of(file)?;
    let line = begin
        .strip_prefix(b"#!")?
        .split(|byte| *byte == b'\n')
        .next()?;
    let line = String::from_utf8_lossy(line);
    let blanks = [' ', '\t'];
    let interpreter = line.trim_matches(blanks).split(blanks).next()?;
    Some(interpreter.to_owned())
}

fn beginning_of(file: &Path) -> Option<Vec<u8>> {
    let mut begin = Vec::new();
    let file = storage::open_to_read(file).ok()?;
    file.take(LONGEST_FIRST_LINE).read_to_end(&mut begin).ok()?;
    Some(begin)
}

/// `ENOEXEC`; on Windows `ERROR_BAD_EXE_FORMAT`.
const UNKNOWN_FORMAT: i32 = if cfg!(unix) { 8 } else { 193 };

/// What the system reads of a script.
const LONGEST_FIRST_LINE: u64 = 256;

/// The file that a command names, for a child with this folder and this environment.
fn locate(
    command: &str,
    cwd: Option<&Path>,
    environment: &BTreeMap<OsString, OsString>,
) -> Result<PathBuf, SpawnError> {
    if let Some(cwd) = cwd.filter(|cwd| !cwd.is_dir()) {
        let cwd = cwd.to_owned();
        return Err(SpawnError::NoFolder { cwd });
    }
    let path = environment.get(OsStr::new("PATH"));
    let path = path.cloned().unwrap_or_default();
    let from = folder(cwd, environment);
    which::which_in(command, Some(&path), &from).map_err(|_| not_found(command, path, &from))
}

/// The folder that a child starts in.
fn folder(cwd: Option<&Path>, environment: &BTreeMap<OsString, OsString>) -> PathBuf {
    let ours = env::current_dir().unwrap_or_else(|_| Path::new("/").to_owned());
    if let Some(cwd) = cwd {
        return ours.join(cwd);
    }
    let home = environment.get(OsStr::new("HOME")).map(PathBuf::from);
    let home = home.or_else(env::home_dir);
    // Users of services may have none.
    home.filter(|home| home.is_dir()).unwrap_or(ours)
}

/// Why no program was found.
fn not_found(command: &str, path: OsString, from: &Path) -> SpawnError {
    let file = from.join(command);
    let is_name = Path::new(command).components().count() < 2;
    let command = command.to_owned();
    if let Some((what, step)) = shell_syntax(&command) {
        return SpawnError::NoShell {
            command,
            what,
            step,
        };
    }
    if is_name {
        // A file of this name may stand where programs do and not be one.
        let folders = env::split_paths(&path).map(|folder| from.join(folder));
        let mut files = folders.map(|folder| folder.join(&command));
        return match files.find(|file| file.is_file()) {
            Some(file) => not_executable(file),
            None => SpawnError::NotFound { command, path },
        };
    }
    if file.is_file() {
        not_executable(file)
    } else if file.is_dir() {
        SpawnError::IsFolder { file }
    } else {
        SpawnError::NoProgram { file }
    }
}

/// The error for a file that may not be executed. A text that names no interpreter would not run with that permission either.
fn not_executable(file: PathBuf) -> SpawnError {
    match beginning_of(&file) {
        Some(text) if !text.starts_with(b"#!") && !text.contains(&0) => {
            SpawnError::NotAProgram { file }
        }
        _ => SpawnError::NotExecutable { file },
    }
}

/// The part of a command that only a shell would understand, and what to write instead.
fn shell_syntax(command: &str) -> Option<(&'static str, &'static str)> {
    let is_quoted = |sign: char| {
        let inside = command
            .strip_prefix(sign)
            .and_then(|rest| rest.strip_suffix(sign));
        inside.is_some_and(|inside| !inside.contains(sign))
    };
    if is_quoted('"') || is_quoted('\'') {
        let step = "write `command` without quotes around it";
        Some(("the quotes stay", step))
    } else if command.starts_with("~/") {
        let step = "write ${HOME} instead of the ~ in `command`";
        Some(("the ~ stays", step))
    } else if command.starts_with('$') {
        let step = "write ${NAME} instead of $NAME in `command`";
        Some(("the $ stays", step))
    } else {
        None
    }
}

/// The variables of a command whose environment was cleared first.
pub(super) fn environment_of(command: &Command) -> Vec<(OsString, OsString)> {
    let set = command.as_std().get_envs();
    set.filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
        .collect()
}

fn container_runtime(base: &BaseEnvironment) -> Result<PathBuf, SpawnError> {
    let path = base.path();
    // Absolute, so where the search begins does not count.
    let found = |name| which::which_in(name, Some(&path), Path::new("/")).ok();
    let mut runtimes = container::RUNTIMES.into_iter().filter_map(found);
    runtimes.next().ok_or(SpawnError::NoContainerRuntime)
}
