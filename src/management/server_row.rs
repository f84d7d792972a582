//! The row of a server: its state, what is wrong with it, and the next step.

use serde::{Deserialize, Serialize};

use super::{
    Backing, Connections, LEFT_OUT_STEP, LeftOut, Management,
    health::is_zero,
    operator_view::{OperatorView, as_data, step_while_held, wants_more},
    server_state::{
        ServerState, first_start, has_connection, last_start, latest_line, shown_state, state,
    },
};
use crate::{
    config::{BrokenEntry, DEMO, DemoOrigin, ServerEntry, SessionScope, TransportKind},
    failure::{ErrorCode, NextStep, as_step},
    gate::{self, Standing},
    text::count,
    upstream::Status,
};

/// A server in a listing.
#[derive(Debug, Clone, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ServerRow {
    /// The name as the file has it.
    pub name: String,
    /// The transport; null if the entry does not show it.
    pub transport: Option<TransportKind>,
    /// The state of the connection; see also `enabled` and `quarantined`.
    pub state: ServerState,
    /// The state as the command line shows it: `Ready`, `Asleep`, `Starting`, `Needs a secret`, `Needs a variable`, `Needs a login`,
    /// `Error`, `Disabled`, `Quarantined`, or `Not running` where no daemon runs.
    #[serde(default)]
    pub shown_state: String,
    /// Whether the entry is enabled, even if it is broken.
    #[serde(default = "enabled_if_absent")]
    pub enabled: bool,
    /// Whether it is quarantined.
    #[serde(default)]
    pub quarantined: bool,
    /// True if the entry cannot be used; `last_error` says why.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unusable: bool,
    /// The number of known tools; null if no list is known.
    pub tools: Option<usize>,
    /// The number of held tools, prompts and resources, and of held instructions; absent if none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<usize>,
    /// How many of these are tools; absent if none is.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub held_tools: usize,
    /// The kind of the others, if it is one: `prompt`, `resource`, `template` or `instructions`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_kind: Option<String>,
    /// Listed definitions that cannot be used; absent if all can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOut>,
    /// The number of running instances, if clients do not share one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instances: Option<usize>,
    /// Why a start takes long, such as a download.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The last line of its stderr, while `detail` is present.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_output: Option<String>,
    /// Why the last attempt failed, the last connection ended, or the entry cannot be used.
    pub last_error: Option<String>,
    /// The reason in `last_error`, without the number of attempts; absent if there is no error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Seconds until the next automatic attempt; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_attempt_in_seconds: Option<u64>,
    /// The duration of the last start in microseconds; absent if the server is not asleep, or has not started since the daemon began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_start_us: Option<u64>,
    /// The next step in the words of a terminal.
    pub next_step: Option<String>,
    /// The next step as data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<NextStep>,
    /// How the demo server was started; absent for all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub demo: Option<DemoOrigin>,
}

/// The value of `enabled` in the answer of an older daemon, which leaves the key out.
fn enabled_if_absent() -> bool {
    true
}

impl ServerRow {
    /// Whether it may be used at all, whatever its connection.
    pub fn standing(&self) -> Standing {
        match self {
            Self { enabled: false, .. } => Standing::Disabled,
            Self {
                quarantined: true, ..
            } => Standing::Quarantined,
            _ => Standing::Usable,
        }
    }

    /// Whether it is disabled.
    pub const fn is_disabled(&self) -> bool {
        matches!(self, Self { enabled: false, .. })
    }

    /// `2 held, 1 prompt held`: tools first, then prompts, resources and instructions.
    pub fn held_in_words(&self) -> Option<String> {
        let (tools, others) = (self.held_tools, self.held?.saturating_sub(self.held_tools));
        let others_held = match self.held_kind.as_deref() {
            Some("instructions") => "instructions held".to_owned(),
            kind => format!("{} held", count(others, kind.unwrap_or("other item"))),
        };
        Some(match (tools, others) {
            (_, 0) => format!("{tools} held"),
            (0, _) => others_held,
            _ => format!("{tools} held, {others_held}"),
        })
    }

