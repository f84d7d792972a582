//! `mcpproxy uninstall`: undoes `setup`: it does what `connect --undo`, `import --undo`, `service uninstall` and `stop` do. It deletes the
//! files of mcpproxy only with `--purge`.

use std::{
    collections::BTreeSet,
    env, fs, io,
    path::{Path, PathBuf},
};

use clap::Args;
use serde::Serialize;

use super::{
    CommandFailure, Done, Location, OrUndone, Output, connection, import, output, secret, service,
    stop,
};
use crate::{
    clients::{
        Client, ClientFile, ClientPlaces, ConnectOutcome, ConnectRequest, Connected, MovedServers,
        MovesBack, Reaching, all_connected, disconnect, home_places, kept_copies, move_back,
        moved_from, our_address,
    },
    config::ChosenBy,
    management::Files,
    storage::{DataFile, if_there, in_words},
    text::some_of,
};

/// Disconnect clients, remove the service, stop the daemon
///
/// Shows the steps, and asks. Removes mcpproxy from your clients' files, puts their own servers back, removes the service and stops the
/// daemon. The configuration, the data and the secrets are kept unless --purge is given.
#[derive(Debug, Args)]
pub(super) struct UninstallCommand {
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    /// Show the steps, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Also delete the configuration, the data and the secrets
    #[arg(long)]
    purge: bool,
}

/// What there is to undo; afterwards, what was undone.
#[derive(Default, Serialize)]
struct Uninstalled {
    dry_run: bool,
    /// Clients with mcpproxy in their file.
    clients: Vec<Connected>,
    /// Files to which servers go back.
    put_back: Vec<MovedServers>,
    /// The file of the service.
    service: Option<PathBuf>,
    /// The process of the daemon.
    daemon: Option<u32>,
    /// Names of the tokens that `connect --token` issued; `--purge` deletes them with the data folder.
    tokens: Vec<String>,
    /// Names of the secrets that `--purge` removes.
    secrets: Vec<String>,
    /// What `--purge` deletes.
    files: Vec<PathBuf>,
    /// Whether the secrets and files are deleted.
    purge: bool,
    /// Copies of clients' files, which stay.
    copies: Vec<PathBuf>,
    next_steps: Vec<String>,
    #[serde(skip)]
    failures: Vec<CommandFailure>,
}

const WITHOUT_PURGE: &str = "deleted only with --purge";

impl UninstallCommand {
    pub(super) async fn run(self, location: &Location, out: Output) -> Done {
        let files = location.files()?;
        // Nothing of the daemon of another configuration is deleted.
        let opened = connection::open_unless_absent(&files, out).await;
        let daemon = opened.or_undone("nothing was changed")?;
        let status = daemon.and_then(|daemon| daemon.status_report());
        let at = status.as_ref().map(|status| &status.location);
        let (places, us) = (home_places(&files)?, our_address(&files, at));
        let reaching = Reaching::new(&files, at, us).or_undone("nothing was changed")?;
        let meant = all_connected(&places, &reaching);
        let mut done = Uninstalled {
            dry_run: self.dry_run,
            service: service::installed(),
            daemon: status.map(|status| status.pid),
            secrets: if self.purge {
                secret::stored(&files)
            } else {
                Vec::new()
            },
            tokens: if self.purge {
                Vec::new()
            } else {
                reaching.issued_to_clients().map(|(_, name)| name).collect()
            },
            files: own_files(&files),
            purge: self.purge,
            ..Uninstalled::default()
        };
        let moved = moved_from(&places);
        done.disconnect(&places, &reaching, &meant, true);
        if self.purge {
            done.delete_files(&files, true);
        }
        if out.is_json() && self.dry_run {
            return output::print_value(&done);
        }
        // Without a question, its failures come at once as errors.
        if !self.yes || self.dry_run {
            for failure in &done.failures {
                out.warning(&failure.in_words());
            }
        }
        let n = done.show(&moved, out);
        if n == 0 {
            out.done("nothing to undo");
            if !out.is_json() {
                done.say_what_stays(WITHOUT_PURGE, out);
            }
            return Ok(());
        }
        let asks = !self.yes && !self.dry_run;
        if asks && !out.is_interactive() {
            let purge = if self.purge { "--purge " } else { "" };
            return Err(
                CommandFailure::refused("cannot ask for confirmation without a terminal")
                    .undone("nothing was changed")
                    .next(format!("`mcpproxy uninstall {purge}--yes` does not ask")),
            );
        }
        if self.dry_run || asks && !out.asks("Do this?") {
            out.done("nothing was changed");
            return Ok(());
        }
        // What was only planned is forgotten.
        (done.clients, done.next_steps, done.failures) = (Vec::new(), Vec::new(), Vec::new());
        done.tokens = Vec::new();
        done.files = own_files(&files);
        done.restore_clients(&places, &reaching, &meant);
        done.end_daemon(&files, out).await;
        done.purge &= done.failures.is_empty();
        if done.purge {
            done.purge(&files);
        }
        done.revoke_tokens(&files, &reaching).await;
        if self.purge && !done.purge {
            done.say_what_stays("correct the errors below, then run this command again", out);
        }
        done.copies = kept_copies(&places);
        done.conclude(out)
    }
}

