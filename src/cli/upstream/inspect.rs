//! `mcpproxy upstream inspect`: what a person has to know before trusting a server.

use clap::Args;
use http::Method;

use super::{
    super::{
        Location, connection,
        escapes::visible,
        failure::CommandFailure,
        output::{self, Output},
    },
    outcome::LONG_PATIENCE,
};
use crate::{
    daemon_client::{self, AnswerDeadline, DaemonClient},
    gate::Standing,
    management::{InspectedThing, Inspection, Management, OverFiles, ShownFinding},
};

/// Show what is held of a server and why, what changed since it was approved, and what looks dangerous
///
/// Contacts nothing, unless a server that an agent added is to be connected to read its tools.
#[derive(Debug, Args)]
pub(in crate::cli) struct InspectServer {
    /// The server's name, as `upstream list` shows it
    name: String,
    /// Connect a server that an agent added or changed, to read what it lists; nothing of it is called
    #[arg(long)]
    connect: bool,
}

impl InspectServer {
    pub(super) async fn run(self, location: &Location, out: Output) -> Result<(), CommandFailure> {
        let files = location.files()?;
        let mut daemon = connection::open_if_running(&files, out).await?;
        let path = path(&self.name);
        let body = match &mut daemon {
            Some(daemon) if self.connect => {
                let path = format!("{path}?wait={LONG_PATIENCE}");
                let deadline = AnswerDeadline::Upstream;
                daemon
                    .send(Method::POST, &path, "", deadline)
                    .await?
                    .to_vec()
            }
            Some(daemon) => daemon.get(&path).await?.to_vec(),
            None if self.connect => {
                let failure = CommandFailure::not_reachable("only a daemon connects servers");
                return Err(failure.next("start one with `mcpproxy serve`"));
            }
            None => {
                let body = output::as_json(&files.inspect(&self.name)?)?;
                out.note("the daemon is not running; this is what the files say");
                body
            }
        };
        out.answer(&path, &body, |inspection: Inspection| print(&inspection))
    }
}

fn path(name: &str) -> String {
    format!("/api/v1/servers/{}/inspect", daemon_client::encoded(name))
}

/// What is known of a server, from the daemon or the files.
pub(super) async fn inspection(
    files: &Management<OverFiles>,
    daemon: Option<&mut DaemonClient>,
    name: &str,
) -> Result<Inspection, CommandFailure> {
    match daemon {
        Some(daemon) => {
            let path = path(name);
            let body = daemon.get(&path).await?;
            Ok(daemon_client::read(&path, &body)?)
        }
        None => Ok(files.inspect(name)?),
    }
}

fn print(inspection: &Inspection) -> Result<(), CommandFailure> {
    let server = &inspection.server;
    let tools = if inspection.inspected {
        server.tools.unwrap_or_default().to_string()
    } else {
        "not known: nobody has listed them".to_owned()
    };
    let facts = [
        ("name", server.name.clone()),
        ("state", server.state.as_str().to_owned()),
        ("tools", tools),
        ("held", held(inspection).to_string()),
        ("seen", inspection.seen.clone()),
    ];
    output::facts(facts.map(|(name, value)| [name.to_owned(), value]))?;
    if let Some(entry) = &inspection.entry {
        output::json(&output::as_json(entry)?)?;
    }
    findings("its entry", &inspection.entry_findings)?;
    for thing in &inspection.things {
        print_thing(thing)?;
    }
    output::exactly("")?;
    output::exactly(&next_step(inspection))
}

fn held(inspection: &Inspection) -> usize {
    inspection.things.iter().filter(|thing| thing.held).count()
}

/// Shows a thing of which something is to be said. All that a server wrote is escaped.
pub(super) fn print_thing(thing: &InspectedThing) -> Result<(), CommandFailure> {
    if !thing.held && thing.findings.is_empty() {
        return Ok(());
    }
    let named = visible(&format!("{} {}", thing.kind, thing.name));
    output::exactly("")?;
    match &thing.explanation {
        Some(why) => output::exactly(&format!("{named}: held, {why}"))?,
        None => output::exactly(&format!("{named}: not held"))?,
    }
    if let Some(at) = &thing.approved_at {
        let by = thing.approved_by.as_deref().map_or_else(
            || "seen first on a trusted server".to_owned(),
            |by| format!("approved by {}", visible(by)),
        );
        output::exactly(&format!("  {by}, {at}"))?;
    }
    findings("", &thing.findings)?;
    let text = thing.diff.as_ref().or(thing.definition.as_ref());
    for line in text.into_iter().flat_map(|text| text.lines()) {
        output::exactly(&format!("  {}", visible(line)))?;
    }
    Ok(())
}

fn findings(of: &str, findings: &[ShownFinding]) -> Result<(), CommandFailure> {
    for finding in findings {
        let of = if of.is_empty() {
            String::new()
        } else {
            format!("{of}: ")
        };
        let line = format!(
            "  {of}{} {} at {}: {}",
            finding.severity, finding.rule, finding.place, finding.excerpt
        );
        output::exactly(&visible(&line))?;
    }
    Ok(())
}

fn next_step(inspection: &Inspection) -> String {
    let (name, seen) = (&inspection.server.name, &inspection.seen);
    if inspection.awaits_contact {
        return format!(
            "an agent wrote this entry, so the server was not contacted; `mcpproxy upstream inspect {name} --connect` reads what it lists, \
             and `mcpproxy upstream approve {name} --seen {seen}` trusts it as it is"
        );
    }
    if inspection.server.standing() == Standing::Quarantined {
        return format!("`mcpproxy upstream approve {name} --seen {seen}` approves exactly this");
    }
    if held(inspection) > 0 {
        return format!(
            "`mcpproxy upstream approve {name} NAME… --seen {seen}` approves some of it, --all in place of names everything"
        );
    }
    "nothing of it is held".to_owned()
}
