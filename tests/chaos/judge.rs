//! What must hold of every call, held against what happened. Pure: calls, troubles and journals in, violations out.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    time::Duration,
};

use serde_json::Value;

/// How long after the end of a trouble its server has to work again, if it is called.
pub const RECOVERY: Duration = Duration::from_secs(75);

/// How long after a daemon serves clients may take to notice that they lost the one before it.
const NOTICED: Duration = Duration::from_secs(2);

/// One call, from when it was sent to its end.
#[derive(Debug, Clone)]
pub struct Call {
    pub token: String,
    /// Which client, by number and kind.
    pub client: String,
    pub server: String,
    pub tool: &'static str,
    pub began: Duration,
    pub ended: Duration,
    pub end: End,
}

/// How a call ended.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// A whole answer, as JSON.
    Answer(Value),
    /// No answer, because the connection to the daemon failed or ended.
    Disconnected(String),
    /// Nothing until the deadline.
    Nothing,
    /// Something that nobody may say.
    Wrong(String),
}

/// The same, read by what the call was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// With its own result.
    Done,
    /// With an error that names its server.
    Failed { code: String, text: String },
    /// Without the daemon.
    Disconnected(String),
    /// Otherwise than a call may end.
    Wrong(String),
}

/// Something that befell a server, or all of them.
#[derive(Debug, Clone)]
pub struct Trouble {
    /// Of which server; of every one and of the daemon itself if absent.
    pub server: Option<String>,
    /// Of which of its tools; of all if absent.
    pub tool: Option<&'static str>,
    pub what: String,
    /// No call may fail of it.
    pub harmless: bool,
    pub began: Duration,
    /// Not at all, while it lasts.
    pub ended: Option<Duration>,
}

/// What a server is to have executed.
pub type Journals = BTreeMap<String, Vec<String>>;

/// Something that must not be.
#[derive(Debug, Clone)]
pub struct Violation {
    pub what: String,
    /// The server it concerns.
    pub server: Option<String>,
    pub at: Duration,
    pub call: Option<Call>,
}

/// How many calls ended how.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Tally {
    pub calls: usize,
    pub done: usize,
    pub failed: usize,
    pub disconnected: usize,
    /// Failures by their codes.
    pub codes: BTreeMap<String, usize>,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} calls: {} done, {} failed {:?}, {} without a daemon",
            self.calls, self.done, self.failed, self.codes, self.disconnected
        )
    }
}

/// Holds the calls against the rules.
pub fn judge(calls: &[Call], troubles: &[Trouble], journals: &Journals) -> (Tally, Vec<Violation>) {
    let mut tally = Tally::default();
    let mut violations = doubled_and_foreign(calls, journals);
    let ran = |call: &Call| {
        let journal = journals.get(&call.server);
        journal.is_some_and(|tokens| tokens.contains(&call.token))
    };
    let successes = successes(calls);
    for call in calls {
        let mut note = |what: String| {
            violations.push(Violation {
                what,
                server: Some(call.server.clone()),
                at: call.ended,
                call: Some(call.clone()),
            });
        };
        tally.calls += 1;
        match &call.end {
            End::Done => {
                tally.done += 1;
                if !ran(call) {
                    note("answered without being executed".to_owned());
                }
            }
            End::Failed { code, .. } => {
                tally.failed += 1;
                *tally.codes.entry(code.clone()).or_default() += 1;
                if NOT_EXECUTED.contains(&&**code) && ran(call) {
                    note(format!("executed, and answered with {code}"));
                }
                if !is_excused(call, troubles, &successes) {
                    note("failed without a fault of its server".to_owned());
                }
            }
            End::Disconnected(why) => {
                tally.disconnected += 1;
                if !troubles
                    .iter()
                    .any(|trouble| trouble.server.is_none() && touches(trouble, call, NOTICED))
                {
                    note(format!("lost the daemon, which was there: {why}"));
                }
            }
            End::Wrong(why) => note(why.clone()),
        }
    }
    violations.extend(unrecovered(calls, troubles));
    violations.sort_by_key(|violation| violation.at);
    (tally, violations)
}

/// Codes of failures that say that the tool did not run.
const NOT_EXECUTED: &[&str] = &[
    "tool_held",
    "tool_changed",
    "server_disabled",
    "server_unavailable",
    "unknown_tool",
    "wrong_variant",
];

fn doubled_and_foreign(calls: &[Call], journals: &Journals) -> Vec<Violation> {
    let by_token: HashMap<&str, &Call> = calls.iter().map(|call| (&*call.token, call)).collect();
    let mut seen: HashMap<&str, &str> = HashMap::new();
    let mut violations = Vec::new();
    for (server, tokens) in journals {
        for token in tokens {
            let call = by_token.get(&**token).copied();
            let mut note = |what: String| {
                violations.push(Violation {
                    what,
                    server: Some(server.clone()),
                    at: call.map_or(Duration::ZERO, |call| call.ended),
                    call: call.cloned(),
                });
            };
            if let Some(other) = seen.insert(token, server) {
                note(format!("executed twice: by {other} and by {server}"));
            }
            match call {
                None => note(format!("{server} executed {token:?}, which nobody sent")),
                Some(call) if call.server != *server => {
                    note(format!("executed by {server}, and sent to {}", call.server));
                }
                Some(_) => (),
            }
        }
    }
    violations
}

