//! `mcpproxy upstream inspect`: what a person has to know before trusting a server.

use std::path::Path;

use clap::Args;
use http::Method;

use super::{
    super::{
        Location, connection,
        escapes::visible,
        failure::CommandFailure,
        outcome::LONG_CONNECT_TIMEOUT,
        output::{self, Output, count},
    },
    list::state,
    rest_of_definition::rest_of_definition,
};
use crate::{
    daemon_client::{self, AnswerDeadline},
    gate::Standing,
    management::{InspectedThing, Inspection, ShownFinding},
    text::names::as_argument,
};

/// Review a server and its held definitions
///
/// Contacts no server, except with --connect.
#[derive(Debug, Args)]
pub(in crate::cli) struct InspectServer {
    /// The server's name, as `upstream list` shows it
    name: String,
    /// Connect to a quarantined server to list its tools; call none
    #[arg(long)]
    connect: bool,
}

impl InspectServer {
    pub(super) async fn run(self, location: &Location, out: Output) -> Result<(), CommandFailure> {
        let files = location.files()?;
        let path = format!(
            "/api/v1/servers/{}/inspect",
            daemon_client::encoded(&self.name)
        );
        let body = if self.connect {
            let mut daemon = connection::open_to_act(&files, out, "nothing was inspected").await?;
            let path = format!("{path}?wait={LONG_CONNECT_TIMEOUT}");
            let deadline = AnswerDeadline::Upstream;
            daemon.send(Method::POST, &path, "", deadline).await?
        } else {
            let mut daemon = connection::open_to_show(&files, out).await?;
            daemon.get(&path).await?
        };
        out.answer(&path, &body, |inspection: Inspection| print(&inspection))?;
        let inspection: Option<Inspection> = serde_json::from_slice(&body).ok();
        let opened = inspection.filter(|_| self.connect);
        if let Some(Inspection { server, .. }) = &opened
            && server.standing() != Standing::Quarantined
        {
            let name = as_argument(&server.name);
            out.note("--connect is only for quarantined servers");
            out.next(&format!("`mcpproxy upstream restart {name}` connects it"));
        }
        opened.map_or(Ok(()), |inspection| contacted(&inspection))
    }
}

/// That a contact came to nothing is a failure, also where everything that is known was shown.
fn contacted(inspection: &Inspection) -> Result<(), CommandFailure> {
    let Some(why) = &inspection.contact_error else {
        return Ok(());
    };
    let name = &inspection.server.name;
    if !inspection.awaits_contact {
        let row = &inspection.server;
        let why = row.last_error.as_deref().unwrap_or(why);
        let what = format!("the server {name:?} could not be listed: {}", visible(why));
        let step = row.next_step.clone().unwrap_or_default();
        return Err(CommandFailure::failed(what).next(step));
    }
    let what = format!(
        "the server {name:?} could not be listed; its entry stays as the agent wrote it: {}",
        visible(why)
    );
    Err(CommandFailure::failed(what).next(format!(
        "correct the entry and try again, or `mcpproxy upstream remove {}`",
        as_argument(name)
    )))
}

fn print(inspection: &Inspection) -> Result<(), CommandFailure> {
    print_server(inspection)?;
    print_things(inspection, |_| true)?;
    output::exactly("")?;
    if inspection.inspected {
        output::exactly(&summary(inspection))?;
    }
    output::exactly(&output::as_typed(&next_step(inspection)))
}

/// Shows how the server is, its entry, and what looks odd in that.
pub(super) fn print_server(inspection: &Inspection) -> Result<(), CommandFailure> {
    let server = &inspection.server;
    let tools = if inspection.inspected {
        server.tools.unwrap_or_default().to_string()
    } else {
        "not known yet".to_owned()
    };
    let facts = [
        ("name", server.name.clone()),
        ("state", state(server)),
        ("tools", tools),
        ("held", held(inspection).to_string()),
        ("fingerprint", inspection.seen.clone()),
    ];
    let error = server.last_error.clone().filter(|_| server.unusable);
    output::facts(facts.into_iter().chain(error.map(|error| ("error", error))))?;
    if let Some(entry) = &inspection.entry {
        output::json(&output::as_json(entry)?)?;
        print_entry_review(inspection)?;
    }
    findings("its entry ", &inspection.entry_findings)
}

