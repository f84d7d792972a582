//! Servers that are here are removed from the files of their clients, which would start them a second time, and put back. Blocks.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use serde_json::json;

use super::{
    Client, ClientFile, ClientPlaces, ClientRow, ClientServer, FoundOutcome, FoundServer,
    ImportReport, MovedServers, client_rows,
    connect::step_after,
    edit,
    fault::FileFault,
    formats::FileFormat,
    gather::planned,
    replace::{self, CopyKind, made},
    servers,
};
use crate::{
    config::OurAddress,
    failure::{NextStep, Result},
    management::Files,
};

/// Removes those servers of the report from their files that are here now, of these clients, and work here as they do there; in a dry run
/// it is only noted which. An entry that is not what was found stays. A client that is not connected would have no servers then, neither
/// its own nor ours: its file stays as it is.
pub fn move_out(
    report: &mut ImportReport,
    (places, us): (&ClientPlaces, &OurAddress),
    is_meant: impl Fn(&FoundServer) -> bool,
    dry_run: bool,
) {
    let rows = client_rows(places, us, true);
    let mut moved: Vec<MovedServers> = Vec::new();
    let comes = |server: &FoundServer| {
        server.imported || dry_run && server.chosen && server.error.is_none()
    };
    let at_here = report.here(comes);
    let here = report.servers.iter_mut().enumerate();
    let here = here.filter(|(at, server)| at_here.contains(at) && is_meant(server));
    // What is written comes of the text in which the entries were compared.
    let mut texts: BTreeMap<String, Result<String, FileFault>> = BTreeMap::new();
    let here = here.filter_map(|(_, server)| {
        let text = texts.entry(server.file.clone()).or_insert_with(|| {
            let file = ClientFile::new(None, None, PathBuf::from(&server.file));
            file.text().map(Option::unwrap_or_default)
        });
        let changed = || why_changed(server, text.as_ref().ok()?);
        server.stays = server.why_it_stays().or_else(changed);
        server.stays.is_none().then_some(&*server)
    });
    let here: Vec<&FoundServer> = here.collect();
    let at = SystemTime::now();
    for server in &here {
        let is_done = moved.iter().any(|done| done.file == server.file);
        let Some(text) = texts.get(&server.file).filter(|_| !is_done) else {
            continue;
        };
        let of_file = here.iter().filter(|other| other.file == server.file);
        let of_file: Vec<&FoundServer> = of_file.copied().collect();
        let servers = of_file.iter().map(|server| server.written_name.clone());
        let client = server.client;
        let is_alone = |row: &ClientRow| row.client == client && !row.connected;
        let removed = if rows.iter().any(is_alone) {
            let (name, id) = (client.name(), client.id());
            let why =
                format!("{name} is not connected to mcpproxy, so it cannot use moved servers");
            Err((why, NextStep::ConnectClient { client: id.into() }))
        } else {
            remove(places, (client, text), &of_file, (!dry_run).then_some(at))
        };
        let (backup, file) = (removed.as_ref().ok(), Path::new(&server.file));
        moved.push(MovedServers {
            backup: backup.cloned().flatten(),
            ..outcome(client, file, servers.collect(), removed.err())
        });
    }
    report.moved = moved;
}

/// Why a server stays in its file, which has this text now: its entry there is not the one that was found and imported.
fn why_changed(server: &FoundServer, text: &str) -> Option<String> {
    // A text that cannot be read stays as it is.
    let root = FileFormat::of(Path::new(&server.file)).read(text).ok()?;
    let found = servers::all(server.client, &root, server.found.project.as_deref());
    let is_there = found.ok()?.contains(&server.found);
    (!is_there).then(|| "its entry was changed in the meantime".to_owned())
}

/// Why a file is not changed, and what to do about it.
type Obstacle = (String, NextStep);

fn fault_in(path: &Path) -> impl FnOnce(FileFault) -> Obstacle {
    move |fault| (fault.to_string(), NextStep::act(fault.step(path)))
}