/// Deletes a data folder, unless it has something else, too. `is_dry` only says whether it would be deleted.
fn delete_folder(folder: &Path, config: &Path, is_dry: bool) -> Result<(), CommandFailure> {
    let failed = |error: io::Error| not_deleted(folder, &in_words(&error));
    let has_config = config.parent().map(real) == Some(real(folder));
    let config = config.file_name().unwrap_or_default().to_string_lossy();
    let beside_config = format!(".{config}.");
    let is_ours = |name: &str| has_config && (name == config || name.starts_with(&beside_config));
    let (ours, foreign) = DataFile::ours_and_foreign(folder, is_ours).map_err(failed)?;
    let home = env::home_dir().map(|home| real(&home));
    if let Some(home) = home.filter(|home| home.starts_with(real(folder))) {
        let is_it = home == real(folder);
        let why = ["it contains your home folder", "it is your home folder"][usize::from(is_it)];
        let step = format!(
            "delete these in it, unless they are yours: {}",
            ours.join(", ")
        );
        return Err(not_deleted(folder, why).next(step));
    }
    if !foreign.is_empty() {
        let (are, what) = match &foreign[..] {
            [one] => ("is", folder.join(one).display().to_string()),
            _ => ("are", "these".to_owned()),
        };
        let why = format!("{} in it {are} not mcpproxy's", some_of(&foreign, 8));
        let step = format!("move {what} away, then run this command again");
        return Err(not_deleted(folder, &why).next(step));
    }
    if is_dry {
        return Ok(());
    }
    fs::remove_dir_all(folder).map_err(failed)
}

fn not_deleted(path: &Path, why: &str) -> CommandFailure {
    CommandFailure::failed(format!("{} is not deleted: {why}", path.display()))
}

/// The path without links, or as it is.
fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// What mcpproxy wrote behind a path: where that is a link, which is the user's, its target.
fn written(path: &Path) -> PathBuf {
    if path.is_symlink() {
        real(path)
    } else {
        path.to_owned()
    }
}

/// The configuration file and the data folder, if they exist and are mcpproxy's own: not a file that the Go program uses, too,
/// and not a folder that never was a data folder.
fn own_files(files: &Files) -> Vec<PathBuf> {
    let (config, data) = (files.config_file(), files.data_dir());
    let is_ours = files.places().chosen_by != ChosenBy::GoProgram && config.is_file();
    let config = is_ours.then(|| written(config));
    let data = DataFile::are_in(data).then(|| written(data));
    config.into_iter().chain(data).collect()
}

impl Uninstalled {
    /// Disconnects clients, and puts moved servers back into their files. Moves since the client was connected are undone before it is
    /// disconnected, older ones after that.
    fn restore_clients(
        &mut self,
        places: &ClientPlaces,
        reaching: &Reaching,
        meant: &[(Client, ClientFile)],
    ) {
        self.put_back = move_back(places, &reaching.us, MovesBack::SinceConnected, |_| true);
        self.disconnect(places, reaching, meant, false);
        let failed = self.put_back.iter().filter(|one| one.error.is_some());
        let failed: Vec<Client> = failed.map(|one| one.client).collect();
        let is_meant = |client| !failed.contains(&client);
        self.put_back
            .extend(move_back(places, &reaching.us, MovesBack::All, is_meant));
        let put_back = self.put_back.iter();
        let failures = put_back.filter_map(import::moving::not_put_back);
        self.failures.extend(failures);
    }

