//! Servers that are here are removed from the files of their clients, which would start them a second time, and put back. Blocks.

use std::{
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::{
    Client, ClientFile, ClientPlaces, ClientRow, ClientServer, FoundOutcome, FoundServer,
    ImportReport, MovedServers, client_rows,
    connect::step_after,
    edit,
    fault::FileFault,
    formats::FileFormat,
    gather::planned,
    replace::{self, CopyKind, made},
};
use crate::{
    config::OurAddress,
    failure::{NextStep, Result},
    management::Files,
    storage,
};

/// Removes those servers of the report from their files that are here now, of these clients, and work here as they do there; in a dry run
/// it is only noted which. A client that is not connected would have no servers then, neither its own nor ours: its file stays as it is.
pub fn move_out(
    report: &mut ImportReport,
    (places, us): (&ClientPlaces, &OurAddress),
    is_meant: impl Fn(&FoundServer) -> bool,
    dry_run: bool,
) {
    let rows = client_rows(places, us, true);
    let mut moved: Vec<MovedServers> = Vec::new();
    let comes = |server: &FoundServer| server.imported || dry_run && server.chosen;
    let at_here = report.here(comes);
    let here = report.servers.iter_mut().enumerate();
    let here = here.filter(|(at, server)| at_here.contains(at) && is_meant(server));
    let here = here.filter_map(|(_, server)| {
        server.stays = server.why_it_stays();
        server.stays.is_none().then_some(&*server)
    });
    let here: Vec<&FoundServer> = here.collect();
    let kind = (CopyKind::Move, SystemTime::now());
    for server in &here {
        if moved.iter().any(|done| done.file == server.file) {
            continue;
        }
        let of_file = here.iter().filter(|other| other.file == server.file);
        let of_file: Vec<&FoundServer> = of_file.copied().collect();
        let servers = of_file.iter().map(|server| server.written_name.clone());
        let client = server.client;
        let is_alone = |row: &ClientRow| row.client == client && !row.connected;
        let removed = if rows.iter().any(is_alone) {
            let (name, id) = (client.name(), client.id());
            let why = format!("{name} is not connected, so it would have no servers");
            Err((why, NextStep::ConnectClient { client: id.into() }))
        } else {
            remove(places, client, &of_file, (!dry_run).then_some(kind))
        };
        moved.push(MovedServers {
            client,
            file: server.file.clone(),
            servers: servers.collect(),
            backup: removed.as_ref().ok().cloned().flatten(),
            error: removed.as_ref().err().map(|(why, _)| why.clone()),
            step: removed.err().map(|(_, step)| step),
        });
    }
    report.moved = moved;
}

/// Gives the copy of the file, unless there is to be none because nothing is to be written; else why nothing was removed, and what to do
/// about it.
fn remove(
    places: &ClientPlaces,
    client: Client,
    servers: &[&FoundServer],
    kind: Option<(CopyKind, SystemTime)>,
) -> Result<Option<String>, (String, NextStep)> {
    let path = Path::new(servers.first().map_or("", |server| &server.file));
    let file_name = path.file_name().unwrap_or_default().to_string_lossy();
    let file = path.display();
    if client.0.read_only.contains(&&*file_name) {
        let why = format!("{} keeps other settings there", client.name());
        return Err((
            why,
            NextStep::act(format!(
                "remove them in {} or with an editor",
                client.name()
            )),
        ));
    }
    let text = std::fs::read_to_string(path).map_err(|error| {
        let step = storage::disk_step(path, &error);
        (storage::in_words(&error), NextStep::act(step))
    })?;
    let entries = servers
        .iter()
        .map(|server| (&server.list[..], &*server.written_name));
    let after = without(FileFormat::of(path), &text, entries).map_err(|fault| {
        (
            fault.to_string(),
            NextStep::act(format!("remove them from {file} with an editor")),
        )
    })?;
    let Some(kind) = kind else {
        return Ok(None);
    };
    let noted = places.note(client, path);
    let copy = noted.and_then(|()| replace::replace_at(path, Some(&text), &after, kind));
    let copy = copy.map_err(|error| (error.of_it(), NextStep::act(step_after(&error))))?;
    Ok(copy.map(|copy| copy.display().to_string()))
}

fn without<'a>(
    format: FileFormat,
    text: &str,
    entries: impl Iterator<Item = (&'a [String], &'a str)>,
) -> Result<String, FileFault> {
    let mut text = text.to_owned();
    for (list, name) in entries {
        text = edit::without(format, &text, list, name)?;
    }
    Ok(text)
}