/// Gives the copy of the file, unless there is to be none because nothing is to be written; else why nothing was removed.
fn remove(
    places: &ClientPlaces,
    (client, text): (Client, &Result<String, FileFault>),
    servers: &[&FoundServer],
    at: Option<SystemTime>,
) -> Result<Option<String>, Obstacle> {
    let path = Path::new(servers.first().map_or("", |server| &server.file));
    let file_name = path.file_name().unwrap_or_default().to_string_lossy();
    let (file, name) = (path.display(), client.name());
    if client.0.read_only.contains(&&*file_name) {
        let why = format!("{name} keeps other settings there");
        let step = format!("remove the servers in {name} or with an editor");
        return Err((why, NextStep::act(step)));
    }
    let text = text.as_ref();
    let text = text.map_err(|fault| fault_in(path)(fault.clone()))?;
    let entries = servers.iter().map(|server| &server.found);
    let note = note_on(entries.clone());
    let step = || NextStep::act(format!("remove the servers from {file} with an editor"));
    let after = without(FileFormat::of(path), text, entries);
    let after = after.map_err(|fault| (fault.to_string(), step()))?;
    let Some(at) = at else {
        return Ok(None);
    };
    let (noted, kind) = (places.note(client, path), (CopyKind::Move, at));
    let copy =
        noted.and_then(|()| replace::replace_at(path, Some(text), &after, kind, Some(&note)));
    let copy = copy.map_err(|error| (error.of_it(), NextStep::act(step_after(&error))))?;
    Ok(copy.map(|copy| copy.display().to_string()))
}

fn without<'a>(
    format: FileFormat,
    text: &str,
    mut servers: impl Iterator<Item = &'a ClientServer>,
) -> Result<String, FileFault> {
    servers.try_fold(text.to_owned(), |text, server| {
        edit::without(format, &text, &server.list, &server.name)
    })
}

/// What is noted beside the copy of a file: the keys that lead to each removed server. What it was is in the copy.
fn note_on<'a>(servers: impl Iterator<Item = &'a ClientServer>) -> String {
    json!(servers.map(keys_of).collect::<Vec<_>>()).to_string()
}

fn keys_of(server: &ClientServer) -> Vec<String> {
    edit::below(&server.list, &server.name)
}

/// Nothing beside a copy of an earlier version.
fn noted(copy: &Path) -> Option<Vec<Vec<String>>> {
    let note = replace::note_of(copy);
    let text = fs::read_to_string(note.is_file().then_some(note)?).ok()?;
    serde_json::from_str(&text).ok()
}

/// Which removals from a file are undone.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum MovesBack {
    /// The latest of all these files.
    Latest,
    /// Those since its client was connected.
    SinceConnected,
    /// All.
    All,
}

/// Puts back what was removed from the files of these clients, byte for byte where nothing else was changed since. What others removed
/// stays away.
pub fn move_back(
    places: &ClientPlaces,
    us: &OurAddress,
    which: MovesBack,
    is_meant: impl Fn(Client) -> bool,
) -> Vec<MovedServers> {
    let files = moved_files(places).filter(|(client, ..)| is_meant(*client));
    let files: Vec<(Client, ClientFile, Vec<PathBuf>)> = files.collect();
    // One move may be of several files.
    let latest = |copies: &[PathBuf]| copies.first().and_then(|copy| Some(made(copy)?.to_owned()));
    let of_all = files.iter().filter_map(|(.., copies)| latest(copies)).max();
    let mut all = Vec::new();
    for (client, file, mut copies) in files {
        copies.truncate(match which {
            MovesBack::Latest => usize::from(latest(&copies) == of_all),
            MovesBack::SinceConnected => since_connected(&file, &copies),
            MovesBack::All => copies.len(),
        });
        if copies.is_empty() {
            continue;
        }
        let (mut back, mut obstacle) = (Vec::new(), None);
        for copy in &copies {
            obstacle = obstacle.or(put((&file, copy), us, |_| true, false, &mut back).err());
        }
        all.push(outcome(client, &file.path, back, obstacle));
        places.forget_undone(&file, us);
    }
    all
}

/// How many of these copies, the latest first, were made after the client was connected: what was done last is undone first.
fn since_connected(file: &ClientFile, copies: &[PathBuf]) -> usize {
    let connected = replace::backups(&file.path, CopyKind::Connect);
    let Some(connected) = connected.first() else {
        return copies.len();
    };
    let is_later = |copy: &&PathBuf| made(connected) <= made(copy);
    copies.iter().take_while(is_later).count()
}

