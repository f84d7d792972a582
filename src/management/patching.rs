//! Patches of a server's entry, for people and for agents. A patch is applied to the text of the file that it replaces, so that of several
//! patches at once none is lost.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{
    Backing, Management,
    agent_rules::{AgentVerdict, judge, judge_new},
    writing::{command_line, not_written},
};
use crate::{
    activity::OperatorChange,
    config::{
        self, Author, BadPatch, Change, ChangeOf, EditError, EntryFault, OurAddress, PatchedEntry,
        ServerEntry, ServerPatch, Warning, WriteError, entry_fault, fingerprint_as_written,
        is_entry_key, written_entry,
    },
    failure::{ErrorCode, Failure, NextStep, Result},
    runtime::sync::Guarded,
    text::names::ServerName,
};

/// Limit: bytes of an entry that an agent writes. People read it before they approve it.
const LARGEST_ENTRY: usize = 32 << 10;

/// Limit: servers that agents added and nobody has looked at. Each stays in the file until somebody does.
const MOST_WAITING: usize = 50;

const UNCHANGED: &str = "nothing was changed";

const UNADDED: &str = "nothing was added";

/// The changes of the file that a patch comes to, and what the answer says of them.
#[derive(Default)]
pub(super) struct Planned {
    pub(super) changes: Vec<Change>,
    /// What changed, as the reply names it.
    pub(super) changed: Vec<String>,
    /// The changed keys for which the server is quarantined.
    pub(super) held_for: Vec<String>,
    /// The entry before and after a change by an agent that quarantines the server; empty before it was added.
    pub(super) by_agent: Option<[Map<String, Value>; 2]>,
}

impl<B: Backing> Management<B> {
    /// The warnings about the keys of a server that were changed.
    pub(super) fn warnings_of(&self, name: &str, changed: &[String]) -> Vec<Warning> {
        let Ok(settings) = self.settings() else {
            return Vec::new();
        };
        let top = |key: &str| key.split('.').next().unwrap_or(key).to_owned();
        let changed: Vec<String> = changed.iter().map(|key| top(key)).collect();
        let warnings = settings.warnings.iter().filter(|warning| {
            let key = warning.key.as_deref().map(top);
            warning.server.as_deref() == Some(name) && key.is_some_and(|key| changed.contains(&key))
        });
        warnings.cloned().collect()
    }

    /// Writes the changes that `plan` makes of the file's text, and records them as the operator's.
    pub(super) async fn change_as_planned(
        &self,
        action: &'static str,
        name: &str,
        by: ChangeOf,
        plan: impl Fn(&str) -> Result<Planned> + Send + 'static,
    ) -> Result<Arc<Planned>> {
        let planned = self.rewrite_as_planned(by, plan).await;
        self.note_change(None, action, name, planned.as_deref());
        planned
    }

    /// Writes the changes that `plan` makes of the file's text, without a record. `plan` runs again where the text changes meanwhile; the
    /// last plan is the one that was written.
    pub(super) async fn rewrite_as_planned(
        &self,
        by: ChangeOf,
        plan: impl Fn(&str) -> Result<Planned> + Send + 'static,
    ) -> Result<Arc<Planned>> {
        let slot: Arc<Guarded<Option<Arc<Planned>>>> = Arc::default();
        let decided = slot.clone();
        let rewritten = self.0.rewrite(by, move |text: &str| {
            let planned = plan(text).map_err(|failure| EditError::Refused(Box::new(failure)))?;
            let edited = config::edit_all(text, &planned.changes);
            *decided.lock() = Some(Arc::new(planned));
            edited
        });
        self.check_in_force(rewritten.await)?;
        let planned = slot.lock().take();
        planned.ok_or_else(|| {
            let error = "the change was not decided";
            Failure::new(ErrorCode::Internal, error, "Try again.")
        })
    }