    /// Disconnects these clients, or with `is_dry` only notes what that would change.
    fn disconnect(
        &mut self,
        places: &ClientPlaces,
        reaching: &Reaching,
        meant: &[(Client, ClientFile)],
        is_dry: bool,
    ) {
        for (client, file) in meant {
            let request = ConnectRequest {
                file: Some(file),
                is_dry,
                spares_found: true,
                ..ConnectRequest::usual(*client)
            };
            let put_back = &mut self.put_back;
            let between = || {
                let since = MovesBack::SinceConnected;
                put_back.extend(move_back(places, &reaching.us, since, |one| one == *client));
            };
            match disconnect(places, reaching, &request, between) {
                Ok(one) => {
                    let stays = [ConnectOutcome::LeftAsFound, ConnectOutcome::PutBack];
                    if stays.contains(&one.outcome) {
                        self.next_steps.push(format!(
                            "{:?} in {} may be yours; {} removes it",
                            one.name, one.file, one.undo
                        ));
                    }
                    if one.outcome != ConnectOutcome::LeftAsFound {
                        self.clients.push(one);
                    }
                }
                Err(failure) => self.failures.push(failure.into()),
            }
        }
        let lost = places.out_of_reach(|_| true).into_iter();
        self.failures.extend(lost.map(CommandFailure::from));
    }

    /// Revokes the tokens that were issued to clients, whatever their files say, as far as they are still there. No daemon runs any more.
    async fn revoke_tokens(&mut self, files: &Files, reaching: &Reaching) {
        let disconnected = self.clients.iter().map(|one| one.client.id().to_owned());
        let issued_to = reaching.issued_to_clients().map(|(client, _)| client);
        let clients: BTreeSet<String> = disconnected.chain(issued_to).collect();
        for client in clients {
            match files.revoke_unused(&client, None).await {
                Ok(names) => self.tokens.extend(names),
                Err(failure) => self.failures.push(failure.into()),
            }
        }
    }

    /// Removes the service, which ends its daemon, and ends a daemon that still runs.
    async fn end_daemon(&mut self, files: &Files, out: Output) {
        if self.service.is_some() {
            match service::uninstall().await {
                Ok(left) => self.next_steps.extend(left),
                Err(failure) => {
                    self.service = None;
                    self.daemon = None;
                    return self.failures.push(failure);
                }
            }
        }
        let ended = match connection::open_unless_absent(files, out).await {
            Ok(Some(daemon)) => stop::end(daemon).await.map(drop),
            Ok(None) => Ok(()),
            Err(error) => Err(error.into()),
        };
        if let Err(failure) = ended {
            self.daemon = None;
            self.failures.push(failure);
        }
    }

    /// Deletes the secrets and files of mcpproxy.
    fn purge(&mut self, files: &Files) {
        let failures = &mut self.failures;
        self.secrets.retain(|name| {
            let removed = files.remove_secret(name);
            let is_removed = removed.is_ok();
            failures.extend(removed.err().map(CommandFailure::from));
            is_removed
        });
        self.delete_files(files, false);
        let links = [files.config_file(), files.data_dir()].into_iter();
        let links = links.filter(|path| path.is_symlink() && !path.exists());
        self.next_steps
            .extend(links.map(|link| format!("delete the link {}", link.display())));
    }

    /// Deletes the files of mcpproxy, or with `is_dry` only finds those that would be deleted.
    fn delete_files(&mut self, files: &Files, is_dry: bool) {
        let failures = &mut self.failures;
        self.files.retain(|file| {
            let deleted = if file.is_dir() {
                delete_folder(file, files.config_file(), is_dry)
            } else if is_dry {
                Ok(())
            } else {
                if let (Some(folder), Some(name)) = (file.parent(), file.file_name()) {
                    let lock = format!(".{}.lock", name.to_string_lossy());
                    // A lock without its file does no harm.
                    let _ = fs::remove_file(folder.join(lock));
                }
                let removed = if_there(fs::remove_file(file)).map(drop);
                removed.map_err(|error| not_deleted(file, &in_words(&error)))
            };
            let folder = file.parent().filter(|folder| folder.ends_with("mcpproxy"));
            if let Some(folder) = folder.filter(|_| !is_dry) {
                // This fails if the folder has other files.
                let _ = fs::remove_dir(folder);
            }
            let is_deleted = deleted.is_ok();
            failures.extend(deleted.err());
            is_deleted
        });
    }

