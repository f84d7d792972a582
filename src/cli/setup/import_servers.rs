//! Step 2 of `mcpproxy setup`: imports servers from clients and other proxies.

use super::{
    super::{
        failure::Done,
        import::{self, values::SecretsPlace},
        output::Output,
    },
    choice::Choice,
    report::{SetupReport, say_step},
};
use crate::{
    clients::{ClientPlaces, FoundOutcome, FoundServer, ImportReport, move_out},
    config::OurAddress,
    daemon_client::DaemonClient,
    management::Files,
};

/// Imports the chosen servers. Gives the report on all that were found, unless none are wanted.
pub(super) async fn import_servers(
    files: &Files,
    daemon: Option<DaemonClient>,
    choice: &Choice,
    secrets: Option<SecretsPlace>,
    report: &mut SetupReport,
    out: Output,
) -> Done<Option<ImportReport>> {
    let from: &[String] = match choice {
        Choice::Nothing => {
            say_step(2, "servers: none imported; later: `mcpproxy import`", out);
            return Ok(None);
        }
        Choice::All | Choice::Undecided | Choice::Ask => &[],
        Choice::Named(words) => words,
    };
    let mut daemon = daemon.unwrap_or_else(|| DaemonClient::over_files(files.clone()));
    let mut found = import::gather(files, &daemon, from)?;
    let mut chosen = found.picked(&[])?;
    let offered = chosen.len();
    if !out.is_json() {
        import::say_faults(&found, out);
    }
    if *choice == Choice::Undecided {
        report.offer(offered);
        chosen.clear();
    } else if *choice == Choice::Ask && offered > 0 {
        import::show_table(&found)?;
        chosen = import::pick(&found, &chosen, out);
    }
    found.choose(&chosen);
    import::values::fill_placeholders(files, &mut found, out);
    import::values::keep_secrets(files, &mut found, secrets, out)?;
    import::add(&mut daemon, &mut found, false).await?;
    import::say_readable(files.config_file(), &found, out);
    if !out.is_json() {
        import::say_beside_missing(&found, out);
    }
    let all = matches!(choice, Choice::All | Choice::Named(_));
    for server in &found.servers {
        let name = server.new_name().unwrap_or(&server.written_name);
        let is_wrong = server.outcome == FoundOutcome::Unusable;
        if server.imported {
            report.imported.extend(server.new_name().map(str::to_owned));
        } else if server.error.is_some() || all && is_wrong {
            report.not_imported.push(name.to_owned());
            out.warning(&format!("{name} was not imported: {}", server.why_not()));
            let step = import::value_step(server, out);
            let step = step.map(|step| format!("{name} needs a value: {step}"));
            report.next_steps.extend(step);
        }
    }
    say_imported(&found, offered, report, out);
    Ok(Some(found))
}

/// Removes imported servers, of this run or an earlier one, from the files of clients that this setup connected; others still need theirs,
/// and all keep those that do not start here. `moves` is nothing if the person decides. Gives the step for those that are left.
pub(super) fn move_servers(
    found: &mut ImportReport,
    moves: Option<bool>,
    at: (&ClientPlaces, &OurAddress),
    report: &mut SetupReport,
    out: Output,
) -> Option<String> {
    for server in &mut found.servers {
        let error = || report.error_of(server.name.as_deref()?);
        server.warning = server.warning.take().or_else(error);
    }
    let connected = report.connected();
    let is_meant = |server: &FoundServer| {
        let is_wanted = match moves {
            Some(moves) => moves && !server.is_in_project_file,
            None => !server.is_foreign(),
        };
        is_wanted && connected.contains(&server.client)
    };
    if moves.is_some() {
        move_out(found, at, is_meant, false);
    } else {
        import::moving::move_agreed(found, at, is_meant, true, out);
    }
    if !out.is_json() {
        import::moving::say(found, false, out);
    }
    report.moved.clone_from(&found.moved);
    // A server runs twice if another proxy has it, or a connected client. If the person answered that it stays, it is not named again.
    let is_left = |server: &&FoundServer| {
        let client = server.client;
        let is_connected = connected.contains(&client) || report.already.contains(&client);
        let is_other_proxy = !client.can_connect() && !server.is_in_project_file;
        is_other_proxy || is_connected && !is_meant(server)
    };
    let names = names_of_clients(found.doubled().filter(is_left));
    (!names.is_empty()).then(|| {
        format!("remove the imported servers from {names}, so that nothing runs twice: `mcpproxy import --move`")
    })
}

fn names_of_clients<'a>(servers: impl Iterator<Item = &'a FoundServer>) -> String {
    let mut names: Vec<&str> = servers.map(|server| server.client.name()).collect();
    names.dedup();
    names.join(", ")
}

fn say_imported(found: &ImportReport, offered: usize, report: &mut SetupReport, out: Output) {
    let text = match report.imported.as_slice() {
        [] if found.servers.is_empty() => "servers: none to import".to_owned(),
        [] if offered > 0 => {
            format!("servers: none of {offered} imported; later: `mcpproxy import`")
        }
        [] => format!(
            "servers: nothing new in {}",
            names_of_clients(found.servers.iter())
        ),
        names => format!(
            "servers: {} imported from {}: {}",
            names.len(),
            names_of_clients(found.taken()),
            names.join(", ")
        ),
    };
    say_step(2, &text, out);
}
