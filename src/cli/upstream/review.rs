//! Prints the review of a server, for `upstream inspect` and `upstream approve`.

use super::{
    super::{
        escapes::visible,
        failure::Done,
        output::{self, count},
    },
    list::state,
    rest_of_definition::rest_of_definition,
};
use crate::{
    management::{EntryReview, InspectedThing, Inspection, ShownFinding},
    text::MASK,
    trust::{
        approvals::ThingKind,
        scanner::{self, Severity},
    },
};

/// Prints the state of a server, its entry, and the findings in the entry.
pub(super) fn print_server(inspection: &Inspection) -> Done {
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
        ("held", inspection.count_held().to_string()),
        ("fingerprint", inspection.seen.clone()),
    ];
    // Of a quarantined server that was never listed, the last line has it.
    let is_mute = inspection.inspected == server.awaits_approval();
    let is_mute = is_mute && inspection.contact_error.is_none();
    let error = server.last_error.clone();
    let error = error.filter(|_| server.unusable || is_mute);
    output::print_facts(facts.into_iter().chain(error.map(|error| ("error", error))))?;
    if let Some(entry) = &inspection.entry {
        output::print_value(entry)?;
        print_entry_review(inspection)?;
    }
    print_findings("its entry ", &inspection.entry_findings)
}

/// Prints an agent's changes to an entry, and which of them quarantine the server.
fn print_entry_review(inspection: &Inspection) -> Done {
    let is_quarantined = inspection.server.awaits_approval();
    let Some(review) = &inspection.entry_review else {
        if is_quarantined && inspection.awaits_contact {
            output::print_line(
                "an agent wrote this entry, and its former state is not known; secrets are masked: read them in the configuration file",
            )?;
        }
        return Ok(());
    };
    let is_masked = if review.is_new {
        output::print_line("an agent added this server; its whole entry is new")?;
        let entry = inspection.entry.as_ref();
        entry.is_some_and(|entry| entry.to_string().contains(MASK))
    } else {
        print_changes(review)?;
        let mut now = review.changes.iter().filter_map(|one| one.is.as_deref());
        now.any(|now| now.contains(MASK))
    };
    if is_masked {
        output::print_line(
            "values that look like secrets are masked: read them in the configuration file",
        )?;
    }
    Ok(())
}

fn print_changes(review: &EntryReview) -> Done {
    output::print_line(&format!(
        "an agent changed this entry; because of {}, the server is quarantined until you approve it",
        visible(&review.held_for.join(", "))
    ))?;
    if !review.changes.is_empty() {
        output::print_line("trusted (-) and now (+):")?;
    }
    for change in &review.changes {
        let held = if change.holds {
            " (quarantined for this)"
        } else {
            ""
        };
        print_foreign("  ", &format!("{}{held}", change.place))?;
        let is_redacted_twice = change.was == change.is;
        print_foreign("    - ", change.was.as_deref().unwrap_or_default())?;
        print_foreign("    + ", change.is.as_deref().unwrap_or_default())?;
        if is_redacted_twice {
            output::print_line("    (a different value, also masked)")?;
        }
    }
    Ok(())
}

/// Prints the things to review: all of a quarantined server, else those that are held, have findings or are unreadable.
pub(super) fn print_things(
    inspection: &Inspection,
    is_meant: impl Fn(&InspectedThing) -> bool,
) -> Done {
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

/// `2 tools, 1 prompt, 1 looks dangerous; its entry has minor findings`.
pub(super) fn summarize(inspection: &Inspection) -> String {
    let things = &inspection.things;
    let listed = || things.iter().filter(|thing| !thing.is_unreadable());
    let number = |kind: ThingKind| listed().filter(|thing| thing.kind == kind).count();
    let kinds = [
        (ThingKind::Prompt, "prompt"),
        (ThingKind::Resource, "resource"),
        (ThingKind::Template, "resource template"),
    ];
    let mut offered = count(number(ThingKind::Tool), "tool");
    for (kind, word) in kinds {
        if let number @ 1.. = number(kind) {
            offered.extend([", ", &count(number, word)]);
        }
    }
    if number(ThingKind::Instructions) > 0 {
        offered.push_str(", instructions");
    }
    let found = count_findings(things.iter().map(|thing| &thing.findings));
    let entry = match &inspection.entry_findings[..] {
        [] => "",
        all if looks_dangerous(all) => "; its entry looks dangerous",
        _ => "; its entry has minor findings",
    };
    let found = found.as_deref().unwrap_or("no findings");
    format!("{offered}, {found}{entry}")
}

/// `1 looks dangerous, 2 have minor findings`, of things with these findings; nothing if they have none.
fn count_findings<'f>(all: impl Iterator<Item = &'f Vec<ShownFinding>>) -> Option<String> {
    let all = all.filter(|findings| !findings.is_empty());
    let (dangerous, remarks): (Vec<_>, Vec<_>) = all.partition(|all| looks_dangerous(all));
    let words = |number: usize, one: &str, several: &str| match number {
        0 => None,
        1 => Some(format!("1 {one}")),
        more => Some(format!("{more} {several}")),
    };
    let dangerous = words(dangerous.len(), "looks dangerous", "look dangerous");
    let remarks = words(remarks.len(), "has a minor finding", "have minor findings");
    let found: Vec<String> = [dangerous, remarks].into_iter().flatten().collect();
    (!found.is_empty()).then(|| found.join(", "))
}