/// Shows what agents changed of an entry, and what of it holds the server.
fn print_entry_review(inspection: &Inspection) -> Result<(), CommandFailure> {
    let is_quarantined = inspection.server.awaits_approval();
    let Some(review) = &inspection.entry_review else {
        if is_quarantined && inspection.awaits_contact {
            output::exactly(
                "an agent wrote this entry; its former state is not known, and secrets are masked here: read it in the file",
            )?;
        }
        return Ok(());
    };
    if review.is_new {
        return output::exactly("an agent added this server; its whole entry is new");
    }
    output::exactly(&format!(
        "an agent changed this entry; the server is quarantined because of {} until you approve it",
        visible(&review.held_for.join(", "))
    ))?;
    if !review.changes.is_empty() {
        output::exactly("trusted (-) and now (+):")?;
    }
    for change in &review.changes {
        let held = if change.holds {
            " (quarantined for this)"
        } else {
            ""
        };
        foreign("  ", &format!("{}{held}", change.place))?;
        let is_redacted_twice = change.was == change.is;
        foreign("    - ", change.was.as_deref().unwrap_or_default())?;
        foreign("    + ", change.is.as_deref().unwrap_or_default())?;
        if is_redacted_twice {
            output::exactly("    (a different value, also masked)")?;
        }
    }
    Ok(())
}

/// Shows what has to be decided: of a quarantined server everything, of others what is held or looks dangerous.
pub(super) fn print_things(
    inspection: &Inspection,
    is_meant: impl Fn(&InspectedThing) -> bool,
) -> Result<(), CommandFailure> {
    let is_quarantined = inspection.server.awaits_approval();
    inspection
        .things
        .iter()
        .filter(|thing| {
            let is_odd = thing.changed_since.is_some()
                || !thing.findings.is_empty()
                || thing.is_unreadable();
            is_quarantined || thing.held || is_odd
        })
        .filter(|thing| is_meant(thing))
        .try_for_each(|thing| print_thing(thing, is_quarantined))
}

/// `2 tools, 1 prompt, 1 looks dangerous`.
fn summary(inspection: &Inspection) -> String {
    let things = &inspection.things;
    let listed = || things.iter().filter(|thing| !thing.is_unreadable());
    let number = |kind: &str| listed().filter(|thing| thing.kind == kind).count();
    let kinds = [
        ("prompt", "prompt"),
        ("resource", "resource"),
        ("template", "resource template"),
    ];
    let mut offered = count(number("tool"), "tool");
    for (kind, word) in kinds {
        if let number @ 1.. = number(kind) {
            offered.push_str(", ");
            offered.push_str(&count(number, word));
        }
    }
    if number("instructions") > 0 {
        offered.push_str(", instructions");
    }
    let of_things = things.iter().map(|thing| &thing.findings);
    format!(
        "{offered}, {}",
        found(of_things.chain([&inspection.entry_findings]))
    )
}

/// `1 looks dangerous, 2 have remarks`, of things with these findings.
pub(super) fn found<'f>(all: impl Iterator<Item = &'f Vec<ShownFinding>>) -> String {
    let all = all.filter(|findings| !findings.is_empty());
    let (dangerous, remarks): (Vec<_>, Vec<_>) = all.partition(|all| looks_dangerous(all));
    let looks = match dangerous.len() {
        0 => None,
        1 => Some("1 looks dangerous".to_owned()),
        several => Some(format!("{several} look dangerous")),
    };
    let has = match remarks.len() {
        0 => None,
        1 => Some("1 has a minor finding".to_owned()),
        several => Some(format!("{several} have minor findings")),
    };
    let found: Vec<String> = looks.into_iter().chain(has).collect();
    if found.is_empty() {
        return "no findings".to_owned();
    }
    found.join(", ")
}

/// Whether the scanner would hold it.
pub(super) fn looks_dangerous(findings: &[ShownFinding]) -> bool {
    findings.iter().any(|finding| finding.severity == "hold")
}

fn held(inspection: &Inspection) -> usize {
    inspection.things.iter().filter(|thing| thing.held).count()
}

