//! Messages and questions about servers that are removed from clients' files, or put back.

use std::collections::BTreeSet;

use serde_json::json;

use super::super::{CommandFailure, Done, Output, output};
use crate::{
    clients::{
        Client, ClientPlaces, ClientRow, FoundServer, ImportReport, MovedServers, MovesBack,
        home_places, move_back, move_out, our_address,
    },
    config::OurAddress,
    management::{DaemonLocation, Files},
};

/// Removes the servers that are meant from their files, as far as the person at the terminal agrees: the question names what would be
/// removed. If `is_apart`, a project's file, which others may share, has a question of its own, for which Enter is no.
pub(in crate::cli) fn move_agreed(
    report: &mut ImportReport,
    at: (&ClientPlaces, &OurAddress),
    is_meant: impl Fn(&FoundServer) -> bool,
    is_apart: bool,
    out: Output,
) {
    move_out(report, at, &is_meant, true);
    let is_shared = |one: &&MovedServers| {
        let mut servers = report.servers.iter();
        is_apart && servers.any(|server| server.is_in_project_file && server.file == one.file)
    };
    let movable = report.moved.iter().filter(|one| one.error.is_none());
    let (shared, own): (Vec<_>, Vec<_>) = movable.partition(is_shared);
    let named = |one: &&MovedServers| format!("{} from {}", one.servers.join(", "), one.file);
    let mut kept = BTreeSet::new();
    let all: Vec<String> = own.iter().map(named).collect();
    let n: usize = own.iter().map(|one| one.servers.len()).sum();
    let them = if n == 1 { "it" } else { "them" };
    let question = format!("Remove {}? mcpproxy has {them} now.", all.join(" and "));
    if !own.is_empty() && !out.agrees(&question) {
        kept.extend(own.iter().map(|one| one.file.clone()));
    }
    for one in shared {
        let what = named(&one);
        let why = "It belongs to the project, and others may share it.";
        if !out.asks(&format!("Remove {what}? {why}")) {
            kept.insert(one.file.clone());
        }
    }
    let is_agreed = |server: &FoundServer| is_meant(server) && !kept.contains(&server.file);
    move_out(report, at, is_agreed, false);
}

/// Says which servers were removed from which file, or would be, and which stay and why.
pub(in crate::cli) fn say(report: &ImportReport, dry_run: bool, out: Output) {
    let servers = report.servers.iter();
    let stay = servers.filter_map(|server| Some((server, server.stays.as_ref()?)));
    for (server, why) in stay {
        let (name, file) = (&server.written_name, &server.file);
        let step = if server.differing.is_empty() {
            ""
        } else {
            "; to use mcpproxy's alone, delete the other there"
        };
        out.note(&format!("{name} stays in {file}: {why}{step}"));
    }
    for moved in &report.moved {
        let file = &moved.file;
        let n = output::count(moved.servers.len(), "server");
        let client = moved.client.id();
        match &moved.error {
            None if dry_run => {
                let names = moved.servers.join(", ");
                out.done(&format!("{n} would be removed from {file}: {names}"));
            }
            None => out.done(&format!(
                "removed {n} from {file}; undo: `mcpproxy import {client} --undo`"
            )),
            Some(why) => {
                out.warning(&format!("{n} not removed from {file}: {why}"));
                let step = moved.step.iter().map(|step| step.at_terminal(""));
                step.for_each(|step| out.next(&step));
            }
        }
    }
}

/// Says to start the daemon, if clients that connect by URL have to use the removed servers through it.
pub(super) fn say_start(report: &ImportReport, rows: &[ClientRow], out: Output) {
    let lost = |row: &&ClientRow| {
        let mut moved = report.moved.iter().filter(|one| one.error.is_none());
        row.shows_token.is_some() && moved.any(|one| one.client == row.client)
    };
    let titles: Vec<&str> = rows.iter().filter(lost).map(|row| row.title).collect();
    if !titles.is_empty() {
        let titles = titles.join(", ");
        out.next(&format!(
            "`mcpproxy start`; until then {titles} cannot use what was removed"
        ));
    }
}

