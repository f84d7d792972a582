//! Records, as they are stored and shown, and how they are made of events.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    ActivityEvent, CallEntrance, EventKind, GateDecision, MOST_THINGS, OperatorChange,
    RecordedDecision, Redaction, RefusedNotice, ServerNews, TimeSpent, TouchedThing,
    course::FINGERPRINT,
    outcome::is_failure,
    redaction::{masked, uri},
    seen_call::{CallEnd, SeenBody, SeenCall},
};
use crate::{
    config::{ActivitySettings, Kept},
    wire::{Edit, Raw, Thing, splice},
};

/// A record; keys that do not apply are absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct ActivityRecord {
    /// The number of the record; later records have larger ones.
    pub id: u64,
    /// The time in UTC (RFC 3339).
    #[serde(skip_serializing_if = "String::is_empty")]
    pub time: String,
    /// `call`, `refusal`, `change`, `server`, `daemon` or `gap`.
    pub kind: String,
    /// The run of the daemon, counted from 1; ids of calls are unique in a run.
    pub run: u64,
    /// The id of the call, as log lines show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// The id of the call that caused it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// The client's name and version, as it gives them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The path of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// The method of MCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The server; absent for built-in tools and unknown names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The tool, by the server's own name for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The resource, by its URI.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// The task, by its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The declared call type: `read`, `write` or `destructive`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// The caller's label for its data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_sensitivity: Option<String>,
    /// The caller's reason for the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The change, or the event of the daemon.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// Details of the action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// `ok`, `tool_error`, `rpc_error`, `asked`, `refused`, `failed`, `invalid` or `withdrawn`.
    pub outcome: String,
    /// The error code of mcpproxy, or that of the JSON-RPC error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The duration in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_us: Option<u64>,
    /// The size of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_bytes: Option<u64>,
    /// The size of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_bytes: Option<u64>,
    /// What the access rules decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<RecordedDecision>,
    /// How the time was spent, if a server took part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spent: Option<TimeSpent>,
    /// The error that the caller got, with secrets masked.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub told: Option<Raw>,
    /// The arguments, as far as they are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub arguments: Option<Raw>,
    /// The result, as far as it is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub result: Option<Raw>,
    /// The number of records that are missing here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<u64>,
    /// The number of equal requests for which this record stands, if more than one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<u64>,
    /// The number of masked values in the arguments, the result and the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub masked: Option<u64>,
}

/// The id of a call as it is shown.
pub(super) fn shown_call(id: u64) -> String {
    format!("c{id}")
}

/// The member of some answers of mcpproxy that repeats the arguments of the call.
const REPEATED_ARGUMENTS: &str = "requestedArgs";

/// Limit: characters of an error in a record.
const COMPLAINT: usize = 500;

/// Makes records by the settings in force.
pub(super) struct RecordMaker<'a> {
    pub(super) redaction: &'a Redaction,
    pub(super) settings: &'a ActivitySettings,
}

impl ActivityRecord {
    /// The record of an event of the daemon.
    pub(super) fn of_daemon(action: &str, detail: String) -> Self {
        Self {
            kind: "daemon".to_owned(),
            action: Some(action.to_owned()),
            detail: Some(detail),
            outcome: "ok".to_owned(),
            ..Self::default()
        }
    }

    /// The record that stands for so many missing ones.
    pub(super) fn of_gap(missing: u64) -> Self {
        Self {
            kind: "gap".to_owned(),
            outcome: "failed".to_owned(),
            detail: Some(format!("records not kept: {missing}")),
            missing: Some(missing),
            ..Self::default()
        }
    }

    /// The same with its end: `ok`, or `failed` with this error.
    fn ended(self, error: Option<String>) -> Self {
        let outcome = if error.is_none() { "ok" } else { "failed" };
        Self {
            outcome: outcome.to_owned(),
            error,
            ..self
        }
    }

    fn add_masked(&mut self, times: u64) {
        if times > 0 {
            *self.masked.get_or_insert_default() += times;
        }
    }

    /// The thing that it is about: `server:tool`, a prompt, a URI.
    pub fn thing(&self) -> Option<String> {
        let named = [&self.tool, &self.prompt, &self.resource, &self.task];
        let name = named.into_iter().flatten().next();
        match (&self.server, name) {
            (Some(server), Some(name)) if self.resource.is_none() => {
                Some(format!("{server}:{name}"))
            }
            (_, Some(name)) => Some(name.clone()),
            (server, None) => server.clone(),
        }
    }
}

