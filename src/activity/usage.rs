//! The usage report: sums of the calls of some days, by tool, server, caller and client. Read from the file when it is requested; nothing is
//! counted for it while calls are made.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::SystemTime,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    counting::{CountedRecord, read_back},
    figures::program,
    figures_cell::{CallSums, Cell},
    reading::{ActivityReader, UnreadableActivity, unreadable},
    store::LookedBack,
};
use crate::text::moment::{self, DAY, HOUR};

/// Limit: days of a report.
const MOST_DAYS: u64 = 90;

/// Limit: tools, callers, clients and their days that are counted. Further ones are left out.
const MOST_KEYS: usize = 20_000;

/// Limit: versions of a client that are shown.
const MOST_VERSIONS: usize = 5;

/// The tool that agents search with.
const RETRIEVE_TOOLS: &str = "retrieve_tools";

/// Bytes of a token, estimated.
const TOKEN: u64 = 4;

/// The calls to sum up.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct UsageQuery {
    /// The number of days, 1 to 90; 30 by default.
    #[schemars(range(min = 1, max = 90))]
    pub days: Option<u64>,
    /// Only calls to this server.
    pub server: Option<String>,
    /// Only calls by this caller.
    pub caller: Option<String>,
}

/// The sums of some calls.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct UsageSums {
    /// The number of calls, and how they ended.
    #[serde(flatten)]
    pub sums: CallSums,
    /// The size of the answers in bytes.
    pub answer_bytes: u64,
    /// The estimated tokens of the answers, at 4 bytes each.
    pub answer_tokens: u64,
}

/// The usage of a tool.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ToolUsage {
    /// Its server.
    pub server: String,
    /// The server's own name for it.
    pub tool: String,
    /// The sums of its calls.
    #[serde(flatten)]
    pub usage: UsageSums,
}

/// The usage of a server or by a caller.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct NamedUsage {
    /// The name of the server or caller.
    pub name: String,
    /// The sums of the calls.
    #[serde(flatten)]
    pub usage: UsageSums,
}

/// The usage by a client.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ClientUsage {
    /// The name that the client gives itself.
    pub name: String,
    /// Its versions, the latest to call first; at most five.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<String>,
    /// The sums of the calls.
    #[serde(flatten)]
    pub usage: UsageSums,
}

/// The tokens of definitions that searching saved, at 4 bytes each.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct DefinitionUsage {
    /// The tokens of the definitions of all callable tools.
    pub all: u64,
    /// The days with calls, summed over callers and clients; each would load all definitions at least once a day.
    pub client_days: u64,
    /// The number of searches.
    pub searches: u64,
    /// The tokens of the answers of searches.
    pub sent: u64,
    /// The tokens that all definitions would have taken, less those sent.
    pub not_sent: u64,
}

/// The sums of calls over some days.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct UsageReport {
    /// The number of days.
    pub days: u64,
    /// The start of the sums (RFC 3339), later than asked for if older records are missing.
    pub from: String,
    /// Whether there are records of all these days.
    pub complete: bool,
    /// The sums of all calls; calls that another call made are counted only with `server`.
    pub all: Option<UsageSums>,
    /// The sums by tool, most used first.
    pub tools: Vec<ToolUsage>,
    /// The sums by server.
    pub servers: Vec<NamedUsage>,
    /// The sums by caller.
    pub callers: Vec<NamedUsage>,
    /// The sums by client, all versions together.
    pub clients: Vec<ClientUsage>,
    /// The calls and failures of each day, or of each hour of a single day; oldest first.
    pub stretches: Vec<[u64; 2]>,
    /// The tokens that searching saved.
    pub definitions: DefinitionUsage,
}

/// The sums of one tool, server, caller or client while they are counted.
#[derive(Default)]
struct Sum {
    cell: Cell,
    bytes: u64,
}

impl Sum {
    fn add(&mut self, record: &CountedRecord, millis: u64, names: &mut Names) {
        let client = record.client.as_deref().map(program);
        let [client, caller] =
            [client, record.caller.as_deref()].map(|name| Some(names.shared(name?)));
        let counted = record.counted(millis);
        self.cell.add(counted, client.as_ref(), caller.as_ref());
        self.bytes += record.answer_bytes.unwrap_or(0);
    }

    fn shown(&self) -> UsageSums {
        UsageSums {
            sums: self.cell.sums(self.cell.last),
            answer_bytes: self.bytes,
            answer_tokens: self.bytes / TOKEN,
        }
    }
}

/// Shares one text for each name.
#[derive(Default)]
struct Names(HashMap<String, Arc<str>>);

impl Names {
    fn shared(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.0.get(name) {
            return known.clone();
        }
        let shared: Arc<str> = name.into();
        (self.0.len() < MOST_KEYS).then(|| self.0.insert(name.to_owned(), shared.clone()));
        shared
    }
}