/// Says how many servers were put back into a file, or would be, and why not all were.
pub(in crate::cli) fn say_put_back(
    (file, servers): (&str, &[String]),
    error: Option<&str>,
    dry_run: bool,
    out: Output,
) {
    let n = output::count(servers.len(), "server");
    match error {
        Some(_) if servers.is_empty() => (),
        _ if dry_run => out.note(&format!("{n} would be put back into {file}")),
        _ => out.done(&format!("put {n} back into {file}")),
    }
    if let Some(why) = error {
        out.warning(&format!("not all servers were put back into {file}: {why}"));
    }
}

/// Why not all servers were put back into a file.
pub(in crate::cli) fn not_put_back(one: &MovedServers) -> Option<CommandFailure> {
    let (file, why, step) = (&one.file, one.error.as_ref()?, one.step.as_ref()?);
    let what = format!("not all servers were put back into {file}: {why}");
    Some(CommandFailure::failed(what).next(step.at_terminal("")))
}

/// `import --undo`: puts servers back into the files of these clients, or of all. An entry that leads to this daemon is not put back.
pub(super) fn undo(
    files: &Files,
    location: Option<&DaemonLocation>,
    from: &[String],
    out: Output,
) -> Done {
    let known = |word: &String| {
        let failure = || CommandFailure::usage(format!("no client {word:?} is known"));
        let step = "`mcpproxy import --help` lists the clients";
        Client::from_word(word).ok_or_else(|| failure().next(step))
    };
    let clients = from.iter().map(known).collect::<Result<Vec<Client>, _>>()?;
    let is_meant = |client| clients.is_empty() || clients.contains(&client);
    let (places, us) = (home_places(files)?, our_address(files, location));
    let put_back = move_back(&places, &us, MovesBack::Latest, is_meant);
    if put_back.is_empty() {
        if let Some(lost) = places.out_of_reach(is_meant).into_iter().next() {
            return Err(CommandFailure::from(lost).undone("nothing was put back"));
        }
        let what = "nothing was put back: every move is already undone, or there was none";
        let failure = CommandFailure::failed(what);
        return Err(failure.next(
            "`mcpproxy config history` lists imports; `mcpproxy config undo NUMBER` undoes one",
        ));
    }
    if out.is_json() {
        output::print_value(&json!({ "put_back": put_back }))?;
    } else {
        let back = put_back.iter();
        for one in back.filter(|one| one.error.is_none() || !one.servers.is_empty()) {
            say_put_back((&one.file, &one.servers), None, false, out);
        }
    }
    output::report_failures(put_back.iter().filter_map(not_put_back).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{ClientPlaces, ImportReport, OurAddress, Output, json, move_agreed, move_out};
    use crate::clients::{SecretNames, plan};

    #[test]
    fn nothing_leaves_a_file_unless_somebody_agrees() {
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().join(".cursor/mcp.json");
        let text =
            r#"{"mcpServers":{"a":{"command":"cat"},"b":{"url":"http://127.0.0.1:8080/mcp"}}}"#;
        fs::create_dir(home.path().join(".cursor")).expect("ours");
        fs::write(&path, text).expect("ours");
        let places = ClientPlaces::new(home.path(), home.path());
        let us = OurAddress {
            sockets: vec![([127, 0, 0, 1], 8080).into()],
            places: None,
        };
        let file = places.named(&path);
        let found = file.read().expect("a good file").expect("it is there");
        let here = [("a".to_owned(), json!({ "command": "cat" }))];
        let mut report = ImportReport {
            servers: plan(&[(file, found)], &here, &us, SecretNames::none()),
            ..ImportReport::default()
        };
        move_out(&mut report, (&places, &us), |_| true, true);
        assert_eq!(report.moved[0].servers, ["a"]);
        let nobody = Output::default().unasked(true);
        for is_apart in [false, true] {
            move_agreed(&mut report, (&places, &us), |_| true, is_apart, nobody);
            assert!(report.moved.is_empty());
        }
        assert_eq!(fs::read_to_string(&path).expect("ours"), text);
    }
}
