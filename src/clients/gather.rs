//! Reads files of clients and says what is to become of the servers in them.

use std::{
    cell::OnceCell,
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::{
    ClientFile, ClientPlaces, ClientServer, FoundFile, FoundServer, ImportReport, SecretNames,
    conversion::change_texts,
    convert::{FOLDERS, is_file_of},
    fault::{CORRECT_PASTED, FileFault},
    pasted, plan,
    report::{RepeatedKey, UnreadFile},
    secret_names::StoredUnderName,
    start_check,
};
use crate::{
    config::{self, OurAddress},
    failure::{ErrorCode, Failure, Result},
    keyring::{Keyring, KeyringError},
    management::{DaemonLocation, Files},
    storage::{DataFile, disk_step, in_words},
    text::Secret,
};

/// Where clients of the person have their files who runs this process, and where this configuration has written to others.
pub fn home_places(files: &Files) -> Result<ClientPlaces> {
    let mut places = ClientPlaces::of_process().ok_or_else(|| {
        Failure::new(
            ErrorCode::ClientUnchanged,
            "your home folder is unknown",
            "set $HOME, or name the files",
        )
    })?;
    places.record = Some(DataFile::ClientFiles.within(files.data_dir()));
    Ok(places)
}

/// Where clients reach us: the daemon that is at `location`, or one that would be started.
pub fn our_address(files: &Files, location: Option<&DaemonLocation>) -> OurAddress {
    let listened = location.map_or_else(Vec::new, |daemon| daemon.listen.clone());
    let configured = files.supposed_settings().map(|found| found.settings.listen);
    let places = Some(files.places().clone());
    OurAddress::new(listened, &configured.unwrap_or_default(), places)
}

/// Reads these files; our own configuration is left out. `is_named` says that each was asked for. Blocks.
pub fn gather(
    files: &Files,
    us: &OurAddress,
    home: &Path,
    candidates: Vec<ClientFile>,
    is_named: bool,
) -> Result<ImportReport> {
    let own = real_path(files.config_file());
    let mut report = ImportReport::of(home);
    let mut found: Vec<(ClientFile, FoundFile)> = Vec::new();
    for file in candidates {
        if real_path(&file.path) == own {
            continue;
        }
        let path = file.path.display().to_string();
        match file.read() {
            Ok(Some(in_file)) => {
                let repeated = in_file.repeated.iter().map(|key| RepeatedKey {
                    file: path.clone(),
                    key: key.clone(),
                    next_step: format!("to use both, give one of them another name in {path}"),
                });
                report.repeated.extend(repeated);
                if is_named && in_file.servers.is_empty() {
                    report.empty.push(path.clone());
                }
                report.files.push(path);
                found.push((file, in_file));
            }
            Ok(None) => (),
            Err(fault) => report.faults.push(UnreadFile {
                error: fault.to_string(),
                line: fault.line,
                next_step: match file.client {
                    None if file.path.is_dir() => format!("name a file in {path}"),
                    _ => fault.step(&file.path),
                },
                file: path,
                is_named,
            }),
        }
    }
    report.servers = planned(files, us, &found)?;
    start_check::look(&mut report.servers);
    Ok(report)
}

/// Reads a text that was pasted, in the folder `here` if that is known. A single server gets `name`. Blocks.
pub fn gather_pasted(
    files: &Files,
    us: &OurAddress,
    (text, here): (&str, Option<&Path>),
    name: Option<&str>,
) -> Result<ImportReport> {
    let found = pasted::read(text, name).and_then(|mut found| {
        let mut servers = found.iter_mut().flat_map(|found| &mut found.servers);
        servers.try_for_each(|server| from_folder(server, here))?;
        Ok(found)
    });
    let found = found.map_err(|fault| {
        let step = fault.own_step.unwrap_or(CORRECT_PASTED);
        Failure::new(ErrorCode::InvalidArguments, fault.to_string(), step)
    })?;
    let file = |client| ClientFile::new(Some(client), None, PathBuf::from("-"));
    let found = found.into_iter().map(|found| (file(found.client), found));
    let found: Vec<_> = found.collect();
    let mut report = ImportReport::of(Path::new("/"));
    report.servers = planned(files, us, &found)?;
    start_check::look(&mut report.servers);
    Ok(report)
}

/// Has an entry mean the same wherever the daemon starts it as in the folder in which it is pasted. Blocks.
fn from_folder(server: &mut ClientServer, here: Option<&Path>) -> Result<(), FileFault> {
    let written = |path: &Path| path.display().to_string().replace("${", "$${");
    fill_folder(&mut server.entry, here.map(written).as_deref())?;
    let Some(here) = here else {
        return Ok(());
    };
    let is_here = |word: &&str| is_file_of(here, word);
    let names_file = server.args().iter().any(is_here);
    let command = server.command().filter(is_here);
    // A mere name is looked for elsewhere.
    let command = command.filter(|command| command.contains('/'));
    let command = command.map(|command| here.join(command).components().collect::<PathBuf>());
    let Some(members) = server.entry.as_object_mut() else {
        return Ok(());
    };
    if FOLDERS.iter().any(|key| members.contains_key(*key)) {
        return Ok(());
    }
    if let (Some(path), Some(Value::String(command))) = (command, members.get_mut("command")) {
        *command = written(&path);
    }
    if names_file {
        members.insert("cwd".to_owned(), written(here).into());
    }
    Ok(())
}

/// Puts the folder in place of `$PWD`, which is another one for the daemon.
fn fill_folder(entry: &mut Value, here: Option<&str>) -> Result<(), FileFault> {
    change_texts(entry, &mut |text| {
        if text.contains("${PWD}") && !text.contains("$${PWD}") {
            let fault =
                || FileFault::with_step("`$PWD` is the current folder", "write its path instead");
            let here = here.ok_or_else(fault)?;
            *text = text.replace("${PWD}", here);
        }
        Ok(())
    })
}

/// What is to become of the servers in these files. Blocks.
pub(super) fn planned(
    files: &Files,
    us: &OurAddress,
    found: &[(ClientFile, FoundFile)],
) -> Result<Vec<FoundServer>> {
    let existing = existing(files.config_file())?;
    let used = files.secret_uses().unwrap_or_default().into_keys();
    let stored = StoredNames::new(files);
    let stored = |name: &str, value: Option<&str>| stored.compared(name, value);
    let names = SecretNames::new(used.collect(), &stored);
    Ok(plan(found, &existing, us, names))
}

/// Which secrets are stored. The keyring is asked when the first one is looked for.
struct StoredNames {
    /// Nothing where the configuration does not say which.
    keyring: Option<Keyring>,
    /// Nothing where it could not be asked.
    names: OnceCell<Option<BTreeSet<String>>>,
}

impl StoredNames {
    fn new(files: &Files) -> Self {
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
pub(super) fn existing(config_file: &Path) -> Result<Vec<(String, Value)>> {
    let file = config_file.display();
    let text = match config::read_text(config_file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            let why = in_words(&error);
            let what = format!("failed to read {file}: {why}");
            let step = disk_step(config_file, &error);
            let failure = Failure::new(ErrorCode::ConfigUnusable, what, step.as_str());
            return Err(failure.at_terminal(step));
        }
    };
    config::written_entries(&text).map_err(|mistake| {
        // The caller says what was not done.
        Failure::of_config(format!(
            "the configuration {file} cannot be used: {mistake}"
        ))
    })
}

/// The file itself, where the path leads to it by symbolic links.
pub fn real_path(path: &Path) -> PathBuf {
    fs::canonicalize(path)
        .or_else(|_| std::path::absolute(path))
        .unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::fill_folder;

    #[test]
    fn the_folder_stands_in_its_place_or_is_asked_for() {
        let written = json!({ "args": ["${PWD}:/w", "$${PWD}"] });
        let mut entry = written.clone();
        fill_folder(&mut entry, Some("/p")).expect("a folder");
        assert_eq!(entry, json!({ "args": ["/p:/w", "$${PWD}"] }));
        let fault = fill_folder(&mut written.clone(), None).expect_err("no folder");
        assert!(fault.to_string().contains("`$PWD`"), "{fault}");
    }
}
