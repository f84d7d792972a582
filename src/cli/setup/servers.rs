//! The servers: taken over from other programs, and waited for until their tools are known.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::{
    super::{failure::CommandFailure, import, output::Output},
    report::SetupReport,
    step,
    words::Choice,
};
use crate::{
    client_setup::{Gathered, picked_by},
    daemon_client::{self, DaemonClient},
    gate::Standing,
    management::{Management, OverFiles, ServerList, ServerRow, ServerState},
};

/// How long it is waited for first lists. A first start may download for minutes, and nobody should have to watch that.
const LISTED_WITHIN: Duration = Duration::from_secs(20);

/// Between two looks at the servers.
const LOOK: Duration = Duration::from_millis(100);

/// Takes servers over.
pub(super) async fn take_over(
    files: &Management<OverFiles>,
    mut daemon: Option<DaemonClient>,
    choice: &Choice,
    report: &mut SetupReport,
    out: Output,
) -> Result<(), CommandFailure> {
    let from: &[String] = match choice {
        Choice::Nothing => {
            step(
                2,
                "servers: nothing is taken over; `mcpproxy import` does that at any time",
                out,
            );
            return Ok(());
        }
        Choice::All | Choice::Unsaid | Choice::Ask => &[],
        Choice::Named(words) => words,
    };
    let gathered = import::gather(files, daemon.as_ref(), from)?;
    let mut chosen = picked_by(&gathered, &[])?;
    let offered = chosen.len();
    if !out.is_json() {
        import::say_faults(&gathered, out);
    }
    if *choice == Choice::Unsaid {
        report.offer(offered);
        chosen.clear();
    } else if *choice == Choice::Ask && offered > 0 {
        import::show_table(&gathered)?;
        chosen = import::asked(&chosen, out);
    }
    let added = import::add(files, daemon.as_mut(), &gathered, &chosen, false, out).await;
    import::say_readable(files.config_file(), &gathered, &added, out);
    if !out.is_json() {
        import::say_notes(&gathered, import::NotedServers::Taken(&added), out);
    }
    let (done, failed): (Vec<_>, Vec<_>) =
        added.into_iter().partition(|added| added.error.is_none());
    report.imported = done.into_iter().map(|added| added.name).collect();
    report.not_imported = failed.into_iter().map(|added| added.name).collect();
    say(&gathered, offered, report, out);
    Ok(())
}

fn say(gathered: &Gathered, offered: usize, report: &mut SetupReport, out: Output) {
    let n_files = gathered.files.len();
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
        [] if gathered.plan.is_empty() => {
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
    step(2, &text, out);
}

/// Waits until the tools of every server are known, or it is clear that they will not be soon.
pub(super) async fn wait_until_listed(
    daemon: &mut DaemonClient,
    report: &mut SetupReport,
    out: Output,
) -> Result<(), CommandFailure> {
    let deadline = Instant::now() + LISTED_WITHIN;
    let mut said = usize::MAX;
    loop {
        let path = "/api/v1/servers";
        let list: ServerList = daemon_client::read(path, &daemon.get(path).await?)?;
        let usable = list
            .servers
            .iter()
            .filter(|row| row.standing() == Standing::Usable);
        let waiting = usable.filter(|row| is_awaited(row)).count();
        if waiting == 0 || Instant::now() > deadline {
            report.take_servers(&list.servers, waiting);
            return Ok(());
        }
        if waiting != said {
            said = waiting;
            let of = list.servers.len();
            out.progress(&format!(
                "waiting for the tools of {waiting} of {of} servers"
            ));
        }
        sleep(LOOK).await;
    }
}

/// Whether its tools may be known in a moment.
fn is_awaited(row: &ServerRow) -> bool {
    let is_listed = row.tools.is_some_and(|tools| tools > 0);
    let is_on_its_way = matches!(
        row.state,
        ServerState::Connecting | ServerState::Disconnected
    );
    !is_listed && is_on_its_way && row.last_error.is_none()
}