    /// Writes changes that trust an entry, unless the file has another entry by now than the one that a person reviewed.
    pub(super) async fn trust(
        &self,
        entry: &ServerEntry,
        action: &'static str,
        changes: Vec<Change>,
        by: ChangeOf,
    ) -> Result {
        let (name, as_written) = (entry.name.to_string(), entry.as_written.clone());
        let plan = move |text: &str| {
            let written = written_entry(text, &name).map_err(not_edited)?;
            if fingerprint_as_written(&written) == as_written {
                return Ok(Planned::of(changes.clone()));
            }
            let error = format!("the entry of the server {name:?} has changed");
            let hint = "Review it again; it is held as before.";
            Err(Failure::new(ErrorCode::ToolChanged, error, hint).of_server(&name))
        };
        let planned = self.change_as_planned(action, entry.name.as_str(), by, plan);
        planned.await.map(drop)
    }

    /// Records what became of a change.
    pub(super) fn note_change(
        &self,
        caller: Option<Arc<str>>,
        action: &'static str,
        server: &str,
        planned: Result<&Planned, &Failure>,
    ) {
        let (detail, error) = match planned {
            Ok(planned) => (planned.summary(), None),
            Err(failure) => (None, Some(failure.error.clone())),
        };
        let change = OperatorChange::by_operator(action, server);
        self.0.note(OperatorChange {
            caller: caller.unwrap_or_else(|| change.caller.clone()),
            detail,
            error,
            ..change
        });
    }
}

impl Planned {
    /// Changes whose action in the activity log says all.
    pub(super) fn of(changes: Vec<Change>) -> Self {
        Self {
            changes,
            ..Self::default()
        }
    }

    fn summary(&self) -> Option<String> {
        if self.changed.is_empty() {
            return None;
        }
        let held = match &self.held_for[..] {
            [] => String::new(),
            places => format!("; held for {}", places.join(", ")),
        };
        Some(format!("{}{held}", self.changed.join(", ")))
    }
}

/// Marks an entry as a person's: the last writer of an entry is its author.
pub(super) fn by_a_person(name: &str) -> Change {
    Change::of_key(name, "changed_by", None)
}

/// A patch as it was sent: the keys that can be read, and what is wrong with the others.
pub(super) struct SentPatch {
    readable: ServerPatch,
    problem: Option<BadPatch>,
}

impl SentPatch {
    /// The entry that it leads to, or all that is wrong with it.
    fn apply(&self, outcome: &str, name: &str, to: &Map<String, Value>) -> Result<PatchedEntry> {
        let fault = |error: BadPatch| EntryFault {
            text: error.to_string(),
            is_of_url: false,
        };
        let patched = self.readable.apply(to);
        patched.map_err(|error| faulty(outcome, name, self, Some(fault(error))))
    }
}

/// Reads a patch. Only an empty one is refused here: its mistakes are reported in one error with those of the entry that it leads to.
pub(super) fn read_patch(name: &str, patch: Map<String, Value>) -> Result<SentPatch> {
    let sent = read_entry(patch);
    if sent.readable.is_empty() && sent.problem.is_none() {
        let error = "nothing was changed: no key is given";
        let hint = "Give at least one key with its new value.";
        let failure = Failure::new(ErrorCode::InvalidArguments, error, hint);
        return Err(failure.of_server(name));
    }
    Ok(sent)
}

/// Reads an entry that is to be added.
pub(super) fn read_entry(entry: Map<String, Value>) -> SentPatch {
    let (readable, problem) = ServerPatch::read_as_far_as_possible(entry);
    SentPatch { readable, problem }
}

/// Reads an entry that a person adds, and gives its keys their proper names. One error names all its mistakes.
pub(super) fn read_new(
    name: &ServerName,
    entry: Map<String, Value>,
    us: &OurAddress,
) -> Result<Map<String, Value>> {
    let sent = read_entry(entry);
    let entry = sent.apply(UNADDED, name.as_str(), &Map::new())?.after;
    let fault = entry_fault(name, &entry, us);
    if sent.problem.is_some() || fault.is_some() {
        return Err(faulty(UNADDED, name.as_str(), &sent, fault));
    }
    Ok(entry)
}