fn outcome(
    client: Client,
    file: &Path,
    servers: Vec<String>,
    obstacle: Option<Obstacle>,
) -> MovedServers {
    let (error, step) = obstacle.unzip();
    MovedServers {
        client,
        file: file.display().to_string(),
        servers,
        backup: None,
        error,
        step,
    }
}

/// The files of clients from which servers were removed, with the copies of before that, the latest first.
fn moved_files(
    places: &ClientPlaces,
) -> impl Iterator<Item = (Client, ClientFile, Vec<PathBuf>)> + use<> {
    let files = places.with_noted(places.files()).into_iter();
    files.filter_map(|file| {
        let copies = replace::backups(&file.path, CopyKind::Move);
        (!copies.is_empty()).then_some((file.client?, file, copies))
    })
}

/// The servers that one move took out of a file, and the copy of the file from before.
pub struct MovedHere {
    client: Client,
    file: ClientFile,
    copy: PathBuf,
    servers: Vec<FoundServer>,
}

/// The servers that were removed from files and are here, the latest removal first. Blocks.
pub fn moved_here(files: &Files, places: &ClientPlaces, us: &OurAddress) -> Result<Vec<MovedHere>> {
    let mut all = Vec::new();
    for (client, file, copies) in moved_files(places) {
        for copy in copies {
            // Nothing is put back out of a copy that cannot be read.
            let before = fs::read_to_string(&copy).unwrap_or_default();
            let Ok(mut found) = file.servers_in(&before) else {
                continue;
            };
            if let Some(noted) = noted(&copy) {
                let is_noted = |server: &ClientServer| noted.contains(&keys_of(server));
                found.servers.retain(is_noted);
            }
            let mut servers = planned(files, us, &[(file.clone(), found)])?;
            // Also one that was quarantined or changed here.
            servers.retain(|server| server.outcome == FoundOutcome::Same);
            all.push(MovedHere {
                client,
                file: file.clone(),
                copy,
                servers,
            });
        }
    }
    Ok(all)
}

/// Puts those of them back that had these names here; says only which those are where nothing is to be written.
pub fn put_back(
    moved: &[MovedHere],
    names: &[String],
    us: &OurAddress,
    dry_run: bool,
) -> Vec<MovedServers> {
    let mut all = Vec::new();
    for one in moved {
        let is_named = |name: &String| names.contains(name);
        let meant = one.servers.iter();
        let meant = meant.filter(|server| server.name.as_ref().is_some_and(is_named));
        let meant: Vec<&ClientServer> = meant.map(|server| &server.found).collect();
        if meant.is_empty() {
            continue;
        }
        let is_meant = |server: &ClientServer| meant.contains(&server);
        let (at, mut back) = ((&one.file, &*one.copy), Vec::new());
        let put = put(at, us, is_meant, dry_run, &mut back);
        all.push(outcome(one.client, &one.file.path, back, put.err()));
    }
    // An older copy has nothing to add where a newer one has had the same servers.
    all.retain(|one| !one.servers.is_empty() || one.error.is_some());
    all
}

/// The files of clients from which servers were removed.
pub fn moved_from(places: &ClientPlaces) -> Vec<PathBuf> {
    moved_files(places).map(|(_, file, _)| file.path).collect()
}

/// The copies of clients' files that are kept beside them, and the notes beside those copies.
pub fn kept_copies(places: &ClientPlaces) -> Vec<PathBuf> {
    let kinds = [CopyKind::Kept, CopyKind::Connect, CopyKind::Move];
    let of = |file: ClientFile| kinds.map(|kind| replace::backups(&file.path, kind));
    let mut copies: Vec<PathBuf> = places
        .with_noted(places.files())
        .into_iter()
        .flat_map(of)
        .flatten()
        .flat_map(|copy| [replace::note_of(&copy), copy])
        .filter(|path| path.exists())
        .collect();
    copies.sort();
    copies.dedup();
    copies
}

