//! The second step: the servers that other programs have.

use super::{
    super::{failure::CommandFailure, import, output::Output},
    choice::Choice,
    report::SetupReport,
    step::SetupStep,
};
use crate::{
    clients::ImportReport,
    daemon_client::DaemonClient,
    management::{Management, OverFiles},
};

/// Imports the servers that were chosen.
pub(super) async fn import_servers(
    files: &Management<OverFiles>,
    daemon: Option<DaemonClient>,
    choice: &Choice,
    report: &mut SetupReport,
    out: Output,
) -> Result<(), CommandFailure> {
    let from: &[String] = match choice {
        Choice::Nothing => {
            SetupStep::Servers.say(
                "servers: nothing is taken over; `mcpproxy import` does that at any time",
                out,
            );
            return Ok(());
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
        chosen = import::pick(&chosen, out);
    }
    found.choose(&chosen);
    import::add(&mut daemon, &mut found, false, out).await;
    import::say_readable(files.config_file(), &found, out);
    if !out.is_json() {
        import::say_needs(&found, true, out);
    }
    for server in found.servers.iter().filter(|server| server.chosen) {
        let name = server.new_name().unwrap_or_default().to_owned();
        if server.imported {
            report.imported.push(name);
        } else {
            report.not_imported.push(name);
        }
    }
    say_imported(&found, offered, report, out);
    Ok(())
}

fn say_imported(found: &ImportReport, offered: usize, report: &mut SetupReport, out: Output) {
    let n_files = found.files.len();
    let files = match n_files {
        1 => "1 file of another program".to_owned(),
        n => format!("{n} files of other programs"),
    };
    if !report.imported.is_empty() {
        report.next_steps.push(
            "the servers that were taken over still stand in the files of their clients, which start them a second time: take them out there; `mcpproxy doctor` names them file by file".to_owned(),
        );
    }
    let text = match report.imported.as_slice() {
        [] if n_files == 0 => {
            "servers: no other program has any here; `mcpproxy upstream add` adds one".to_owned()
        }
        [] if found.servers.is_empty() => {
            format!(
                "servers: nothing to take over was found in {files}; `mcpproxy upstream add` adds one"
            )
        }
        [] if offered > 0 => format!(
            "servers: none was taken over; {offered} could be: `mcpproxy import` offers them at any time"
        ),
        [] => format!("servers: nothing new in {files}"),
        names => format!(
            "servers: {} taken over from {files}: {}",
            names.len(),
            names.join(", ")
        ),
    };
    SetupStep::Servers.say(&text, out);
}
