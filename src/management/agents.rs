//! The verbs of agents about servers. A server that the caller may not see does not exist for its agent, and a server that an agent changes
//! is neither started nor contacted before a person has reviewed it. [`super::agent_rules`] has the rules for changes.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{
    Backing, Enabled, Management, ServerRow,
    agent_texts::{AgentMeans, for_agent, harmless_lines, next_step_for_agent},
    patching::{Planned, plan_addition, plan_patch, read_entry, read_patch},
    writing::{bad_name, blocking},
};
use crate::{
    access::Caller,
    catalog::Snapshot,
    config::{
        AgentManagement, Author, Change, ChangeAuthor, ChangeOf, Provider, Settings, Warning,
    },
    failure::{ErrorCode, Failure, Result, for_model},
    gate::{self, Moment, Rules},
    text::names::ServerName,
    wire::{Target, method},
};

/// What an agent wants, for the check whether the configuration allows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentVerb {
    /// It lists servers or reads logs.
    Look,
    /// It changes servers.
    Change,
}

/// The verbs for an agent with this caller, at one moment.
pub struct AgentRequest<'a> {
    management: &'a Management,
    caller: &'a Caller,
    now: &'a Moment,
}

/// The result of a change.
#[derive(Debug, Default, Serialize)]
pub struct AgentChange {
    /// The server as it is now; of a removed one, its name.
    pub server: Value,
    /// What changed: keys of its entry, or `added`, `removed`.
    pub changed: Vec<String>,
    /// The changes for which the server is quarantined until a person has reviewed it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub held_for: Vec<String>,
    /// The keys without effect, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// What the agent has to know beside that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<&'static str>,
}

const HELD: &str =
    "The server is quarantined until the user approves it. Tell the user; only they can approve.";

/// The keys of a server's row that agents get. The others are for people.
const SHOWN: [&str; 8] = [
    "name",
    "transport",
    "state",
    "enabled",
    "quarantined",
    "tools",
    "last_error",
    "next_step",
];

const NOTHING_CHANGED: &str = "Nothing to change.";

impl Management {
    /// The verbs for an agent with this caller.
    pub fn for_agent<'a>(&'a self, caller: &'a Caller, now: &'a Moment) -> AgentRequest<'a> {
        AgentRequest {
            management: self,
            caller,
            now,
        }
    }
}