impl RecordMaker<'_> {
    /// The record of an event, without id, time and run.
    pub(super) fn record(&self, event: &ActivityEvent) -> ActivityRecord {
        match &event.what {
            EventKind::Call(call) => self.of_call(call),
            EventKind::Refusal(refusal) => self.of_refusal(refusal),
            EventKind::Change(change) => self.of_change(change),
            EventKind::Server(news) => self.of_server(news),
        }
    }

    fn of_call(&self, call: &SeenCall) -> ActivityRecord {
        let mut record = self.shared_part(call);
        self.put_own_part(&mut record, call);
        record
    }

    /// The part that the records of all calls of a client to the same thing share.
    pub(super) fn shared_part(&self, call: &SeenCall) -> ActivityRecord {
        let redaction = self.redaction;
        let name = |name: &str| Some(redaction.name(name));
        let mut record = ActivityRecord {
            kind: "call".to_owned(),
            caller: name(&call.caller),
            client: redaction.client(&call.client),
            endpoint: call.endpoint.as_ref().map(CallEntrance::to_string),
            method: name(&call.method),
            server: call.server.as_deref().and_then(name),
            variant: call.variant.map(str::to_owned),
            ..ActivityRecord::default()
        };
        match &call.thing {
            Thing::Tool(tool) => record.tool = name(tool),
            Thing::Prompt(prompt) => record.prompt = name(prompt),
            Thing::Resource(address) => record.resource = Some(uri(redaction, address)),
            Thing::Task(task) => record.task = name(task),
            Thing::Nothing => (),
        }
        record
    }

    /// Adds the part that only the record of this call has.
    pub(super) fn put_own_part(&self, record: &mut ActivityRecord, call: &SeenCall) {
        let intent = call.intent.as_ref();
        let sensitivity = intent.and_then(|intent| intent.data_sensitivity.as_deref());
        let reason = intent.and_then(|intent| intent.reason.as_deref());
        record.call = Some(shown_call(call.id));
        record.parent = call.parent.map(shown_call);
        record.data_sensitivity = sensitivity.map(|text| self.redaction.name(text));
        record.reason = reason.map(|text| self.redaction.sentence(text));
        record.duration_us = call.micros();
        record.request_bytes = u64::try_from(call.request_bytes).ok();
        record.gate = call.course.decision().map(GateDecision::recorded);
        record.spent = call.course.spent(call.ended);
        record.arguments = self.arguments(&call.body);
        record.add_masked(masked_in(call.body.raw(), record.arguments.as_ref()));
        self.put_end(record, call);
    }

    fn put_end(&self, record: &mut ActivityRecord, call: &SeenCall) {
        let complaint = |text: &str| Some(self.redaction.beginning(text, COMPLAINT).0);
        match &call.end {
            CallEnd::Withdrawn => (),
            CallEnd::Result {
                size,
                outcome,
                kept,
            } => {
                record.answer_bytes = u64::try_from(*size).ok();
                record.result = self.result(kept.as_ref());
                let masked = masked_in(kept.as_ref(), record.result.as_ref());
                let (error, in_error) = self.complaint(outcome, kept.as_ref()).unzip();
                record.error = error;
                record.add_masked(masked.max(in_error.unwrap_or(0)));
            }
            CallEnd::RpcError { size, kept: raw } => {
                record.answer_bytes = u64::try_from(*size).ok();
                record.code = raw
                    .get("code")
                    .map(|code| self.redaction.name(code.as_str()));
                let message = raw.get("message").and_then(|message| message.string());
                record.error = message.and_then(|message| complaint(&message));
                record.told = self.error_as_kept(raw);
            }
            CallEnd::Failed(failure) => {
                record.code = Some(failure.code.as_str().to_owned());
                record.error = complaint(&failure.whole());
                let failure = failure.for_model();
                record.told = match call.course.answer() {
                    Some(answer) => self.answer_as_kept(&answer),
                    None => self.redaction.value(&Raw::author(&failure), Kept::Redacted),
                };
            }
            CallEnd::Invalid { code, error } => {
                record.code = Some(code.to_string());
                record.error = complaint(error);
                let answer = json!({ "code": code, "message": error });
                record.told = self.redaction.value(&Raw::author(&answer), Kept::Redacted);
            }
        }
        call.end.outcome().clone_into(&mut record.outcome);
    }

    /// The answer for a failure. Arguments that it repeats are kept if arguments are; the rest is always kept, redacted.
    fn answer_as_kept(&self, answer: &Raw) -> Option<Raw> {
        let arguments = answer.get(REPEATED_ARGUMENTS);
        let arguments = arguments.and_then(|arguments| match self.settings.arguments {
            Kept::Off => None,
            kept => self.redaction.value(&arguments, kept),
        });
        let edits = [(REPEATED_ARGUMENTS, Edit::Remove)];
        let shown = splice(answer, &edits).ok()?;
        let shown = self.redaction.value(&shown, Kept::Redacted)?;
        match arguments {
            None => Some(shown),
            Some(arguments) => {
                let edits = [(REPEATED_ARGUMENTS, Edit::Set(arguments))];
                splice(&shown, &edits).ok()
            }
        }
    }

    /// The error of a server. Its data are kept if results are; code and message are always kept, redacted.
    fn error_as_kept(&self, error: &Raw) -> Option<Raw> {
        if self.settings.results != Kept::Off {
            return self.redaction.value(error, self.settings.results);
        }
        let part = |key: &str| error.get(key).map(|value| (key.to_owned(), value));
        let parts = ["code", "message"].into_iter().filter_map(part);
        let answer = Raw::author(&parts.collect::<BTreeMap<_, _>>());
        self.redaction.value(&answer, Kept::Redacted)
    }

    /// A result, as far as it is kept.
    fn result(&self, kept: Option<&Raw>) -> Option<Raw> {
        kept.and_then(|raw| self.redaction.value(raw, self.settings.results))
    }

    /// The text of a tool error, and the number of masked values in it.
    fn complaint(&self, outcome: &str, kept: Option<&Raw>) -> Option<(String, u64)> {
        let content = kept.filter(|_| is_failure(outcome))?.get("content")?;
        let texts = content.elements();
        let texts: Vec<String> = texts
            .filter_map(|part| part.get("text")?.string())
            .collect();
        let text = texts.join("\n");
        (!text.is_empty()).then(|| self.redaction.beginning(&text, COMPLAINT))
    }

    fn of_refusal(&self, refusal: &RefusedNotice) -> ActivityRecord {
        let name = |name: &str| Some(self.redaction.name(name));
        ActivityRecord {
            kind: "refusal".to_owned(),
            caller: refusal.caller.as_deref().and_then(name),
            endpoint: refusal.path.as_deref().and_then(name),
            method: refusal.method.as_deref().and_then(name),
            server: refusal.server.as_deref().and_then(name),
            times: refusal.times,
            outcome: "refused".to_owned(),
            code: refusal.code.map(|code| code.as_str().to_owned()),
            error: Some(self.redaction.sentence(&refusal.error)),
            ..ActivityRecord::default()
        }
    }

    fn of_change(&self, change: &OperatorChange) -> ActivityRecord {
        let name = |name: &str| self.redaction.name(name);
        let sentence = |text: &String| self.redaction.sentence(text);
        let detail = change.detail.as_ref().map(sentence);
        let record = ActivityRecord {
            kind: "change".to_owned(),
            caller: Some(name(&change.caller)),
            action: Some(change.action.to_owned()),
            server: change.server.as_deref().map(name),
            detail: joined(detail, self.things(&change.things, 0)),
            ..ActivityRecord::default()
        };
        record.ended(change.error.as_ref().map(sentence))
    }

    fn of_server(&self, news: &ServerNews) -> ActivityRecord {
        let step = &news.step;
        let sentence = |text: &String| self.redaction.sentence(text);
        let detail = step.detail.as_ref().map(sentence);
        let micros = |took: Duration| u64::try_from(took.as_micros()).ok();
        let record = ActivityRecord {
            kind: "server".to_owned(),
            action: Some(news.action.to_owned()),
            server: Some(self.redaction.name(&news.server)),
            detail: joined(detail, self.things(&news.things, news.more)),
            duration_us: step.took.and_then(micros),
            times: step.times,
            ..ActivityRecord::default()
        };
        record.ended(step.error.as_ref().map(sentence))
    }

    /// `tool echo 0123456789abcdef (its definition changed), tool other …`. Not redacted as a whole: a fingerprint looks like a secret.
    fn things(&self, things: &[TouchedThing], more: usize) -> Option<String> {
        let shown = things.iter().take(MOST_THINGS).map(|thing| {
            let mut text = format!("{} {}", thing.kind, self.redaction.name(&thing.name));
            if let Some(fingerprint) = thing.fingerprint {
                text.push(' ');
                text.extend(fingerprint.to_hex().chars().take(FINGERPRINT));
            }
            match thing.why {
                Some(why) => format!("{text} ({why})"),
                None => text,
            }
        });
        let shown: Vec<String> = shown.collect();
        let more = more + things.len().saturating_sub(MOST_THINGS);
        match (shown.is_empty(), more) {
            (true, _) => None,
            (false, 0) => Some(shown.join(", ")),
            (false, more) => Some(format!("{} and {more} more", shown.join(", "))),
        }
    }

    /// The arguments or params of a request, without the members that the record has elsewhere.
    fn arguments(&self, body: &SeenBody) -> Option<Raw> {
        let kept = self.settings.arguments;
        match body {
            _ if kept == Kept::Off => None,
            SeenBody::Nothing => None,
            SeenBody::Arguments(arguments) => self.redaction.value(arguments, kept),
            SeenBody::Params(params) => {
                if let Some(arguments) = params.get("arguments") {
                    return self.redaction.value(&arguments, kept);
                }
                let shown = self.redaction.value(params, kept)?;
                let mut members: Map<String, Value> = shown.read().ok()?;
                members
                    .retain(|key, _| !matches!(key.as_str(), "_meta" | "name" | "uri" | "taskId"));
                (!members.is_empty()).then(|| Raw::author(&members))
            }
        }
    }
}

fn masked_in(before: Option<&Raw>, kept: Option<&Raw>) -> u64 {
    match (before, kept) {
        (Some(before), Some(kept)) => masked(before.as_bytes(), kept.as_bytes()),
        _ => 0,
    }
}

fn joined(one: Option<String>, other: Option<String>) -> Option<String> {
    let parts: Vec<String> = one.into_iter().chain(other).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}
