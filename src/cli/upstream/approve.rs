//! `mcpproxy upstream approve`: approves a quarantined server, or held definitions of a server.

use clap::Args;
use http::Method;
use serde::Serialize;

use super::{
    super::{CommandFailure, Done, OrUndone, Output, connection, output},
    name_some,
    review::{looks_dangerous, print_server, print_things},
    review_step::{ALL, approve_held, command},
};
use crate::{
    catalog::SEEN_LENGTH,
    failure::{ErrorCode, Failure, NextStep},
    management::{ApprovalBody, Files, InspectedThing, Inspection, ServerChange, ShownFinding},
    text::names::shell_word,
    trust::approvals::ThingKind,
};

/// Approve a quarantined server, or held tools
///
/// With --seen, the command approves only the definitions that `upstream inspect` showed, and asks nothing. Without --seen, it shows the
/// current definitions and approves them. Dangerous definitions then need your yes or --yes; otherwise nothing is approved (exit code 4).
/// Servers that have listed nothing need it in either case.
#[derive(Debug, Args)]
pub(in crate::cli) struct ApproveServer {
    /// The server's name, as `upstream list` shows it
    name: String,
    /// Tools, prompts or URIs; none for a quarantined server
    #[arg(value_name = "TOOL")]
    things: Vec<String>,
    /// Approve the server's instructions
    #[arg(long)]
    instructions: bool,
    /// Approve everything that the server lists now
    #[arg(long, conflicts_with_all = ["things", "instructions"])]
    all: bool,
    /// The fingerprint that `upstream inspect` printed
    #[arg(long, value_name = "SEEN", value_parser = fingerprint)]
    seen: Option<String>,
    /// Approve even dangerous definitions and servers never listed
    #[arg(long)]
    yes: bool,
}

/// The report for programs.
#[derive(Serialize)]
struct Approved {
    #[serde(flatten)]
    change: ServerChange,
    /// What was approved, as `inspect` shows it; absent with --seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    inspection: Option<Inspection>,
}

/// Reads a fingerprint.
fn fingerprint(text: &str) -> Result<String, &'static str> {
    if text.len() == SEEN_LENGTH && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(text.to_owned());
    }
    Err("write the 32 digits that `mcpproxy upstream inspect SERVER` prints")
}

impl ApproveServer {
    pub(super) async fn run(self, files: &Files, out: Output) -> Done {
        let mut daemon = connection::open_or_files(files, out).await?;
        let path = |rest| connection::server_path(&self.name, rest);
        let shown = daemon.fetch(&path("/inspect")).await;
        let shown: Inspection = shown.or_undone("nothing was approved")?;
        check_unlocked(&shown)?;
        let is_whole = shown.server.awaits_approval() || shown.awaits_contact;
        if self.means_everything() && !self.all && !is_whole {
            return self.end_without_names(shown, out);
        }
        if self.seen.is_none() {
            self.show(&shown, out)?;
        }
        let approved = format!("{}{}", self.extent(&shown), self.remarks(&shown));
        let is_exactly_that = self.seen.as_ref().is_none_or(|seen| *seen == shown.seen);
        let was_shown = self.seen.is_none();
        let has_agreed = self.yes || was_shown && out.is_interactive();
        let seen = self.seen.unwrap_or_else(|| shown.seen.clone());
        let body = ApprovalBody {
            seen,
            names: self.things,
            instructions: self.instructions,
            all: self.all,
            unseen: has_agreed && shown.unseen,
            by: None,
        };
        let (path, body) = (path("/approve"), output::as_json(&body)?);
        let change: ServerChange = daemon.ask_for(Method::POST, &path, body).await?;
        if out.is_json() {
            let inspection = was_shown.then_some(shown);
            return output::print_value(&Approved { change, inspection });
        }
        let left = match change.server.held.unwrap_or_default() {
            0 => String::new(),
            held => format!(": {held} more held"),
        };
        let approved = Some(approved).filter(|_| is_exactly_that);
        let approved = approved.unwrap_or_default();
        out.done(&format!("approved {}{approved}{left}", self.name));
        Ok(())
    }

    /// Ends before anything is shown, because a server that is not quarantined is not approved as a whole.
    fn end_without_names(&self, shown: Inspection, out: Output) -> Done {
        let held = named(shown.things.iter().filter(|thing| thing.held));
        if !held.is_empty() {
            let why = format!("no tool was named; {} holds {held}", self.name);
            let seen = self.seen.as_ref();
            let seen = seen.map_or_else(String::new, |seen| format!("--seen {seen}"));
            let failure = CommandFailure::usage(why).undone("nothing was approved");
            return Err(failure.next(format!("`{}`", approve_held(&shown, &seen))));
        }
        if out.is_json() {
            let change = ServerChange::of(shown.server, &[]);
            return output::print_value(&change);
        }
        let why = match &shown.server.last_error {
            _ if shown.inspected => "nothing is held".to_owned(),
            Some(error) => format!("its tools are not known: {error}"),
            None => "its tools are not known yet".to_owned(),
        };
        out.note(&format!("nothing to approve for {}: {why}", self.name));
        if !shown.inspected {
            let show = || NextStep::ShowServer.at_terminal(&self.name);
            out.next(&shown.server.next_step.unwrap_or_else(show));
        }
        Ok(())
    }