/// Whether the scanner holds a thing with these findings.
pub(super) fn looks_dangerous(findings: &[ShownFinding]) -> bool {
    let mut severities = findings.iter().map(|finding| finding.severity);
    severities.any(|severity| severity == Severity::Hold)
}

/// Prints a tool, prompt, resource, template or the instructions: the difference to the approved definition, or the whole definition if none
/// was approved or the server is quarantined.
fn print_thing(thing: &InspectedThing, is_quarantined: bool) -> Done {
    // A server's instructions have no name.
    let mut head = visible(format!("{} {}", thing.kind.as_str(), thing.name).trim_end());
    if let Some(call_with) = thing.call_with {
        head.extend([" (", call_with.as_str(), ")"]);
    }
    head.push_str(match (thing.held, looks_dangerous(&thing.findings)) {
        _ if thing.is_unreadable() => ": ",
        (false, true) => ": looks dangerous",
        (false, false) => "",
        (true, _) => ": held, ",
    });
    head.push_str(thing.explanation.as_deref().unwrap_or_default());
    output::print_line("")?;
    output::print_line(&head)?;
    if let Some(at) = &thing.approved_at {
        let by = thing.approved_by.as_deref().map_or_else(
            || "accepted because the server is trusted".to_owned(),
            |by| format!("approved by {}", visible(by)),
        );
        output::print_line(&format!("  {by}, {at}"))?;
    }
    if let Some(since) = &thing.changed_since {
        output::print_line(&format!("  minor: changed since first seen, {since}"))?;
    }
    print_findings("", &thing.findings)?;
    if let Some(matters) = &thing.what_matters {
        print_foreign("  what matters: ", &matters.sentence)?;
    }
    if let Some(diff) = &thing.diff {
        print_foreign("  ", diff)?;
        if !is_quarantined {
            return Ok(());
        }
        output::print_line("  the whole current definition:")?;
    }
    print_definition(thing)
}

/// Prints a definition: description and parameters as text, and the rest as JSON.
fn print_definition(thing: &InspectedThing) -> Done {
    print_foreign("  ", thing.description.as_deref().unwrap_or_default())?;
    for parameter in &thing.parameters {
        let needed = if parameter.required {
            "required"
        } else {
            "optional"
        };
        let kind = Some(&*parameter.kind).filter(|kind| !kind.is_empty());
        let kind = kind.unwrap_or("any");
        let line = format!("    {} ({kind}, {needed})", parameter.name);
        output::print_line(visible(&line).trim_end())?;
        print_foreign("      ", &parameter.description)?;
    }
    if thing.kind == ThingKind::Instructions && thing.description.is_some() {
        return Ok(());
    }
    match rest_of_definition(thing) {
        Some(rest) => print_foreign("  also: ", &rest),
        None => Ok(()),
    }
}

/// Prints text of a server, escaped, with `before` in front of each line.
fn print_foreign(before: &str, text: &str) -> Done {
    let mut lines = text.lines();
    lines.try_for_each(|line| output::print_line(&format!("{before}{}", visible(line))))
}

fn print_findings(of: &str, findings: &[ShownFinding]) -> Done {
    let mut former = "";
    for finding in findings {
        let gravity = match finding.severity {
            Severity::Hold => "dangerous",
            Severity::Remark => "minor",
        };
        let place = match &*finding.place_in_words {
            "" => String::new(),
            place => format!(", in {place}"),
        };
        let excerpt = scanner::with_brackets(&finding.excerpt);
        let taken_for = finding.like.as_ref();
        let taken_for = taken_for.map_or_else(String::new, |name| format!(", resembles {name}"));
        let meaning = &finding.meaning;
        let line = format!("  {gravity}: {of}{meaning}{place}: {excerpt}{taken_for}");
        output::print_line(&visible(&line))?;
        if finding.why != former {
            print_foreign("    ", &finding.why)?;
            former = &finding.why;
        }
    }
    Ok(())
}