    /// Whether it waits for approval, switched on or not.
    pub fn awaits_approval(&self) -> bool {
        self.quarantined
    }

    /// Whether it waits for a value that its entry refers to. That is no failure.
    pub fn needs_a_value(&self) -> bool {
        let step = self.step.as_ref().filter(|_| self.unusable);
        step.is_some_and(NextStep::ends_a_wait)
    }

    /// Whether it should work and does not.
    pub fn is_failing(&self) -> bool {
        let is_trying = self.state == ServerState::Connecting && self.last_error.is_some();
        let is_down = matches!(self.state, ServerState::Error | ServerState::Authenticating);
        self.standing().is_usable() && (is_down || is_trying)
    }

    /// Whether a person has to look at it.
    pub(super) fn needs_a_person(&self) -> bool {
        let waits = self.standing() == Standing::Quarantined;
        self.is_failing() || self.held.is_some() || self.left_out.is_some() || waits
    }

    /// The step that this row names. Its data have no command.
    pub(super) fn own_step(self) -> Option<NextStep> {
        match (self.step, self.next_step) {
            (Some(NextStep::Act { how, .. }), Some(typed)) => {
                Some(NextStep::act(typed).or_request(how))
            }
            (step, typed) => step.or(typed.map(NextStep::act)),
        }
    }

    /// The row of a server that was removed: its last error stays, but nothing that promises another attempt.
    pub(super) fn removed(self) -> Self {
        Self {
            state: ServerState::Disconnected,
            instances: None,
            detail: None,
            last_output: None,
            shown_state: ServerState::Disconnected.as_str().to_owned(),
            last_error: self.reason,
            reason: None,
            next_attempt_in_seconds: None,
            last_start_us: None,
            next_step: None,
            step: None,
            ..self
        }
    }
}

impl<B: Backing> Management<B> {
    /// The rows of all servers, by name.
    pub(super) fn rows(&self, view: &OperatorView) -> Vec<ServerRow> {
        let sound = view.settings.servers.values();
        let sound = sound.map(|entry| self.row(view, entry));
        let broken = view.settings.broken.iter();
        let broken = broken.map(|broken| Self::broken_row(view, broken));
        let mut rows: Vec<ServerRow> = sound.chain(broken).collect();
        rows.sort_by(|a, b| a.name.cmp(&b.name));
        rows
    }

    /// The row of a server with a usable entry.
    pub(super) fn row(&self, view: &OperatorView, entry: &ServerEntry) -> ServerRow {
        let connections = self.0.connections(entry.name.as_str());
        let refusal = view.server_refusal(entry.name.as_str());
        let instances = connections
            .instances
            .iter()
            .filter(|one| has_connection(one))
            .count();
        let is_divided = match entry.session_scope {
            SessionScope::Shared => false,
            SessionScope::Auto => !connections.instances.is_empty(),
            SessionScope::Client | SessionScope::Workspace => true,
        };
        let switches = gate::switches(entry);
        let state = state(&connections);
        let detail = first_start(&connections);
        let last_output = detail
            .as_ref()
            .and_then(|_| latest_line(&self.0.recent_log(entry.name.as_str(), 2)));
        let listed = view.lists.servers.get(&entry.name);
        // What it listed by a former entry says nothing of the one that a person reviews.
        let listed =
            listed.filter(|listed| !switches.quarantined || *listed.entry == *entry.fingerprint);
        let held = view.held_things(&entry.name);
        let left_out = listed.and_then(|listed| LeftOut::of(listed, &entry.secrets));
        let trouble = Trouble::of(entry, &connections);
        let next = match (&trouble, refusal, &held, &left_out) {
            (Some(trouble), ..) => Some((trouble.next.clone(), Some(trouble.step.clone()))),
            (None, Some(refusal), ..) => {
                let words = as_step(&refusal.terminal_step());
                Some((words, refusal.step.map(|step| as_data(*step))))
            }
            (None, None, Some(held), _) => Some((held.step.clone(), Some(NextStep::Review))),
            (None, None, None, Some(_)) => Some((LEFT_OUT_STEP.to_owned(), None)),
            (None, None, None, None) => None,
        };
        let (next_step, step) = next.unzip();
        let (last_error, reason) = trouble.map(|it| (it.shown, it.reason)).unzip();
        ServerRow {
            name: entry.name.to_string(),
            transport: Some(entry.transport.kind()),
            state,
            shown_state: shown_state(state, gate::standing(entry), B::RUNS),
            enabled: switches.enabled,
            quarantined: switches.quarantined,
            unusable: false,
            tools: listed
                .map(|server| server.tools.len())
                .or(B::RUNS.then_some(0)),
            held: held.as_ref().map(|held| held.count),
            held_kind: held.as_ref().and_then(|held| held.kind.map(str::to_owned)),
            held_tools: held.map_or(0, |held| held.tools),
            left_out,
            instances: is_divided.then_some(instances),
            detail,
            last_output,
            last_error,
            reason,
            next_attempt_in_seconds: connections
                .all()
                .find_map(Status::next_attempt_in)
                .map(|wait| wait.as_secs()),
            last_start_us: last_start(&connections),
            next_step,
            step: step.flatten(),
            demo: view.settings.demo.filter(|_| entry.name.as_str() == DEMO),
        }
    }