/// Shows a thing, all of it if nobody ever approved it or the server is held. All that a server wrote is escaped.
fn print_thing(thing: &InspectedThing, is_quarantined: bool) -> Result<(), CommandFailure> {
    // A server's instructions have no name.
    let mut head = visible(format!("{} {}", thing.kind, thing.name).trim_end());
    if let Some(call_with) = &thing.call_with {
        let added = format!(" ({call_with})");
        head.push_str(&added);
    }
    head.push_str(match (thing.held, looks_dangerous(&thing.findings)) {
        _ if thing.is_unreadable() => ": ",
        (false, true) => ": looks dangerous",
        (false, false) => "",
        (true, _) => ": held, ",
    });
    head.push_str(thing.explanation.as_deref().unwrap_or_default());
    output::exactly("")?;
    output::exactly(&head)?;
    if let Some(at) = &thing.approved_at {
        let by = thing.approved_by.as_deref().map_or_else(
            || "accepted because the server is trusted".to_owned(),
            |by| format!("approved by {}", visible(by)),
        );
        output::exactly(&format!("  {by}, {at}"))?;
    }
    if let Some(since) = &thing.changed_since {
        output::exactly(&format!("  minor: changed since {since}"))?;
    }
    findings("", &thing.findings)?;
    if let Some(matters) = &thing.what_matters {
        foreign("  what matters: ", &matters.sentence)?;
    }
    if let Some(diff) = &thing.diff {
        foreign("  ", diff)?;
        if !is_quarantined {
            return Ok(());
        }
        output::exactly("  the whole current definition:")?;
    }
    print_definition(thing)
}

/// What a definition says, in words and then whatever else there is of it.
fn print_definition(thing: &InspectedThing) -> Result<(), CommandFailure> {
    foreign("  ", thing.description.as_deref().unwrap_or_default())?;
    for parameter in &thing.parameters {
        let needed = if parameter.required {
            "required"
        } else {
            "optional"
        };
        let kind = if parameter.kind.is_empty() {
            "any"
        } else {
            &parameter.kind
        };
        let line = format!("    {} ({kind}, {needed})", parameter.name);
        output::exactly(visible(&line).trim_end())?;
        foreign("      ", &parameter.description)?;
    }
    if thing.kind == "instructions" && thing.description.is_some() {
        return Ok(());
    }
    match rest_of_definition(thing) {
        Some(rest) => foreign("  also: ", &rest),
        None => Ok(()),
    }
}

/// A stranger's text, line by line.
fn foreign(before: &str, text: &str) -> Result<(), CommandFailure> {
    let mut lines = text.lines();
    lines.try_for_each(|line| output::exactly(&format!("{before}{}", visible(line))))
}

fn findings(of: &str, findings: &[ShownFinding]) -> Result<(), CommandFailure> {
    for finding in findings {
        let gravity = if finding.severity == "hold" {
            "dangerous"
        } else {
            "minor"
        };
        let place = match &*finding.place_in_words {
            "" => String::new(),
            place => format!(", in {place}"),
        };
        // An excerpt has these two as numbers for models; on a terminal they are harmless.
        let excerpt = finding
            .excerpt
            .replace("\\u{3C}", "<")
            .replace("\\u{3E}", ">");
        let taken_for = finding.like.as_ref();
        let taken_for = taken_for.map_or_else(String::new, |name| format!(", resembles {name}"));
        let line = format!(
            "  {gravity}: {of}{}{place}: {excerpt}{taken_for}",
            finding.meaning
        );
        output::exactly(&visible(&line))?;
    }
    Ok(())
}

fn next_step(inspection: &Inspection) -> String {
    let (name, seen) = (&inspection.server.name, &inspection.seen);
    let approve = |what: &str| command("approve", name, what, &format!("--seen {seen}"));
    let is_quarantined = inspection.server.awaits_approval();
    if let Some(file) = &inspection.lock_file
        && (is_quarantined || held(inspection) > 0)
    {
        return locked_step(inspection, file, is_quarantined);
    }
    if inspection.awaits_contact {
        let contact = match &inspection.contact_error {
            None => "so the server was not contacted; ",
            Some(_) => "and the server could not be listed: correct the entry, then ",
        };
        return format!(
            "an agent wrote this entry, {contact}`{}` lists its tools. To approve it without looking at them: `{}`",
            command("inspect", name, "", "--connect"),
            approve("")
        );
    }
    if is_quarantined && !inspection.inspected {
        let connect = command("inspect", name, "", "--connect");
        return match &inspection.contact_error {
            Some(why) => format!("its tools are not known: {}", visible(why)),
            None => format!("its tools are not known yet; `{connect}` lists them"),
        };
    }
    if is_quarantined {
        return format!("`{}` approves exactly this", approve(""));
    }
    if held(inspection) > 0 {
        let what = what_to_approve(&inspection.things);
        return format!(
            "`{}` approves {}",
            approve(&what),
            if what == "--all" {
                "everything it lists"
            } else {
                "exactly this"
            }
        );
    }
    "nothing is held".to_owned()
}