/// Reads how the call of a server ended that carried this token and asked for an answer of this length.
pub fn end_of(server: &str, token: &str, length: usize, outcome: Outcome) -> End {
    let frame = match outcome {
        Outcome::Answer(frame) => frame,
        Outcome::Disconnected(why) => return End::Disconnected(why),
        Outcome::Nothing => return End::Wrong("no answer until the deadline".to_owned()),
        Outcome::Wrong(why) => return End::Wrong(why),
    };
    let result = &frame["result"];
    if result.is_object() && result["isError"] != true {
        return own_result(token, length, result);
    }
    let (text, code) = if result.is_object() {
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        let failure: Value = serde_json::from_str(text).unwrap_or_default();
        (text.to_owned(), failure["code"].clone())
    } else {
        let error = &frame["error"];
        let code = match &error["data"]["code"] {
            Value::Null => error["code"].clone(),
            code => code.clone(),
        };
        (error.to_string(), code)
    };
    let code = code
        .as_str()
        .map_or_else(|| code.to_string(), str::to_owned);
    if text.contains(server) {
        return End::Failed { code, text };
    }
    if ["connection_lost", "internal"].contains(&&*code) {
        // A failure of a bridge, which does not know what its lines are about.
        return End::Disconnected(text);
    }
    End::Wrong(format!("an error that does not name its server: {text}"))
}

fn own_result(token: &str, length: usize, result: &Value) -> End {
    let came = &result["structuredContent"]["token"];
    if came != token {
        let shown: String = result.to_string().chars().take(300).collect();
        return End::Wrong(format!("the answer of another call, {came}: {shown}"));
    }
    let padding = result["content"][1]["text"].as_str().map_or(0, str::len);
    if padding != length {
        return End::Wrong(format!("{padding} of {length} characters came"));
    }
    End::Done
}

/// When calls of each server began that succeeded, with when they ended.
type Successes<'a> = HashMap<(&'a str, &'a str), Vec<(Duration, Duration)>>;

fn successes(calls: &[Call]) -> Successes<'_> {
    let mut found = Successes::new();
    for call in calls {
        if call.end == End::Done {
            let times = found.entry((&*call.server, call.tool)).or_default();
            times.push((call.began, call.ended));
        }
    }
    found
}

/// Whether the call was in flight while its server was in trouble, or before it was seen to have got over it.
fn is_excused(call: &Call, troubles: &[Trouble], successes: &Successes<'_>) -> bool {
    troubles.iter().any(|trouble| {
        if trouble.harmless || !concerns(trouble, &call.server, call.tool) {
            return false;
        }
        if touches(trouble, call, Duration::ZERO) {
            return true;
        }
        let Some(ended) = trouble.ended.filter(|ended| *ended <= call.began) else {
            return false;
        };
        let recovered = successes
            .iter()
            .filter(|((server, tool), _)| concerns(trouble, server, tool) && *server == call.server)
            .flat_map(|(_, times)| times)
            .any(|(began, done)| *began >= ended && *done <= call.began);
        trouble.server.is_some() && !recovered && call.began <= ended + RECOVERY
    })
}

fn concerns(trouble: &Trouble, server: &str, tool: &str) -> bool {
    trouble.server.as_deref().is_none_or(|own| own == server)
        && trouble.tool.is_none_or(|own| own == tool)
}

fn touches(trouble: &Trouble, call: &Call, grace: Duration) -> bool {
    trouble.began <= call.ended
        && trouble
            .ended
            .is_none_or(|ended| call.began <= ended + grace)
}

/// Servers that did not work again, however often they were called.
fn unrecovered(calls: &[Call], troubles: &[Trouble]) -> Vec<Violation> {
    let mut last: BTreeMap<&str, &Call> = BTreeMap::new();
    for call in calls {
        let latest = last.entry(&call.server).or_insert(call);
        if latest.began < call.began {
            *latest = call;
        }
    }
    let unended = troubles.iter().filter(|trouble| trouble.ended.is_none());
    let unended = unended.map(|trouble| Violation {
        what: format!("never came to an end: {}", trouble.what),
        server: trouble.server.clone(),
        at: trouble.began,
        call: None,
    });
    let failed = last.into_values();
    let failed = failed.filter(|call| call.end != End::Done);
    let failed = failed.map(|call| Violation {
        what: "the last call of its server failed".to_owned(),
        server: Some(call.server.clone()),
        at: call.ended,
        call: Some(call.clone()),
    });
    unended.chain(failed).collect()
}