    /// Shows the steps, and gives how many there are, failures included.
    fn show(&self, moved: &[PathBuf], out: Output) -> usize {
        let moved = moved.iter();
        let back = moved.map(|file| format!("put servers back into {}", file.display()));
        let verbs = ["remove", "stop", "delete", "revoke"];
        let steps = self.steps(verbs, back.collect());
        if !out.is_json() && !steps.is_empty() {
            out.done("to do:");
            for step in &steps {
                out.done(&format!("  {step}"));
            }
            self.say_what_stays(WITHOUT_PURGE, out);
        }
        steps.len() + self.failures.len()
    }

    /// The steps with these verbs, which are in the present or the past tense.
    fn steps(&self, verbs: [&str; 4], put_back: Vec<String>) -> Vec<String> {
        let [remove, stop, delete, revoke] = verbs;
        let clients = self.clients.iter();
        let clients = clients.map(|one| match one.outcome {
            ConnectOutcome::PutBack => {
                format!("restored {}, with an older entry {:?}", one.file, one.name)
            }
            _ => format!("{remove} {:?} from {}", one.name, one.file),
        });
        let mut steps: Vec<String> = clients.chain(put_back).collect();
        let service = self.service.iter();
        steps.extend(service.map(|file| format!("{remove} the service {}", file.display())));
        let daemon = self.daemon.iter();
        steps.extend(daemon.map(|pid| format!("{stop} the daemon (process {pid})")));
        let tokens = self.tokens.iter();
        steps.extend(tokens.map(|name| format!("{revoke} the token {name:?}")));
        if self.purge {
            let files = self.files.iter();
            steps.extend(files.map(|file| format!("{delete} {}", file.display())));
            if !self.secrets.is_empty() {
                let s = if self.secrets.len() == 1 { "" } else { "s" };
                let secrets = self.secrets.join(", ");
                steps.push(format!("{delete} the secret{s} {secrets}"));
            }
        }
        steps
    }

    /// Says which files and secrets are kept, and what would delete them.
    fn say_what_stays(&self, until: &str, out: Output) {
        let files = self.files.iter().map(|file| file.display().to_string());
        let secrets = self.secrets.iter().map(|name| format!("the secret {name}"));
        let kept: Vec<String> = files.chain(secrets).collect();
        if !self.purge && !kept.is_empty() {
            let kept = kept.join(", ");
            out.done(&format!("kept: {kept}; {until}"));
        }
    }

    /// Prints what was done, and what is left to do.
    fn conclude(mut self, out: Output) -> Done {
        let names: Vec<&str> = self.clients.iter().map(|one| one.client.name()).collect();
        if !names.is_empty() {
            self.next_steps
                .push(format!("restart {}", names.join(", ")));
        }
        let failures = std::mem::take(&mut self.failures);
        if out.is_json() {
            output::print_value(&self)?;
        } else {
            let put_back = self.put_back.iter();
            let put_back = put_back.filter(|one| one.error.is_none() || !one.servers.is_empty());
            let put_back = put_back.map(|one| {
                let n = output::count(one.servers.len(), "server");
                format!("put {n} back into {}", one.file)
            });
            let verbs = ["removed", "stopped", "deleted", "revoked"];
            for done in self.steps(verbs, put_back.collect()) {
                out.done(&done);
            }
            for copy in &self.copies {
                out.done(&format!(
                    "kept: {}, a backup or a note from one of mcpproxy's changes; delete it when you no longer need it",
                    copy.display()
                ));
            }
            for step in &self.next_steps {
                out.next(step);
            }
        }
        if failures.is_empty() {
            out.done("uninstalled; now remove the program the way you installed it");
            return Ok(());
        }
        output::report_failures(failures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_folder_with_something_else_stays() {
        let place = tempfile::tempdir().expect("a folder");
        let (data, config) = (place.path().join("data"), place.path().join("data/my.json"));
        let make = |name: &str| {
            fs::create_dir_all(&data).expect("ours");
            fs::write(data.join(name), "").expect("writable");
        };
        let unfinished = ["secrets.json.new", "activity.redb.damaged-1", "reserve.1"];
        let files = ["lock", "my.json", ".my.json.lock", "data-folder-0"];
        for name in files.into_iter().chain(unfinished) {
            make(name);
        }
        delete_folder(&data, &config, true).expect("nothing else is in it");
        assert!(data.join("lock").exists());
        delete_folder(&data, &config, false).expect("nothing else is in it");
        assert!(!data.exists());
        make("lock");
        make("photo.jpg");
        let error = delete_folder(&data, &config, false).expect_err("a photo is in it");
        let step = error.next_step.expect("there is one");
        assert!(step.contains("data/photo.jpg away"), "{step}");
        assert!(data.join("lock").exists());
    }
}