fn places_of<'a>(servers: &'a [&ClientServer]) -> impl Iterator<Item = (&'a [String], &'a str)> {
    servers
        .iter()
        .map(|server| (&server.list[..], &*server.name))
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

/// Puts back what was removed from the files of these clients, byte for byte where nothing else was changed since. An entry of ours that
/// went meanwhile stays away.
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
        let put_back = copies.iter().map(|copy| put(&file, copy, us, |_| true));
        let put_back: Result<Vec<Vec<String>>, String> = put_back.collect();
        all.push(outcome(client, &file, put_back.map(|names| names.concat())));
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

fn outcome(client: Client, file: &ClientFile, put: Result<Vec<String>, String>) -> MovedServers {
    let (servers, error) = match put {
        Ok(servers) => (servers, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    MovedServers {
        client,
        file: file.path.display().to_string(),
        servers,
        backup: None,
        error,
        step: None,
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
            let before = std::fs::read_to_string(&copy).unwrap_or_default();
            let Ok(found) = file.servers_in(&before) else {
                continue;
            };
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
        let meant = meant.map(|server| (&server.list[..], &*server.written_name));
        let meant: Vec<(&[String], &str)> = meant.collect();
        if meant.is_empty() {
            continue;
        }
        let is_meant = |server: &ClientServer| meant.contains(&(&server.list[..], &*server.name));
        let put = if dry_run {
            Ok(meant.iter().map(|(_, name)| (*name).to_owned()).collect())
        } else {
            put(&one.file, &one.copy, us, is_meant)
        };
        all.push(outcome(one.client, &one.file, put));
    }
    // An older copy has nothing to add where a newer one has had the same servers.
    all.retain(|one| !one.servers.is_empty() || one.error.is_some());
    all
}

/// The files of clients from which servers were removed.
pub fn moved_from(places: &ClientPlaces) -> Vec<PathBuf> {
    moved_files(places).map(|(_, file, _)| file.path).collect()
}

/// The copies of clients' files that are kept beside them.
pub fn kept_copies(places: &ClientPlaces) -> Vec<PathBuf> {
    let kinds = [CopyKind::First, CopyKind::Connect, CopyKind::Move];
    let of = |file: ClientFile| kinds.map(|kind| replace::backups(&file.path, kind));
    let mut copies: Vec<PathBuf> = places
        .with_noted(places.files())
        .into_iter()
        .flat_map(of)
        .flatten()
        .collect();
    copies.sort();
    copies.dedup();
    copies
}

/// Puts back the servers that are meant, of those that the copy has and the file has not. The copy goes once nothing in it is needed.
fn put(
    file: &ClientFile,
    copy: &Path,
    us: &OurAddress,
    is_meant: impl Fn(&ClientServer) -> bool,
) -> Result<Vec<String>, String> {
    let fault = |fault: FileFault| fault.to_string();
    let before = std::fs::read_to_string(copy).map_err(|error| error.to_string())?;
    let found = file.text().map_err(fault)?;
    // If the file was deleted, only the servers come back.
    let now = found.clone().unwrap_or_default();
    let present = file.servers_in(&now).map_err(fault)?.servers;
    let is_gone = |server: &&ClientServer| {
        let is_it =
            |other: &ClientServer| (&other.list, &other.name) == (&server.list, &server.name);
        !present.iter().any(is_it)
    };
    let copied = file.servers_in(&before).map_err(fault)?.servers;
    let gone = copied.iter().filter(is_gone);
    let (ours, gone): (Vec<&ClientServer>, Vec<&ClientServer>) =
        gone.partition(|server| us.is_us(server) || us.is_us_elsewhere(server));
    let (gone, others): (Vec<&ClientServer>, Vec<&ClientServer>) =
        gone.into_iter().partition(|server| is_meant(server));
    if gone.is_empty() && !others.is_empty() {
        return Ok(Vec::new());
    }
    let stay_away = places_of(&ours).chain(places_of(&others));
    let before = without(file.format, &before, stay_away).map_err(fault)?;
    let is_untouched = without(file.format, &before, places_of(&gone)).as_deref() == Ok(&now);
    let mut after = now.clone();
    if is_untouched {
        after = before;
    } else {
        for server in &gone {
            let entry = server.entry.as_object().cloned().unwrap_or_default();
            let put = edit::put_in(file.format, &after, &server.list, &server.name, &entry);
            after = put.map_err(fault)?;
        }
    }
    let written = if after == now {
        Ok(None)
    } else {
        replace::replace(&file.path, found.as_deref(), &after, CopyKind::Move)
    };
    let spent = written.map_err(|error| error.of_it())?;
    let copy = others.is_empty().then_some(copy);
    for spent in spent.iter().map(PathBuf::as_path).chain(copy) {
        // A copy that stays does no harm.
        let _ = std::fs::remove_file(spent);
    }
    replace::clear_if_restored(&file.path);
    Ok(gone.iter().map(|server| server.name.clone()).collect())
}