    /// Shows what is to be approved. If it looks dangerous or lists nothing, the person at the terminal has to agree.
    fn show(&self, shown: &Inspection, out: Output) -> Done {
        if !out.is_json() {
            print_server(shown)?;
            print_things(shown, |thing| self.means(thing))?;
        }
        let things = shown.things.iter().filter(|thing| self.means(thing));
        let dangerous = things.filter(|thing| looks_dangerous(&thing.findings));
        let dangerous = dangerous.count();
        let is_entry_dangerous = self.means_everything() && looks_dangerous(&shown.entry_findings);
        let is_unseen = self.means_everything() && shown.unseen;
        let name = &self.name;
        let definitions = output::count(dangerous, "definition");
        let look = if dangerous == 1 { "looks" } else { "look" };
        let reasons = [
            is_entry_dangerous.then(|| format!("the entry of {name:?} looks dangerous")),
            (dangerous > 0).then(|| format!("{definitions} of {name:?} {look} dangerous")),
            is_unseen.then(|| format!("the server {name:?} has listed nothing to review")),
        ];
        let reasons: Vec<String> = reasons.into_iter().flatten().collect();
        if self.yes || reasons.is_empty() {
            return Ok(());
        }
        let what = reasons.join(", and ");
        if out.asks(&format!("{what}; approve anyway?")) {
            return Ok(());
        }
        if out.is_interactive() {
            out.done("nothing was approved");
            return Err(CommandFailure::refused("").shown());
        }
        if is_unseen {
            // It is refused, with the step that lists its tools.
            return Ok(());
        }
        let things = self.things.iter().map(|thing| shell_word(thing));
        let instructions = self.instructions.then(|| "--instructions".to_owned());
        let all = self.all.then(|| ALL.to_owned());
        let extent: Vec<String> = things.chain(instructions).chain(all).collect();
        let seen = format!("--seen {}", shown.seen);
        let approve = command("approve", name, &extent.join(" "), &seen);
        let step = format!("if you accept that: `{approve}`");
        Err(CommandFailure::refused(format!("nothing was approved: {what}")).next(step))
    }

    /// `, 1 with minor findings`, for the note.
    fn remarks(&self, shown: &Inspection) -> String {
        let is_minor = |all: &[ShownFinding]| !all.is_empty() && !looks_dangerous(all);
        let things = shown.things.iter().filter(|thing| self.means(thing));
        let remarks = things.filter(|thing| is_minor(&thing.findings));
        let has_entry = self.means_everything() && is_minor(&shown.entry_findings);
        match (remarks.count(), has_entry) {
            (0, false) => String::new(),
            (0, true) => ", its entry with minor findings".to_owned(),
            (some, false) => format!(", {some} with minor findings"),
            (some, true) => format!(", {some} and its entry with minor findings"),
        }
    }

    /// Whether the arguments name no part of the server.
    fn means_everything(&self) -> bool {
        self.things.is_empty() && !self.instructions
    }

    /// Whether a thing is to be approved.
    fn means(&self, thing: &InspectedThing) -> bool {
        let is_instructions = thing.kind == ThingKind::Instructions;
        self.means_everything()
            || self.instructions && is_instructions
            || self.things.contains(&thing.name)
    }

    /// ` (add, sub)`, for the note.
    fn extent(&self, shown: &Inspection) -> String {
        let things = shown.things.iter();
        let things = things.filter(|thing| self.means(thing) && !thing.is_unreadable());
        match named(things) {
            none if none.is_empty() => none,
            names => format!(" ({names})"),
        }
    }
}

/// The first names of these: `add, sub`.
fn named<'a>(things: impl Iterator<Item = &'a InspectedThing>) -> String {
    let names = things.map(|thing| match &*thing.name {
        // A server's instructions have no name.
        "" => thing.kind.as_str().to_owned(),
        name => name.to_owned(),
    });
    name_some(&names.collect::<Vec<String>>())
}

/// Fails if a lock file decides what is approved, before anything is shown.
fn check_unlocked(shown: &Inspection) -> Done {
    let (Some(file), Some(step)) = (&shown.lock_file, &shown.lock_step) else {
        return Ok(());
    };
    let file = file.display();
    let error = format!("nothing was approved: the lock file {file} is in force");
    Err(Failure::new(ErrorCode::ToolHeld, error, step.as_str()).into())
}