/// A command about a server, which can be pasted whatever the server is called.
fn command(verb: &str, name: &str, what: &str, options: &str) -> String {
    let what = if what.is_empty() {
        String::new()
    } else {
        format!(" {what}")
    };
    match as_argument(name) {
        argument if argument == name => format!("mcpproxy upstream {verb} {name}{what} {options}"),
        argument if what.starts_with(" --") => {
            format!("mcpproxy upstream {verb}{what} {options} {argument}")
        }
        argument => format!("mcpproxy upstream {verb} {options} {argument}{what}"),
    }
}

/// What a person does where nothing can be approved.
fn locked_step(inspection: &Inspection, file: &Path, is_quarantined: bool) -> String {
    let file = file.display();
    let lift = if is_quarantined {
        "; its quarantine ends with `\"quarantined\": false` in its entry"
    } else {
        ""
    };
    let step = inspection.lock_step.as_deref().unwrap_or_default();
    format!("nothing can be approved here, because the lock file {file} decides: {step}{lift}")
}

/// What of it is named to approve what is held: few names that a shell leaves alone, or everything.
fn what_to_approve(things: &[InspectedThing]) -> String {
    /// Names in a hint.
    const NAMED: usize = 3;

    let argument = |thing: &InspectedThing| {
        let name = &*thing.name;
        let is = |more: &str| {
            let fits =
                |c: char| c.is_ascii_alphanumeric() || "._-/:".contains(c) || more.contains(c);
            !name.is_empty() && !name.starts_with('-') && name.chars().all(fits)
        };
        if thing.kind == "instructions" {
            Some("--instructions".to_owned())
        } else if is("") {
            Some(name.to_owned())
        } else {
            // A shell takes these for itself, unless they are quoted.
            is("{}+?&=#*,;@~").then(|| format!("'{name}'"))
        }
    };
    let held = things.iter().filter(|thing| thing.held);
    let arguments: Option<Vec<String>> = held.map(argument).collect();
    match arguments {
        Some(arguments) if arguments.len() <= NAMED => arguments.join(" "),
        _ => "--all".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thing(name: &str) -> InspectedThing {
        let thing =
            serde_json::json!({ "kind": "tool", "name": name, "held": true, "findings": [] });
        serde_json::from_value(thing).expect("a thing")
    }

    #[test]
    fn a_hint_can_be_pasted_whatever_the_server_is_called() {
        let check = |name: &str, what: &str, expected: &str| {
            let line = command("approve", name, what, "--seen 1");
            assert_eq!(line, format!("mcpproxy upstream approve {expected}"));
        };
        check("up", "", "up --seen 1");
        check("up", "echo", "up echo --seen 1");
        check("--help", "", "--seen 1 -- --help");
        check("-o", "echo", "--seen 1 -- -o echo");
        check("-o", "--all", "--all --seen 1 -- -o");
    }

    #[test]
    fn a_hint_can_be_pasted() {
        for (names, expected) in [
            (&["one"][..], "one"),
            (&["one", "two", "file:///a.txt"], "one two file:///a.txt"),
            (&["a", "b", "c", "d"], "--all"),
            (&["a; rm -rf /"], "--all"),
            (&["--all-of-it"], "--all"),
            (&[""], "--all"),
            (&["page://{n}", "b"], "'page://{n}' b"),
            (&["it's"], "--all"),
        ] {
            let things: Vec<_> = names.iter().map(|name| thing(name)).collect();
            assert_eq!(what_to_approve(&things), expected);
        }
        let itself = InspectedThing {
            kind: "instructions".to_owned(),
            ..thing("")
        };
        assert_eq!(what_to_approve(&[thing("a"), itself]), "a --instructions");
    }
}