    /// The row of a server whose entry cannot be used.
    pub(super) fn broken_row(view: &OperatorView, broken: &BrokenEntry) -> ServerRow {
        let quarantined = gate::is_quarantined(&view.settings, &broken.name);
        let entry = broken.unresolved.as_deref();
        let listed = view.listed(&broken.name, entry);
        let fix = broken.step();
        let correct = fix.at_terminal(&broken.name);
        let review = view.next_step(ErrorCode::ServerQuarantined, &broken.name);
        let review = review.filter(|_| quarantined);
        let review = review.map(|step| step.at_terminal(&broken.name));
        let step = match review {
            // What it lacks need not be there for a review of what it listed.
            Some(review) if listed.is_some() => format!("{review}; afterwards {correct}"),
            Some(review) => format!("{correct}; then {review}"),
            None => correct,
        };
        ServerRow {
            name: broken.name.clone(),
            transport: entry.map(|entry| entry.transport.kind()),
            state: ServerState::Error,
            shown_state: match &fix {
                _ if quarantined => "Quarantined",
                NextStep::SetSecret { .. } => "Needs a secret",
                NextStep::SetVariable { .. } => "Needs a variable",
                _ => "Error",
            }
            .to_owned(),
            enabled: true,
            quarantined,
            unusable: true,
            tools: listed
                .map(|listed| listed.tools.len())
                .or(B::RUNS.then_some(0)),
            last_error: Some(broken.reason.clone()),
            reason: Some(broken.reason.clone()),
            next_step: Some(step),
            step: Some(if quarantined { NextStep::Review } else { fix }),
            ..ServerRow::default()
        }
    }

    /// Why the lists of a quarantined server with an unusable entry are not known, and what to do about it.
    pub(super) fn why_not_listed(broken: &BrokenEntry) -> String {
        let step = broken.step().at_terminal(&broken.name);
        format!("{}; {step}", broken.reason)
    }
}

/// Why a server does not work, or refused calls, and what to do about it.
struct Trouble {
    reason: String,
    /// The reason, how often it was tried, and what comes next.
    shown: String,
    step: NextStep,
    /// The step at a terminal.
    next: String,
}