/// Adds up records into a report.
#[derive(Default)]
struct Adding {
    query: UsageQuery,
    since: u64,
    width: u64,
    names: Names,
    all: Sum,
    tools: HashMap<(String, String), Sum>,
    servers: BTreeMap<String, Sum>,
    callers: BTreeMap<String, Sum>,
    clients: BTreeMap<String, Sum>,
    /// The time of the last call by client and version.
    versions: HashMap<(String, String), u64>,
    stretches: Vec<[u64; 2]>,
    /// Caller, client and day.
    client_days: BTreeSet<(String, String, u64)>,
    searches: u64,
    searched_bytes: u64,
}

impl Adding {
    fn new(query: UsageQuery, days: u64, now: u64) -> Self {
        let (width, count) = if days == 1 { (HOUR, 24) } else { (DAY, days) };
        Self {
            query,
            since: now.saturating_sub(days * DAY),
            width,
            stretches: vec![[0; 2]; usize::try_from(count).unwrap_or(1)],
            ..Self::default()
        }
    }

    fn add(&mut self, millis: u64, record: &CountedRecord) {
        let is = |wanted: &Option<String>, found: Option<&str>| {
            wanted.is_none() || wanted.as_deref() == found
        };
        let is_wanted = record.kind == "call"
            && millis >= self.since
            && is(&self.query.server, record.known_server())
            && is(&self.query.caller, record.caller.as_deref());
        if !is_wanted {
            return;
        }
        let names = &mut self.names;
        if record.parent.is_none() || self.query.server.is_some() {
            self.all.add(record, millis, names);
            let at = usize::try_from((millis - self.since) / self.width).unwrap_or(0);
            if let Some([calls, failed]) = self.stretches.get_mut(at) {
                *calls += 1;
                *failed += u64::from(record.has_failed());
            }
            let caller = record.caller.clone().unwrap_or_default();
            let full = record.client.as_deref().unwrap_or_default();
            let client = program(full);
            let version = full.strip_prefix(client).unwrap_or_default().trim_start();
            if !version.is_empty() && self.versions.len() < MOST_KEYS {
                let key = (client.to_owned(), version.to_owned());
                let last = self.versions.entry(key).or_default();
                *last = millis.max(*last);
            }
            if self.client_days.len() < MOST_KEYS {
                let day = (caller.clone(), client.to_owned(), millis / DAY);
                self.client_days.insert(day);
            }
            let by = [
                (&mut self.callers, caller),
                (&mut self.clients, client.to_owned()),
            ];
            for (sums, name) in by {
                if sums.len() < MOST_KEYS && !name.is_empty() {
                    sums.entry(name).or_default().add(record, millis, names);
                }
            }
        }
        match (record.known_server(), &record.tool) {
            (Some(server), tool) => {
                let of_server = self.servers.entry(server.to_owned()).or_default();
                of_server.add(record, millis, names);
                let key = tool.as_ref().map(|tool| (server.to_owned(), tool.clone()));
                if let Some(key) = key.filter(|_| self.tools.len() < MOST_KEYS) {
                    self.tools
                        .entry(key)
                        .or_default()
                        .add(record, millis, names);
                }
            }
            (None, Some(tool)) if record.server.is_none() && tool == RETRIEVE_TOOLS => {
                self.searches += 1;
                self.searched_bytes += record.answer_bytes.unwrap_or(0);
            }
            (None, _) => (),
        }
    }

    /// The versions of a client, the one that called last first.
    fn versions(&self, program: &str) -> Vec<String> {
        let versions = self.versions.iter().filter(|((of, _), _)| of == program);
        let mut versions: Vec<_> = versions.map(|((_, one), last)| (*last, one)).collect();
        versions.sort_by(|one, other| other.cmp(one));
        let last = versions.into_iter().take(MOST_VERSIONS);
        last.map(|(_, version)| version.clone()).collect()
    }

    fn shown(mut self, from: u64) -> UsageReport {
        let clients = named(std::mem::take(&mut self.clients)).into_iter();
        let clients = clients.map(|NamedUsage { name, usage }| ClientUsage {
            versions: self.versions(&name),
            name,
            usage,
        });
        let clients = clients.collect();
        let tools = self
            .tools
            .into_iter()
            .map(|((server, tool), sum)| ToolUsage {
                server,
                tool,
                usage: sum.shown(),
            });
        let mut tools: Vec<ToolUsage> = tools.collect();
        tools.sort_by(|one, other| {
            let key = |row: &ToolUsage| (u64::MAX - row.usage.sums.calls, row.server.clone());
            (key(one), &one.tool).cmp(&(key(other), &other.tool))
        });
        UsageReport {
            days: self.query.days.unwrap_or_default(),
            complete: from <= self.since,
            from: moment::utc_millis(from.max(self.since)),
            all: Some(self.all.shown()),
            tools,
            servers: named(self.servers),
            callers: named(self.callers),
            clients,
            stretches: self.stretches,
            definitions: DefinitionUsage {
                client_days: u64::try_from(self.client_days.len()).unwrap_or(u64::MAX),
                searches: self.searches,
                sent: self.searched_bytes / TOKEN,
                ..DefinitionUsage::default()
            },
        }
    }
}

