//! The course of a call through mcpproxy: the decision of the gate, and where its time went. The code that moves a call on notes it here, and
//! the record of the call has it.

use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{runtime::sync::Guarded, trust::fingerprint::Fingerprint, wire::Raw};

/// Digits of a fingerprint in a record: too many to find another definition with the same by trying.
pub(super) const FINGERPRINT: usize = 16;

/// The course of one call.
#[derive(Debug, Default)]
pub struct CallCourse {
    way: Guarded<Course>,
    /// The answer that the caller got for a failure, if it says more than the failure.
    answer: Guarded<Option<Raw>>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Course {
    decision: Option<GateDecision>,
    stage: CallStage,
    /// When the stage began; `None` before the call begins.
    since: Option<Instant>,
    /// Whether the call was sent to a server.
    is_sent: bool,
    gate: Duration,
    waiting: Duration,
    server: Duration,
    client: Duration,
}

/// Who works on the call.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum CallStage {
    /// mcpproxy.
    #[default]
    Ours,
    /// Nobody: it waits until its server is connected, or has room.
    Waiting,
    /// Its server.
    AtServer,
    /// Its client, which was asked a question of the server.
    AtClient,
}

/// Why the gate admitted a call, and to what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GateDecision {
    /// The part of the access rules that decided.
    pub access: DecidedAccess,
    /// The definition for which the call was admitted.
    pub definition: Option<Fingerprint>,
    /// The call type of the tool.
    pub call_with: Option<&'static str>,
}

/// The part of the access rules that decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecidedAccess {
    /// There are no rules.
    NoRules,
    /// The default: no rule matches.
    Default,
    /// The rule at this place, counted from 0.
    Rule(usize),
    /// All rules together, because the request names no single thing.
    Together,
    /// The caller's token, which allows less than the rules.
    Token,
}

/// The decision in a record.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RecordedDecision {
    /// What decided: `rule`, `default` or `no_rules`; `rules` if all rules together; `token` if the caller's token allows less.
    pub decided_by: String,
    /// The place of the rule in `serverAuth.acl.rules`, counted from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<usize>,
    /// The beginning of the fingerprint of the called definition; absent where changes are allowed, and for all but tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
    /// The call type of the tool: `read`, `write` or `destructive`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_with: Option<String>,
}

/// The time of a call by parts; the rest is mcpproxy's time after the answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TimeSpent {
    /// mcpproxy's time before it sent the request.
    pub gate_us: u64,
    /// The time until the server was connected and could take the call.
    pub waiting_us: u64,
    /// The server's time from the request to its answer.
    pub server_us: u64,
    /// The client's time to answer the server's questions.
    #[serde(skip_serializing_if = "is_zero")]
    pub client_us: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(time: &u64) -> bool {
    *time == 0
}

impl GateDecision {
    /// The decision for a record.
    pub(super) fn recorded(self) -> RecordedDecision {
        let (decided_by, rule) = match self.access {
            DecidedAccess::NoRules => ("no_rules", None),
            DecidedAccess::Default => ("default", None),
            DecidedAccess::Rule(place) => ("rule", Some(place)),
            DecidedAccess::Together => ("rules", None),
            DecidedAccess::Token => ("token", None),
        };
        let digits = |print: Fingerprint| print.to_hex().chars().take(FINGERPRINT).collect();
        RecordedDecision {
            decided_by: decided_by.to_owned(),
            rule,
            definition: self.definition.map(digits),
            call_with: self.call_with.map(str::to_owned),
        }
    }
}

impl CallCourse {
    /// Notes when the call began.
    pub(super) fn begin(&self, now: Instant) {
        self.way.lock().since = Some(now);
    }

    /// Notes what the gate decided.
    pub fn note_decision(&self, decision: GateDecision) {
        self.way.lock().decision = Some(decision);
    }

    /// Notes the answer that the caller got for a failure: a JSON object.
    pub fn note_answer(&self, answer: Raw) {
        *self.answer.lock() = Some(answer);
    }

    /// The noted answer.
    pub fn answer(&self) -> Option<Raw> {
        self.answer.lock().clone()
    }

    /// Notes that a stage begins now.
    pub fn enter(&self, stage: CallStage) {
        let mut course = self.way.lock();
        if course.stage != stage {
            course.enter(stage, Instant::now());
        }
    }

    /// Notes that the call waits for its server, until the result is dropped.
    pub fn wait(&self) -> CallWait<'_> {
        self.enter(CallStage::Waiting);
        CallWait(self)
    }

    /// The decision of the gate, if there is one.
    pub(super) fn decision(&self) -> Option<GateDecision> {
        self.way.lock().decision
    }

    /// The time until `ended` by stages, for a record; `None` if no server took part.
    pub(super) fn spent(&self, ended: Instant) -> Option<TimeSpent> {
        let mut course = *self.way.lock();
        course.enter(CallStage::Ours, ended);
        let is_others = course.is_sent || course.waiting > Duration::ZERO;
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        is_others.then(|| TimeSpent {
            gate_us: micros(course.gate),
            waiting_us: micros(course.waiting),
            server_us: micros(course.server),
            client_us: micros(course.client),
        })
    }
}

impl Course {
    fn enter(&mut self, stage: CallStage, now: Instant) {
        let passed = self.since.map(|since| now.saturating_duration_since(since));
        let passed = passed.unwrap_or_default();
        match self.stage {
            CallStage::Ours if !self.is_sent => self.gate += passed,
            CallStage::Ours => (),
            CallStage::Waiting => self.waiting += passed,
            CallStage::AtServer => self.server += passed,
            CallStage::AtClient => self.client += passed,
        }
        self.is_sent |= stage == CallStage::AtServer;
        self.stage = stage;
        self.since = Some(now);
    }
}

/// A wait of a call for its server.
pub struct CallWait<'a>(&'a CallCourse);

impl Drop for CallWait<'_> {
    fn drop(&mut self) {
        self.0.enter(CallStage::Ours);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_of_the_time_is_somebodys() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut course = Course {
            since: Some(start),
            ..Course::default()
        };
        for (stage, ms) in [
            (CallStage::Waiting, 2),
            (CallStage::Ours, 12),
            (CallStage::Waiting, 13),
            (CallStage::AtServer, 20),
            (CallStage::AtClient, 50),
            (CallStage::AtServer, 150),
            (CallStage::Ours, 180),
        ] {
            course.enter(stage, at(ms));
        }
        let whole = CallCourse {
            way: Guarded::new(course),
            ..CallCourse::default()
        };
        let spent = whole.spent(at(185));
        let expected = TimeSpent {
            gate_us: 3_000,
            waiting_us: 17_000,
            server_us: 60_000,
            client_us: 100_000,
        };
        assert_eq!(spent, Some(expected));
    }

    #[test]
    fn what_never_left_us_has_no_parts_and_what_did_not_come_back_counts() {
        let course = CallCourse::default();
        let start = Instant::now();
        course.begin(start);
        assert_eq!(course.spent(start + Duration::from_secs(1)), None);
        course.way.lock().enter(CallStage::AtServer, start);
        let spent = course.spent(start + Duration::from_secs(1)).expect("sent");
        assert_eq!((spent.gate_us, spent.server_us), (0, 1_000_000));
    }
}