impl AgentRequest<'_> {
    /// Refuses what the configuration does not allow agents, or the caller's token not this caller.
    pub fn check(&self, verb: AgentVerb) -> Result {
        let settings = self.now.settings();
        let hint = match verb {
            AgentVerb::Change => "Nothing was changed. Ask the user to make this change.",
            AgentVerb::Look => "Ask the user about servers.",
        };
        let error = match (settings.management, verb) {
            (_, AgentVerb::Change) if !gate::may_manage(self.caller, settings) => {
                "access denied: this client's token may not change servers"
            }
            (AgentManagement::Full, _) | (AgentManagement::Read, AgentVerb::Look) => return Ok(()),
            (AgentManagement::Read, AgentVerb::Change) => {
                "agents may only list servers and read their logs here"
            }
            (AgentManagement::Off, _) => "agents may not manage servers here",
        };
        Err(Failure::agents_only(ErrorCode::AccessDenied, error, hint))
    }

    /// Every server that the caller may know of.
    pub fn servers(&self) -> Result<Vec<Value>> {
        let listed = self.management.servers().map_err(for_agent)?;
        let rows = listed.servers.into_iter();
        let visible = rows.filter(|row| self.now.rules().shows(self.caller, &row.name));
        let (settings, lists) = (self.now.settings(), self.now.snapshot());
        Ok(visible
            .map(|row| self.shown(settings, lists, &row))
            .collect())
    }

    /// Adds a server, which is quarantined.
    pub async fn add(&self, name: &str, entry: Map<String, Value>) -> Result<AgentChange> {
        let parsed = ServerName::parse(name).map_err(|error| bad_name(name, &error))?;
        let settings = self.now.settings();
        let known = settings.servers.keys().map(ServerName::as_str);
        let mut known = known.chain(settings.broken.iter().map(|broken| &*broken.name));
        // Names are unique whatever their case. That a hidden server has the name is not disclosed.
        let is_hidden = known.any(|known| {
            known.eq_ignore_ascii_case(name) && !self.now.rules().shows(self.caller, known)
        });
        if is_hidden || !self.now.rules().would_show(self.caller, name) {
            let error = format!("access denied: you may not use a server named {name:?}");
            let hint = "Nothing was added. Tell the user: only they can give you access to a server of this name.";
            return Err(Failure::agents_only(ErrorCode::AccessDenied, error, hint).of_server(name));
        }
        self.management.check_name(name).await.map_err(for_agent)?;
        // An empty entry is refused like any that lacks a command or a URL.
        let patch = read_entry(entry);
        let us = self.management.0.our_address();
        let plan = move |text: &str| plan_addition(text, &parsed, &patch, &us);
        self.change("add", name, plan).await
    }

    /// Changes the named keys of a server's entry.
    pub async fn patch(&self, name: &str, patch: Map<String, Value>) -> Result<AgentChange> {
        self.patch_as("patch", name, patch).await
    }

    /// Switches a server on or off.
    pub async fn set_enabled(&self, name: &str, enabled: Enabled) -> Result<AgentChange> {
        let (verb, value) = match enabled {
            Enabled::On => ("enable", true),
            Enabled::Off => ("disable", false),
        };
        let patch = Map::from_iter([("enabled".to_owned(), Value::Bool(value))]);
        self.patch_as(verb, name, patch).await
    }

    async fn patch_as(
        &self,
        verb: &'static str,
        name: &str,
        patch: Map<String, Value>,
    ) -> Result<AgentChange> {
        self.see(name)?;
        let patch = read_patch(name, patch).map_err(for_agent)?;
        let (server, us) = (name.to_owned(), self.management.0.our_address());
        let plan = move |text: &str| plan_patch(text, &server, &patch, &us, Author::Agent);
        self.change(verb, name, plan).await
    }

    /// Takes a server out of the configuration.
    pub async fn remove(&self, name: &str) -> Result<AgentChange> {
        self.see(name)?;
        self.management.server(name).map_err(for_agent)?;
        let server = name.to_owned();
        let plan = move |_: &str| {
            Ok(Planned {
                changed: vec!["removed".to_owned()],
                ..Planned::of(vec![Change::of_server(&server, None)])
            })
        };
        self.rewrite("remove", name, plan).await?;
        self.management.0.forget(name).await;
        Ok(AgentChange {
            server: json!({ "name": name }),
            changed: vec!["removed".to_owned()],
            ..AgentChange::default()
        })
    }

    /// Connects a server anew and lists it at once.
    pub async fn restart(&self, name: &str) -> Result<AgentChange> {
        self.see(name)?;
        let target = Target::method_alone(method::TOOLS_LIST);
        self.now.rules().decide(self.caller, name, &target)?;
        let caller = self.caller.shared_subject();
        let restarted = self.management.restart_for(caller, name).await;
        let change = restarted.map_err(for_agent)?;
        Ok(AgentChange {
            server: self.shown_now(&change.server),
            ..AgentChange::default()
        })
    }

    /// The last lines that a server wrote to its stderr. Refused while it is quarantined, and where other callers use it, too.
    pub async fn log_lines(&self, name: &str, n: usize) -> Result<Vec<String>> {
        self.see(name)?;
        if gate::is_quarantined(self.now.settings(), name) {
            // Its log is a stranger's text, like its lists.
            let error = format!("no log was read: the server {name:?} is quarantined");
            let hint = "Ask the user to review it.";
            let failure = Failure::agents_only(ErrorCode::ServerQuarantined, error, hint);
            return Err(failure.of_server(name));
        }
        let file = self.management.server_log_file(name);
        file.map_err(for_agent)?;
        if has_other_callers(self.now.settings(), self.caller) {
            let error =
                format!("the log of the server {name:?} is hidden: other callers use it, too");
            let hint = "Ask the user to read it.";
            return Err(Failure::agents_only(ErrorCode::AccessDenied, error, hint).of_server(name));
        }
        let (management, server) = (self.management.clone(), name.to_owned());
        let read = blocking(move || management.server_logs(&server, n)).await;
        let read = read.flatten().map_err(for_agent)?;
        let secrets = self.now.settings().secrets();
        Ok(harmless_lines(&read.lines, &secrets))
    }

    /// Refuses a server that this caller may not know of as unknown.
    fn see(&self, name: &str) -> Result {
        let rules = self.now.rules();
        if rules.shows(self.caller, name) {
            return Ok(());
        }
        Err(rules.unknown_server(self.caller, name))
    }

    async fn change(
        &self,
        verb: &'static str,
        name: &str,
        plan: impl Fn(&str) -> Result<Planned> + Send + 'static,
    ) -> Result<AgentChange> {
        let planned = self.rewrite(verb, name, plan).await?;
        self.management.0.follows(name).await;
        let row = self.management.server(name).map_err(for_agent)?;
        let is_held = !planned.held_for.is_empty();
        let notice = if is_held {
            Some(HELD)
        } else {
            planned.changed.is_empty().then_some(NOTHING_CHANGED)
        };
        Ok(AgentChange {
            server: self.shown_now(&row),
            changed: planned.changed.clone(),
            held_for: planned.held_for.clone(),
            warnings: self.management.warnings_of(name, &planned.changed),
            notice,
        })
    }

    /// Writes the planned changes, and records them as the caller's.
    async fn rewrite(
        &self,
        verb: &'static str,
        name: &str,
        plan: impl Fn(&str) -> Result<Planned> + Send + 'static,
    ) -> Result<Arc<Planned>> {
        self.management.0.agent_changes.take()?;
        let author = ChangeAuthor::agent(self.caller.subject());
        let rewriting = async {
            let by = ChangeOf::this_task();
            self.management.rewrite_as_planned(by, plan).await
        };
        let planned = author.during(rewriting).await;
        if let Ok(planned) = &planned {
            self.management.keep_for_review(name, planned).await;
        }
        let change = planned.as_deref();
        let caller = Some(self.caller.shared_subject());
        self.management.note_change(caller, verb, name, change);
        let management = self.management;
        let by = Author::Agent;
        planned.map_err(|failure| for_agent(management.not_in_file(verb, name, failure, by)))
    }

    /// A row by the settings and lists of now.
    fn shown_now(&self, row: &ServerRow) -> Value {
        let settings = self.management.settings_in_force();
        let lists = self.management.lists(&settings);
        self.shown(&settings, &lists, row)
    }

    /// A row for this caller: with the number of its own tools, without paths of this machine, and with a next step that an agent can take.
    fn shown(&self, settings: &Settings, lists: &Snapshot, row: &ServerRow) -> Value {
        let rules = Rules::new(settings, lists);
        let target = Target::method_alone(method::TOOLS_LIST);
        let refused = rules.decide(self.caller, &row.name, &target).err();
        let connections = self.management.0.connections(&row.name);
        let error = connections.all().find_map(|one| {
            let error = one.last_error.as_ref()?;
            if row.awaits_approval() {
                return Some(error.outside.to_string());
            }
            Some(one.explained(&error.outside))
        });
        let stuck = connections.login_trouble.as_ref().map(ToString::to_string);
        let error = stuck.or(error);
        let last_error = if row.unusable {
            row.last_error.as_deref().map(for_model)
        } else {
            error
        };
        let means = AgentMeans {
            reads_logs: !has_other_callers(settings, self.caller),
            restarts: self.check(AgentVerb::Change).is_ok(),
        };
        let next_step = next_step_for_agent(row, refused, last_error.is_some(), means);
        let known = lists.servers.get(row.name.as_str());
        let tools = known.into_iter().flat_map(|known| known.tools.iter());
        let mine = tools.filter(|tool| {
            let target = Target::tool(&tool.name);
            rules.allows(self.caller, &row.name, &target)
        });
        let mine = mine.count();
        let mut shown = serde_json::to_value(row).unwrap_or_default();
        if let Value::Object(shown) = &mut shown {
            shown.insert("tools".to_owned(), mine.into());
            shown.insert("last_error".to_owned(), last_error.into());
            shown.insert("next_step".to_owned(), next_step.into());
            shown.retain(|key, _| SHOWN.contains(&key.as_str()));
        }
        shown
    }
}

/// Whether the configuration has other callers, so that a server's log may have lines about their calls.
fn has_other_callers(settings: &Settings, caller: &Caller) -> bool {
    let is_other = |subject: &str| subject != caller.subject();
    let mut issued = settings.issued.iter();
    let auth = settings.server_auth.as_deref();
    let auth = auth.filter(|auth| auth.asks_for_credentials());
    issued.any(|token| is_other(&token.subject))
        || auth.is_some_and(|auth| {
            let mut tokens = auth.tokens.iter();
            auth.providers.contains(&Provider::Forwarded)
                || tokens.any(|token| is_other(&token.subject))
        })
}