/// The sums by name, the most used first.
fn named(sums: BTreeMap<String, Sum>) -> Vec<NamedUsage> {
    let rows = sums.into_iter().map(|(name, sum)| NamedUsage {
        name,
        usage: sum.shown(),
    });
    let mut rows: Vec<NamedUsage> = rows.collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.usage.sums.calls));
    rows
}

impl DefinitionUsage {
    /// The same, with the tokens that all definitions would have taken; these have so many bytes.
    #[must_use]
    pub fn of_definitions(mut self, bytes: u64) -> Self {
        self.all = bytes / TOKEN;
        let all = self.all.saturating_mul(self.client_days);
        self.not_sent = all.saturating_sub(self.sent);
        self
    }
}

impl ActivityReader {
    /// The usage report. Blocks.
    pub fn usage(&self, query: UsageQuery) -> Result<UsageReport, UnreadableActivity> {
        let now = moment::millis(SystemTime::now());
        let days = query.days.unwrap_or(30).clamp(1, MOST_DAYS);
        let recorded = |name: Option<String>| name.map(|name| self.redaction.name(&name));
        let query = UsageQuery {
            days: Some(days),
            server: recorded(query.server),
            caller: recorded(query.caller),
        };
        let mut adding = Adding::new(query, days, now);
        let Some(store) = &self.store else {
            return Ok(adding.shown(0));
        };
        let since = adding.since;
        let see = |millis, record: &CountedRecord| adding.add(millis, record);
        let seen = read_back(store, (u64::MAX, since), || false, see);
        Ok(match seen.map_err(unreadable)? {
            // Earlier records were not read, were removed, or never existed.
            (earliest, LookedBack::To(_) | LookedBack::ToTheFirst(_)) => adding.shown(earliest),
            (_, LookedBack::ToOlder) => adding.shown(0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_795_293_859_123;

    fn add(adding: &mut Adding, days_ago: u64, json: &str) {
        let record = serde_json::from_str(json).expect("a record");
        adding.add(NOW - days_ago * DAY - 1, &record);
    }

    #[test]
    fn calls_add_up_by_tool_server_and_caller() {
        let query = UsageQuery {
            days: Some(7),
            ..UsageQuery::default()
        };
        let mut adding = Adding::new(query, 7, NOW);
        let search = r#"{"kind":"call","caller":"ada","tool":"retrieve_tools","outcome":"ok","answer_bytes":400}"#;
        let outer = r#"{"kind":"call","caller":"ada","client":"C 1","tool":"call_tool_read","outcome":"ok","answer_bytes":4000}"#;
        let inner = r#"{"kind":"call","parent":"c1","caller":"ada","server":"up","tool":"echo","outcome":"tool_error","answer_bytes":4000,"duration_us":1000}"#;
        let made_up = r#"{"kind":"call","parent":"c2","caller":"ada","server":"nowhere","tool":"retrieve_tools","outcome":"invalid","code":"unknown_server"}"#;
        let read: CountedRecord = serde_json::from_str(made_up).expect("a record");
        assert_eq!(read.counted(NOW).server, None);
        for record in [search, outer, inner, made_up] {
            add(&mut adding, 0, record);
        }
        add(&mut adding, 3, outer);
        add(&mut adding, 8, outer);
        add(&mut adding, 0, r#"{"kind":"change","caller":"ada"}"#);
        let usage = adding.shown(0);
        let all = usage.all.expect("sums");
        assert_eq!((all.sums.calls, all.answer_tokens), (3, 2_100));
        let [tool] = &usage.tools[..] else {
            panic!("{:?}", usage.tools);
        };
        assert_eq!((&*tool.server, &*tool.tool), ("up", "echo"));
        assert_eq!(usage.servers.len(), 1);
        assert_eq!((tool.usage.sums.calls, tool.usage.sums.failed), (1, 1));
        assert_eq!(usage.callers[0].usage.sums.calls, 3);
        let [program] = &usage.clients[..] else {
            panic!("{:?}", usage.clients);
        };
        assert_eq!((&*program.name, program.usage.sums.calls), ("C", 2));
        assert_eq!(program.versions, ["1"]);
        assert_eq!(usage.stretches.iter().map(|[n, _]| n).sum::<u64>(), 3);
        let definitions = usage.definitions.of_definitions(40_000);
        assert_eq!((definitions.client_days, definitions.searches), (3, 1));
        assert_eq!(definitions.not_sent, 3 * 10_000 - 100);
    }
}