/// Puts back the servers that are meant, of those that the move with this copy removed, and gives their names; in a dry run it only does
/// that. What does not come back stays noted; the copy goes when nothing is.
fn put(
    (file, copy): (&ClientFile, &Path),
    us: &OurAddress,
    is_meant: impl Fn(&ClientServer) -> bool,
    dry_run: bool,
    names: &mut Vec<String>,
) -> Result<(), Obstacle> {
    let unread = |error| fault_in(copy)(FileFault::unread(&error));
    let before = fs::read_to_string(copy).map_err(unread)?;
    let found = file.text().map_err(fault_in(&file.path))?;
    // If the file was deleted, only the servers come back.
    let now = found.clone().unwrap_or_default();
    let present = file.servers_in(&now).map_err(fault_in(&file.path))?.servers;
    let copied = file.servers_in(&before).map_err(fault_in(copy))?.servers;
    let there = |server: &ClientServer| {
        let keys = keys_of(server);
        present.iter().find(|other| keys_of(other) == keys)
    };
    let noted = noted(copy);
    let is_removed = |server: &&ClientServer| match &noted {
        Some(noted) => noted.contains(&keys_of(server)),
        None => there(server).is_none() && !us.is_us(server) && !us.is_us_elsewhere(server),
    };
    let is_away = |server: &&ClientServer| {
        let other = there(server);
        other.is_none_or(|other| other.entry != server.entry)
    };
    let away = copied.iter().filter(is_removed).filter(is_away);
    let (back, left): (Vec<&ClientServer>, Vec<&ClientServer>) =
        away.partition(|server| is_meant(server) && there(server).is_none());
    let in_use = left.iter().filter(|server| is_meant(server));
    let in_use: Vec<&str> = in_use.map(|server| &*server.name).collect();
    let put = if in_use.is_empty() {
        Ok(())
    } else {
        let (file, in_use) = (file.path.display(), in_use.join(", "));
        let why = format!("it has another server of the same name ({in_use})");
        let step = format!("rename or remove that one in {file}, then try again");
        Err((why, NextStep::act(step)))
    };
    let back_now = back.iter().map(|server| server.name.clone());
    if dry_run {
        names.extend(back_now);
        return put;
    }
    let gone = copied.iter().filter(|server| there(server).is_none());
    let others = gone.filter(|server| !back.contains(server));
    let restored = without(file.format, &before, others).ok();
    let is_untouched = |before: &String| {
        let without = without(file.format, before, back.iter().copied());
        without.is_ok_and(|text| text == now)
    };
    let after = match restored.filter(is_untouched) {
        Some(before) => Ok(before),
        None => back.iter().try_fold(now.clone(), |text, server| {
            edit::put_back(file.format, &text, server, &before)
        }),
    };
    let after = after.map_err(fault_in(&file.path))?;
    let written = if after == now {
        Ok(None)
    } else {
        replace::replace(&file.path, found.as_deref(), &after, CopyKind::Move)
    };
    let spent = written.map_err(|error| (error.of_it(), NextStep::act(step_after(&error))))?;
    let copy_is_spent = left.is_empty().then_some(copy);
    let spent = spent.iter().map(PathBuf::as_path).chain(copy_is_spent);
    spent.for_each(replace::forget);
    if !left.is_empty() {
        // A server that is noted and back is no more than that.
        let _ = replace::note(copy, &note_on(left.into_iter()));
    }
    replace::clear_if_restored(&file.path);
    names.extend(back_now);
    put
}

#[cfg(test)]
mod tests {
    use super::{super::plan::row, Client, ClientFile, PathBuf, why_changed};

    #[test]
    fn an_entry_that_was_changed_since_it_was_found_stays() {
        let path = PathBuf::from("/home/ada/.cursor/mcp.json");
        let file = ClientFile::new(Client::from_word("cursor"), None, path);
        let text = r#"{"mcpServers":{"a":{"command":"cat","env":{"A":"1"}},"b":{}}}"#;
        let found = file.servers_in(text).expect("servers");
        let server = row(&file, found.client, &found.servers[0]);
        for (from, to, stays) in [
            ("", "", false),
            (r#","b":{}"#, "", false),
            ("\"1\"", "\"2\"", true),
            ("\"a\"", "\"c\"", true),
        ] {
            let now = text.replacen(from, to, 1);
            assert_eq!(why_changed(&server, &now).is_some(), stays, "{now}");
        }
    }
}
