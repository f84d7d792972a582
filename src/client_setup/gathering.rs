//! Reads files of clients and says what is to become of the servers in them.

use std::{
    cell::OnceCell,
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::{
    client_files::{
        ClientFile, ClientPlaces, FileFault, FoundFile, ImportPlan, SecretNames, StoredUnderName,
        plan,
    },
    config::{self, OurAddress},
    error_code::{ErrorCode, Failure},
    keyring::{Keyring, KeyringError},
    management::{DaemonLocation, Management, OverFiles},
    secret::Secret,
};

/// What was found.
pub struct Gathered {
    /// The servers, in the order of the files.
    pub plan: ImportPlan,
    /// The files that were read.
    pub files: Vec<PathBuf>,
    /// The files that could not be read.
    pub faults: Vec<UnreadFile>,
    /// The keys that stand twice in a file.
    pub repeated: Vec<RepeatedKey>,
    /// The files that were asked for and have no server.
    pub empty: Vec<PathBuf>,
    /// The home folder.
    pub home: PathBuf,
}

/// A file that could not be read.
pub struct UnreadFile {
    /// Which.
    pub file: PathBuf,
    /// Why.
    pub problem: FileFault,
    /// Whether it was asked for.
    pub is_named: bool,
}

/// A key that stands twice in a file, of which the last one counts.
pub struct RepeatedKey {
    /// Which file.
    pub file: PathBuf,
    /// Its path there.
    pub key: String,
}

impl RepeatedKey {
    /// What to do about it.
    pub fn step(&self) -> String {
        format!(
            "where both are meant, give one of them another name in {}",
            self.file.display()
        )
    }
}

impl UnreadFile {
    /// What to do about it.
    pub fn step(&self) -> String {
        match self.problem.line {
            Some(line) => format!(
                "correct line {line} of {}, and import again",
                self.file.display()
            ),
            None => format!("look at {}, and import again", self.file.display()),
        }
    }
}

impl Gathered {
    /// A path as people write it.
    pub fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(&self.home) {
            Ok(inside) if !inside.as_os_str().is_empty() => format!("~/{}", inside.display()),
            _ => path.display().to_string(),
        }
    }
}

/// Where clients of the person have their files who runs this process.
pub fn home_places() -> Result<ClientPlaces, Failure> {
    ClientPlaces::of_process().ok_or_else(|| {
        Failure::new(
            ErrorCode::ClientUnchanged,
            "there is no home folder to look for files of clients in",
            "set $HOME, or name the files",
        )
    })
}

/// Where clients reach us: the daemon that is at `location`, or one that would be started.
pub fn our_address(files: &Management<OverFiles>, location: Option<&DaemonLocation>) -> OurAddress {
    let listened = location.map(|location| location.listen.as_slice());
    let port = |address: &String| address.rsplit_once(':')?.1.parse::<u16>().ok();
    let listened = listened.unwrap_or_default().iter();
    let mut ports: Vec<u16> = listened.filter_map(port).collect();
    let configured = files.supposed_settings().map(|found| found.settings.listen);
    ports.push(configured.unwrap_or_default().port());
    OurAddress {
        ports,
        places: Some(files.places().clone()),
    }
}

/// Reads these files; our own configuration is left out. `is_named` says that each was asked for. Blocks.
pub fn gather(
    files: &Management<OverFiles>,
    us: &OurAddress,
    home: &Path,
    candidates: Vec<ClientFile>,
    is_named: bool,
) -> Result<Gathered, Failure> {
    let own = real_path(files.config_file());
    let mut gathered = Gathered {
        plan: Vec::new(),
        files: Vec::new(),
        faults: Vec::new(),
        repeated: Vec::new(),
        empty: Vec::new(),
        home: home.to_owned(),
    };
    let mut found: Vec<(ClientFile, FoundFile)> = Vec::new();
    for file in candidates {
        if real_path(&file.path) == own {
            continue;
        }
        match file.read() {
            Ok(Some(in_file)) => {
                gathered.files.push(file.path.clone());
                let repeated = in_file.repeated.iter().map(|key| RepeatedKey {
                    file: file.path.clone(),
                    key: key.clone(),
                });
                gathered.repeated.extend(repeated);
                if is_named && in_file.servers.is_empty() {
                    gathered.empty.push(file.path.clone());
                }
                found.push((file, in_file));
            }
            Ok(None) => (),
            Err(problem) => gathered.faults.push(UnreadFile {
                file: file.path,
                problem,
                is_named,
            }),
        }
    }
    let existing = existing(files.config_file())?;
    let used = files.secret_uses().unwrap_or_default().into_keys();
    let stored = StoredNames::new(files);
    let stored = |name: &str, value: Option<&str>| stored.compared(name, value);
    let names = SecretNames::new(used.collect(), &stored);
    gathered.plan = plan(&found, &existing, us, names);
    Ok(gathered)
}

/// Which secrets are stored. The keyring is asked when the first one is looked for.
struct StoredNames {
    /// Nothing where the configuration does not say which.
    keyring: Option<Keyring>,
    /// Nothing where it could not be asked.
    names: OnceCell<Option<BTreeSet<String>>>,
}

impl StoredNames {
    fn new(files: &Management<OverFiles>) -> Self {
        Self {
            keyring: files.keyring().ok(),
            names: OnceCell::new(),
        }
    }

    /// What is stored under a name.
    fn compared(&self, name: &str, value: Option<&str>) -> StoredUnderName {
        let Some(keyring) = &self.keyring else {
            return StoredUnderName::Unknown;
        };
        let names = self.names.get_or_init(|| {
            let stored = keyring.stored().ok()?;
            // Where there is none of the platform, there is nothing in it.
            let is_whole = matches!(stored.fault, None | Some(KeyringError::Absent(_)));
            is_whole.then(|| stored.names.into_keys().collect())
        });
        let Some(names) = names else {
            return StoredUnderName::Unknown;
        };
        if !names.contains(name) {
            return StoredUnderName::Nothing;
        }
        match value {
            Some(value) if keyring.holds(name, &Secret::new(value)) => StoredUnderName::This,
            _ => StoredUnderName::Other,
        }
    }
}

/// The servers of our configuration, as they are written.
fn existing(config_file: &Path) -> Result<Vec<(String, Value)>, Failure> {
    let unusable = |error: String, hint| Failure::new(ErrorCode::ConfigUnusable, error, hint);
    let text = match fs::read_to_string(config_file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            let what = format!("failed to read {}: {error}", config_file.display());
            return Err(unusable(what, "check that the file may be read"));
        }
    };
    config::written_entries(&text).map_err(|error| {
        let hint = "`mcpproxy config check` shows the mistake; correct it first";
        unusable(error.to_string(), hint)
    })
}

/// The file itself, where the path leads to it by symbolic links.
pub fn real_path(path: &Path) -> PathBuf {
    fs::canonicalize(path)
        .or_else(|_| std::path::absolute(path))
        .unwrap_or_else(|_| path.to_owned())
}