/// The changes of the file's text that a patch comes to.
pub(super) fn plan_patch(
    text: &str,
    name: &str,
    patch: &SentPatch,
    us: &OurAddress,
    by: Author,
) -> Result<Planned> {
    let written = written_entry(text, name).map_err(not_edited)?;
    let mut patched = patch.apply(UNCHANGED, name, &written)?;
    let mut held_for = Vec::new();
    let verdict = (by == Author::Agent).then(|| judge(&patched));
    patched.take_back_defaults();
    let changed = patched.changed();
    match verdict {
        None => answer_for(&mut patched),
        Some(AgentVerdict::Free) => (),
        Some(AgentVerdict::Held(places)) => {
            hold(&mut patched.after);
            held_for = places;
        }
        Some(AgentVerdict::Refused(keys)) => {
            let more = problems(patch, fault(name, &patched, us)?);
            return Err(refused(name, &keys, &more));
        }
    }
    let fault = fault(name, &patched, us)?;
    if patch.problem.is_some() || fault.is_some() {
        return Err(faulty(UNCHANGED, name, patch, fault));
    }
    if by == Author::Agent {
        check_size(UNCHANGED, name, &patched.after)?;
    }
    Ok(Planned {
        changes: patched.changes(name),
        changed,
        by_agent: (!held_for.is_empty()).then_some([patched.before, patched.after]),
        held_for,
    })
}

/// The changes of the file's text with which an agent adds a server, which is always quarantined.
pub(super) fn plan_addition(
    text: &str,
    name: &ServerName,
    patch: &SentPatch,
    us: &OurAddress,
) -> Result<Planned> {
    let mut patched = patch.apply(UNADDED, name.as_str(), &Map::new())?;
    let not_allowed = judge_new(&patched.after);
    if !not_allowed.is_empty() {
        let more = problems(patch, None);
        return Err(refused(name.as_str(), &not_allowed, &more));
    }
    let held_for = patched.changed();
    hold(&mut patched.after);
    // What cannot be read may be what the entry lacks.
    let fault = match patch.problem {
        Some(_) => None,
        None => fault(name.as_str(), &patched, us)?,
    };
    if patch.problem.is_some() || fault.is_some() {
        return Err(faulty(UNADDED, name.as_str(), patch, fault));
    }
    if let Some(failure) = command_line(&patched.after) {
        return Err(failure.of_server(name.as_str()));
    }
    check_size(UNADDED, name.as_str(), &patched.after)?;
    check_waiting(text)?;
    let entry = patched.after;
    Ok(Planned {
        by_agent: Some([Map::new(), entry.clone()]),
        changes: vec![Change::of_server(name.as_str(), Some(entry))],
        changed: vec!["added".to_owned()],
        held_for,
    })
}

/// Marks the entry as a person's where a person ends its quarantine.
fn answer_for(patched: &mut PatchedEntry) {
    let is_held = |entry: &Map<String, Value>| entry.get("quarantined") == Some(&Value::Bool(true));
    if is_held(&patched.before) && !is_held(&patched.after) {
        patched.after.shift_remove("changed_by");
    }
}

fn hold(entry: &mut Map<String, Value>) {
    entry.insert("quarantined".to_owned(), Value::Bool(true));
    entry.insert("changed_by".to_owned(), "agent".into());
}

/// Why the patched entry cannot be used; nothing if it could not be used before either, because mending it may take several patches. Keys
/// that are no keys of an entry are left out: warnings name them.
fn fault(name: &str, patched: &PatchedEntry, us: &OurAddress) -> Result<Option<EntryFault>> {
    let parsed = ServerName::parse(name).map_err(|error| wrong(UNCHANGED, name, error))?;
    let mut after = patched.after.clone();
    after.retain(|key, _| is_entry_key(key));
    let fault = entry_fault(&parsed, &after, us);
    let was_broken =
        || !patched.before.is_empty() && entry_fault(&parsed, &patched.before, us).is_some();
    Ok(fault.filter(|_| !was_broken()))
}

