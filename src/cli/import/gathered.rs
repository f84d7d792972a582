//! Which files are looked at, and what is to become of the servers in them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::super::{failure::CommandFailure, output::Output};
use crate::{
    client_files::{
        Client, ClientFile, ClientPlaces, FileFault, FoundFile, ImportPlan, OurAddress, plan,
    },
    config,
    daemon_client::DaemonClient,
    management::{Management, OverFiles, StatusReport},
};

/// What was found.
pub(in crate::cli) struct Gathered {
    /// The servers, in the order of the files.
    pub(in crate::cli) plan: ImportPlan,
    /// The files that were read.
    pub(in crate::cli) files: Vec<PathBuf>,
    /// The files that could not be read.
    pub(in crate::cli) faults: Vec<Fault>,
    /// The home folder, for paths that people read.
    home: PathBuf,
}

/// A file that could not be read.
pub(in crate::cli) struct Fault {
    pub(in crate::cli) file: PathBuf,
    pub(in crate::cli) problem: FileFault,
    /// Whether it was asked for.
    pub(in crate::cli) is_named: bool,
}

impl Fault {
    /// What to do about it.
    pub(in crate::cli) fn step(&self) -> String {
        match self.problem.line {
            Some(line) => format!(
                "correct line {line} of {}; the other files were read",
                self.file.display()
            ),
            None => format!("look at {}; the other files were read", self.file.display()),
        }
    }
}

impl Gathered {
    pub(in crate::cli) fn say_faults(&self, out: Output) {
        for fault in &self.faults {
            out.warning(&format!(
                "{} was not read: {}; next step: {}",
                self.shown(&fault.file),
                fault.problem,
                fault.step()
            ));
        }
    }

    /// A path as people write it.
    pub(in crate::cli) fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(&self.home) {
            Ok(inside) if !inside.as_os_str().is_empty() => format!("~/{}", inside.display()),
            _ => path.display().to_string(),
        }
    }
}

/// Reads the files of these clients and paths, or all that are known.
pub(in crate::cli) fn gather(
    files: &Management<OverFiles>,
    daemon: Option<&DaemonClient>,
    from: &[String],
) -> Result<Gathered, CommandFailure> {
    let places = places()?;
    let (candidates, is_named) = if from.is_empty() {
        (places.files(), false)
    } else {
        (named(&places, from)?, true)
    };
    let own = real(files.config_file());
    let mut gathered = Gathered {
        plan: Vec::new(),
        files: Vec::new(),
        faults: Vec::new(),
        home: places.home().to_owned(),
    };
    let mut found: Vec<(ClientFile, FoundFile)> = Vec::new();
    for file in candidates {
        if real(&file.path) == own {
            if is_named && from.iter().any(|word| Path::new(word) == file.path) {
                let what = format!(
                    "{} is the configuration of mcpproxy itself",
                    file.path.display()
                );
                return Err(CommandFailure::usage(what));
            }
            continue;
        }
        match file.read() {
            Ok(Some(in_file)) => {
                gathered.files.push(file.path.clone());
                found.push((file, in_file));
            }
            Ok(None) => (),
            Err(problem) => gathered.faults.push(Fault {
                file: file.path,
                problem,
                is_named,
            }),
        }
    }
    let existing = existing(files.config_file())?;
    gathered.plan = plan(&found, &existing, &our_address(files, daemon));
    Ok(gathered)
}

/// Where clients of this person have their files.
pub(in crate::cli) fn places() -> Result<ClientPlaces, CommandFailure> {
    ClientPlaces::of_process().ok_or_else(|| {
        CommandFailure::failed("there is no home folder to look for files of clients in")
            .next("set $HOME, or name the files")
    })
}

/// Where clients reach us, or would.
pub(in crate::cli) fn our_address(
    files: &Management<OverFiles>,
    daemon: Option<&DaemonClient>,
) -> OurAddress {
    let status: Option<StatusReport> =
        daemon.and_then(|daemon| serde_json::from_slice(daemon.status()).ok());
    let listened = status.map(|status| status.location.listen);
    let port = |address: &String| address.rsplit_once(':')?.1.parse::<u16>().ok();
    let mut ports: Vec<u16> = listened.iter().flatten().filter_map(port).collect();
    let configured = files.settings_without_secrets().unwrap_or_default().listen;
    ports.push(configured.port());
    OurAddress { ports }
}

fn named(places: &ClientPlaces, words: &[String]) -> Result<Vec<ClientFile>, CommandFailure> {
    let mut files = Vec::new();
    for word in words {
        let path = std::path::absolute(word).unwrap_or_else(|_| PathBuf::from(word));
        let is_path = word.contains(['/', '.']) || path.exists();
        match Client::from_word(word).filter(|_| !is_path) {
            Some(client) => files.extend(of_client(places, client)?),
            None if path.exists() => files.extend(places.named(&path)),
            None if is_path => {
                let what = format!("there is no file {}", path.display());
                return Err(CommandFailure::failed(what)
                    .next("`mcpproxy import` without a name looks in all known places"));
            }
            None => {
                let known: Vec<&str> = Client::ALL.iter().map(|client| client.id()).collect();
                let what = format!("{word:?} is neither a file nor a client that is known");
                return Err(CommandFailure::usage(what)
                    .next(format!("name a file, or one of {}", known.join(", "))));
            }
        }
    }
    Ok(files)
}

fn of_client(places: &ClientPlaces, client: Client) -> Result<Vec<ClientFile>, CommandFailure> {
    let files = places.files_of(client);
    if files.iter().any(|file| file.path.exists()) {
        return Ok(files);
    }
    let looked: Vec<String> = files
        .iter()
        .map(|file| file.path.display().to_string())
        .collect();
    let what = format!(
        "{} has no file here; looked for {}",
        client.name(),
        looked.join(", ")
    );
    Err(CommandFailure::failed(what).next("name its file, if it is elsewhere"))
}

/// The servers of our configuration, as they are written.
fn existing(config_file: &Path) -> Result<Vec<(String, Value)>, CommandFailure> {
    let text = match fs::read_to_string(config_file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            let what = format!("failed to read {}: {error}", config_file.display());
            return Err(CommandFailure::failed(what));
        }
    };
    config::written_entries(&text).map_err(|error| {
        CommandFailure::failed(error.to_string())
            .next("`mcpproxy config check` shows the mistake; correct it first")
    })
}

fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path)
        .or_else(|_| std::path::absolute(path))
        .unwrap_or_else(|_| path.to_owned())
}