impl Trouble {
    fn of(entry: &ServerEntry, connections: &Connections) -> Option<Self> {
        let simple = |reason: String, step: NextStep| Self {
            shown: reason.clone(),
            reason,
            next: step.at_terminal(entry.name.as_str()),
            step,
        };
        if let Some(stuck) = &connections.login_trouble {
            return Some(simple(stuck.to_string(), NextStep::Wait));
        }
        let obstacle = connections.login_obstacle.as_ref();
        if let Some(error) = obstacle.filter(|_| !gate::awaits_approval(entry))
            && let Some(step) = error.lasting_step(entry.name.as_str())
        {
            return Some(Self {
                next: step.at_terminal(entry.name.as_str()),
                ..simple(
                    format!("the last login failed: {error}"),
                    step.without_commands(),
                )
            });
        }
        let failed = connections.all().find_map(|one| {
            let error = one.last_error.as_ref()?;
            // What waits for approval is tried again when a person asks for it, and then only.
            let (shown, next) = if gate::awaits_approval(entry) {
                (error.whole(), step_while_held(&entry.name, &error.step))
            } else {
                let next = error.step.at_terminal(entry.name.as_str());
                (
                    one.explained_whenever(&error.whole(), &entry.transport),
                    next,
                )
            };
            Some(Self {
                reason: error.whole(),
                shown,
                step: error.step.clone(),
                next,
            })
        });
        failed.or_else(|| {
            Some(simple(
                wants_more(&connections.missing_scopes)?,
                NextStep::LogIn,
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_reads_back_and_one_of_a_later_version_too() {
        for state in [
            "Disconnected",
            "Connecting",
            "Authenticating",
            "Ready",
            "Error",
        ] {
            let row = format!(r#"{{"name":"a","state":"{state}"}}"#);
            let row: ServerRow = serde_json::from_str(&row).expect("a row");
            assert_eq!(row.state.as_str(), state);
            assert_eq!(serde_json::to_value(row.state).expect("JSON"), state);
        }
        let row = r#"{"name":"a","state":"Dreaming","mood":1}"#;
        let row: ServerRow = serde_json::from_str(row).expect("a row");
        assert_eq!(row.state, ServerState::Unknown);
    }

    #[test]
    fn the_step_of_a_row_is_in_the_words_of_each_reader() {
        let row = ServerRow {
            step: Some(NextStep::act("log in")),
            next_step: Some("`mcpproxy upstream login a`".to_owned()),
            ..ServerRow::default()
        };
        let step = row.own_step().expect("a step");
        assert_eq!(step.at_terminal("a"), "`mcpproxy upstream login a`");
        assert_eq!(step.over_rest("a").as_deref(), Some("log in"));
    }

    #[test]
    fn a_row_counts_what_is_held_by_its_kind() {
        let check = |held, held_tools, kind: Option<&str>, expected: &str| {
            let row = ServerRow {
                held: Some(held),
                held_tools,
                held_kind: kind.map(str::to_owned),
                ..ServerRow::default()
            };
            assert_eq!(row.held_in_words().as_deref(), Some(expected));
        };
        check(2, 2, None, "2 held");
        check(2, 0, Some("prompt"), "2 prompts held");
        check(2, 1, Some("instructions"), "1 held, instructions held");
        check(3, 1, None, "1 held, 2 other items held");
    }

    #[test]
    fn what_waits_for_approval_is_tried_again_by_a_person() {
        let name = crate::text::ServerName::parse("a").expect("a name");
        let again = "`mcpproxy upstream inspect a --connect`";
        for (step, expected) in [
            (NextStep::Wait, format!("try again later: {again}")),
            (NextStep::Remove, "`mcpproxy upstream remove a`".to_owned()),
            (NextStep::act("x"), format!("x; then {again}")),
        ] {
            assert_eq!(step_while_held(&name, &step), expected);
        }
    }

    #[test]
    fn a_removed_row_does_not_promise_another_attempt() {
        // A connection that had proved healthy was lost: no failure is counted, and only the retry is promised.
        let row: ServerRow = serde_json::from_value(serde_json::json!({
            "name": "lost",
            "state": "error",
            "last_error": "the connection was closed (it is tried again by itself)",
            "reason": "the connection was closed",
            "next_attempt_in_seconds": 2,
            "next_step": "look at its log",
        }))
        .expect("it is a row");
        let row = row.removed();
        assert_eq!(row.last_error.as_deref(), Some("the connection was closed"));
        assert_eq!(row.state, ServerState::Disconnected);
        assert_eq!((row.reason, row.next_step), (None, None));
        assert_eq!(row.next_attempt_in_seconds, None);
    }
}