/// The mistakes of a patch, and the fault of the entry that it leads to.
fn problems(patch: &SentPatch, fault: Option<EntryFault>) -> Vec<String> {
    let of_patch = patch.problem.iter().map(ToString::to_string);
    of_patch.chain(fault.map(|fault| fault.text)).collect()
}

fn faulty(outcome: &str, name: &str, patch: &SentPatch, fault: Option<EntryFault>) -> Failure {
    let is_of_url = fault.as_ref().is_some_and(|fault| fault.is_of_url) && patch.problem.is_none();
    let failure = wrong(outcome, name, problems(patch, fault).join("; "));
    if is_of_url {
        let step = NextStep::act("give another `url`, such as https://example.com/mcp");
        return failure.with_step(step.for_all());
    }
    failure
}

fn check_size(outcome: &str, name: &str, entry: &Map<String, Value>) -> Result {
    let size = Value::Object(entry.clone()).to_string().len();
    if size <= LARGEST_ENTRY {
        return Ok(());
    }
    let error = format!("{outcome}: the entry of {name:?} would be larger than 32 KiB");
    let hint = "Shorten the entry, then try again.";
    Err(Failure::agents_only(ErrorCode::InvalidArguments, error, hint).of_server(name))
}

fn check_waiting(text: &str) -> Result {
    let waiting = config::count_entries(text, |entry| {
        entry.get("changed_by").and_then(Value::as_str) == Some("agent")
            && entry.get("quarantined") == Some(&Value::Bool(true))
    });
    let waiting = waiting.map_err(not_edited)?;
    if waiting < MOST_WAITING {
        return Ok(());
    }
    let error = format!("{waiting} servers added by agents already await approval");
    let hint = "Nothing was added. Ask the user to review them first.";
    Err(Failure::agents_only(ErrorCode::Overloaded, error, hint))
}

/// Refuses an entry that cannot be used.
fn wrong(outcome: &str, name: &str, why: impl std::fmt::Display) -> Failure {
    let error = format!("{outcome}: the entry of {name:?}: {why}");
    let hint = "Correct that, then try again.";
    let failure = Failure::new(ErrorCode::InvalidArguments, error, hint);
    failure.with_step(NextStep::DescribeConfig).of_server(name)
}

/// Refuses a patch of an agent: the keys that only a person may change, and the other mistakes.
fn refused(name: &str, keys: &[(String, &str)], more: &[String]) -> Failure {
    let kept = keys.iter().map(|(key, why)| format!("`{key}`: {why}"));
    let reasons: Vec<String> = kept.chain(more.iter().cloned()).collect();
    let reasons = reasons.join("; ");
    let error = format!("nothing was changed: the entry of {name:?}: {reasons}");
    let hint = "Ask the user to do it, or leave that key out.";
    Failure::agents_only(ErrorCode::AccessDenied, error, hint).of_server(name)
}

pub(super) fn not_edited(error: EditError) -> Failure {
    not_written(&WriteError::Edit(error))
}

#[cfg(test)]
mod tests {
    use super::{LARGEST_ENTRY, Map, UNADDED, Value, check_size};

    #[test]
    fn an_entry_that_is_too_large_is_to_be_shortened() {
        let text = "x".repeat(LARGEST_ENTRY);
        let entry = Map::from_iter([("command".to_owned(), Value::from(text))]);
        let failure = check_size(UNADDED, "big", &entry).expect_err("it is too large");
        let error = r#"nothing was added: the entry of "big" would be larger than 32 KiB"#;
        assert_eq!(failure.error, error);
        let hint = failure.for_model().hint;
        assert_eq!(hint.for_people(), "Shorten the entry, then try again.");
    }
}
