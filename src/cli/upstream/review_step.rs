//! The next step after a review of a server, with its command.

use super::super::escapes::visible;
use crate::{
    management::{InspectedThing, Inspection},
    text::names::{as_argument, shell_word},
    trust::approvals::ThingKind,
};

/// What a person can do after a review.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ReviewStep<'a> {
    /// The step that a lock file leaves.
    Locked,
    /// Connect to a server whose entry an agent wrote, or approve the entry.
    Contact,
    /// Connect to a quarantined server that has listed nothing yet.
    Connect,
    /// None before the quarantined server can be listed; this is why it could not be.
    Mend(&'a str),
    /// Approve what these arguments name; without any, a quarantined server.
    Approve(String),
    Nothing,
}

impl<'a> ReviewStep<'a> {
    pub(super) fn of(inspection: &'a Inspection) -> Self {
        let is_quarantined = inspection.server.awaits_approval();
        let has_held = inspection.count_held() > 0;
        match (&inspection.lock_file, &inspection.contact_error) {
            (Some(_), _) if is_quarantined || has_held => Self::Locked,
            (_, Some(why)) if is_quarantined => Self::Mend(why),
            _ if inspection.awaits_contact => Self::Contact,
            _ if is_quarantined && inspection.unseen => Self::Connect,
            _ if is_quarantined => Self::Approve(String::new()),
            _ if has_held => Self::Approve(held_arguments(&inspection.things)),
            _ => Self::Nothing,
        }
    }

    /// The sentence for the step.
    pub(super) fn in_words(&self, inspection: &Inspection) -> String {
        let (name, seen) = (&inspection.server.name, &inspection.seen);
        let approve = |what: &str| command("approve", name, what, &format!("--seen {seen}"));
        let connect = || command("inspect", name, "", "--connect");
        match self {
            Self::Locked => {
                let step = inspection.lock_step.as_deref().unwrap_or_default();
                let lift = if inspection.server.awaits_approval() {
                    "; the server's quarantine ends with `\"quarantined\": false` in its entry"
                } else {
                    ""
                };
                format!("nothing can be approved here, because a lock file decides: {step}{lift}")
            }
            Self::Contact => format!(
                "an agent wrote this entry, so the server was not contacted; `{}` lists its tools. To approve it without looking at them: `{}`",
                connect(),
                approve("--yes")
            ),
            Self::Connect if inspection.inspected => format!(
                "it lists nothing to review; `{}` reads its lists again. To approve it nevertheless: `{}`",
                connect(),
                approve("--yes")
            ),
            Self::Connect => format!("its tools are not known yet; `{}` lists them", connect()),
            Self::Mend(why) => format!("its tools are not known: {}", visible(why)),
            Self::Approve(what) if what == ALL => {
                format!("`{}` approves everything it lists", approve(ALL))
            }
            Self::Approve(what) => format!("`{}` approves exactly this", approve(what)),
            Self::Nothing if inspection.inspected => "nothing is held".to_owned(),
            Self::Nothing => match &inspection.server.next_step {
                Some(step) => format!("its tools are not known yet; next: {step}"),
                None => "its tools are not known yet".to_owned(),
            },
        }
    }
}

/// The argument that approves everything a server lists.
pub(super) const ALL: &str = "--all";

/// The names of what is held if these are few that a shell does not change, else [`ALL`].
fn held_arguments(things: &[InspectedThing]) -> String {
    /// Names in a hint.
    const NAMED: usize = 3;

    let held = things.iter().filter(|thing| thing.held);
    let arguments: Option<Vec<String>> = held.map(argument_of).collect();
    let few = arguments.filter(|arguments| arguments.len() <= NAMED);
    few.map_or_else(|| ALL.to_owned(), |arguments| arguments.join(" "))
}

/// The argument that names a thing; nothing for names that a terminal may not show as they are.
pub(super) fn argument_of(thing: &InspectedThing) -> Option<String> {
    if thing.kind == ThingKind::Instructions {
        return Some("--instructions".to_owned());
    }
    let name = &*thing.name;
    let is_shown = |c: char| c.is_ascii_graphic() && c != '`';
    let fits = !name.is_empty() && !name.starts_with('-') && name.chars().all(is_shown);
    fits.then(|| shell_word(name))
}

/// The command that approves what is held of a server that is not quarantined.
pub(super) fn approve_held(inspection: &Inspection, options: &str) -> String {
    let what = held_arguments(&inspection.things);
    command("approve", &inspection.server.name, &what, options)
}

/// A command about a server. A name such as `--help` goes behind the options.
pub(super) fn command(verb: &str, name: &str, what: &str, options: &str) -> String {
    let server = &*as_argument(name);
    let parts = if server == name {
        [server, what, options]
    } else if what.starts_with("--") {
        [what, options, server]
    } else {
        [options, server, what]
    };
    let parts = parts.iter().filter(|part| !part.is_empty());
    let parts: String = parts.flat_map(|part| [" ", part]).collect();
    format!("mcpproxy upstream {verb}{parts}")
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
        assert_eq!(
            command("approve", "up", "echo", ""),
            "mcpproxy upstream approve up echo"
        );
    }

    #[test]
    fn a_hint_can_be_pasted() {
        let check = |things: &[InspectedThing], expected: &str| {
            assert_eq!(held_arguments(things), expected);
        };
        for (names, expected) in [
            (&["one"][..], "one"),
            (&["one", "two", "file:///a.txt"], "one two file:///a.txt"),
            (&["a", "b", "c", "d"], "--all"),
            (&["a; rm -rf /"], "--all"),
            (&["--all-of-it"], "--all"),
            (&[""], "--all"),
            (&["page://{n}", "b"], "'page://{n}' b"),
            (&["it's"], r"'it'\''s'"),
            (&["~"], "'~'"),
        ] {
            let things: Vec<_> = names.iter().map(|name| thing(name)).collect();
            check(&things, expected);
        }
        let itself = InspectedThing {
            kind: ThingKind::Instructions,
            ..thing("")
        };
        check(&[thing("a"), itself], "a --instructions");
    }
}
