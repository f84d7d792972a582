//! Running figures of the calls of the last hour and the last 24 hours, by server and tool. Calls are counted as they end, so that no records
//! have to be read. The hour is kept in slots of a minute, the day in slots of an hour. Pure.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    iter,
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use super::{
    figures_cell::{CallSums, Cell},
    redaction::Redaction,
};
use crate::{
    telemetry::metrics::CountedCall,
    text::{
        moment::{self, HOUR, MINUTE},
        spelt,
    },
};

/// Limit: pairs of server and tool that are counted apart. Further pairs are counted together under [`OTHER`].
const MOST_PAIRS: usize = 1_000;

/// Limit: pairs up to which a call is counted apart that was refused or invalid, because clients make up names in such calls.
const MOST_DOUBTFUL: usize = 200;

/// Limit: bytes of a name. Calls with a longer one are counted under [`OTHER`].
const LONGEST_NAME: usize = 128;

/// Limit: names of clients and callers.
const MOST_PEOPLE: usize = 500;

/// The number of parts of a period for which a server's calls are given.
const STRETCHES: usize = 12;

const OTHER: &str = "other";

/// The period of figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FigurePeriod {
    /// The last hour.
    Hour,
    /// The last 24 hours.
    Day,
}

spelt!(FigurePeriod { Hour = "1h", Day = "24h" });

impl FigurePeriod {
    /// The milliseconds of a slot, and the number of slots beside the current one.
    fn slots(self) -> (u64, u64) {
        match self {
            Self::Hour => (MINUTE, 60),
            Self::Day => (HOUR, 24),
        }
    }

    /// The start of its first slot, in milliseconds since 1970.
    pub(super) fn from(self, now: u64) -> u64 {
        let (width, count) = self.slots();
        (now / width).saturating_sub(count) * width
    }
}

/// The sums of calls to a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ServerSums {
    /// The server; `other` for all beyond the first thousand pairs of server and tool.
    pub server: String,
    /// The sums of all its calls, including those that calls of built-in tools made.
    #[serde(flatten)]
    pub sums: CallSums,
    /// The calls and failures in each twelfth of the period, oldest first.
    pub stretches: Vec<[u64; 2]>,
}

/// The sums of calls of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ToolSums {
    /// Its server.
    pub server: String,
    /// The server's own name for it.
    pub tool: String,
    /// The sums of its calls.
    #[serde(flatten)]
    pub sums: CallSums,
}

/// The sums of calls of an hour or a day.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CallFigures {
    /// The start of the counted time (RFC 3339).
    pub from: String,
    /// Whether all calls since then are counted; false right after a start, or if there are too many records.
    pub complete: bool,
    /// The sums of the selected calls; calls that another call made are counted only if the request names a server.
    pub all: CallSums,
    /// The sums by server.
    pub servers: Vec<ServerSums>,
    /// The sums by tool, if the request names a server or a tool.
    pub tools: Vec<ToolSums>,
}

/// The calls whose figures are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WantedFigures {
    /// Only calls to this server.
    pub server: Option<String>,
    /// Only calls of this tool.
    pub tool: Option<String>,
}

impl WantedFigures {
    /// The same with the names under which calls are counted: redacted, as in records.
    pub(super) fn in_record_words(self, redaction: &Redaction) -> Self {
        let recorded = |name: Option<String>| name.map(|name| redaction.name(&name));
        Self {
            server: recorded(self.server),
            tool: recorded(self.tool),
        }
    }

    fn has(&self, pair: &Pair) -> bool {
        let is = |wanted: &Option<String>, found: &str| {
            wanted.as_deref().is_none_or(|wanted| wanted == found)
        };
        is(&self.server, &pair.server) && is(&self.tool, &pair.tool)
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Pair {
    server: Box<str>,
    tool: Box<str>,
}

impl Pair {
    fn new(server: &str, tool: &str) -> Self {
        Self {
            server: server.into(),
            tool: tool.into(),
        }
    }
}

/// The running figures.
#[derive(Debug, Default)]
pub(super) struct RunningFigures {
    /// By [`FigurePeriod`], the slots by their number since 1970.
    slots: [BTreeMap<u64, Slot>; 2],
    /// The pairs that are counted apart, and the time of the last call of each.
    pairs: HashMap<Arc<Pair>, u64>,
    /// The names of clients and callers.
    people: HashSet<Arc<str>>,
}

#[derive(Debug, Default)]
struct Slot {
    all: Cell,
    pairs: HashMap<Arc<Pair>, Cell>,
}

/// The sums of the wanted calls of a period: of all, by server, and by server and tool.
#[derive(Default)]
struct Tally<'a> {
    all: Cell,
    /// With the calls and failures in each stretch of the period.
    servers: BTreeMap<&'a str, (Cell, [[u64; 2]; STRETCHES])>,
    /// Nothing if all calls are wanted.
    tools: BTreeMap<(&'a str, &'a str), Cell>,
}

impl RunningFigures {
    /// Counts calls that ended in one minute. Calls of more than a day ago, or of the future, are not counted.
    pub(super) fn add(&mut self, call: CountedCall<'_>, now: u64) {
        if call.millis > now + MINUTE || call.millis < FigurePeriod::Day.from(now) {
            return;
        }
        let people = [call.client.map(program), call.caller];
        let [client, caller] = people.map(|name| name.and_then(|name| self.person(name)));
        let pair = call.server.map(|server| self.pair(server, call));
        for period in [FigurePeriod::Hour, FigurePeriod::Day] {
            let (width, count) = period.slots();
            let slots = &mut self.slots[period as usize];
            let first = (now / width).saturating_sub(count);
            let at = call.millis / width;
            if at < first {
                continue;
            }
            while slots.first_key_value().is_some_and(|(old, _)| *old < first) {
                slots.pop_first();
            }
            let slot = slots.entry(at).or_default();
            let own = pair.clone().map(|pair| slot.pairs.entry(pair).or_default());
            let all = (!call.is_caused).then_some(&mut slot.all);
            for cell in own.into_iter().chain(all) {
                cell.add(call, client.as_ref(), caller.as_ref());
            }
        }
    }

    /// The figures at `now`.
    pub(super) fn show(
        &self,
        period: FigurePeriod,
        wanted: &WantedFigures,
        (now, complete): (u64, bool),
    ) -> CallFigures {
        let tally = self.tally(period, wanted, now);
        let of_day = self.tally(FigurePeriod::Day, wanted, now);
        let last = |cell: Option<&Cell>| cell.and_then(|cell| cell.last);
        let servers = tally.servers.iter().map(|(server, (cell, stretches))| {
            let of_day = of_day.servers.get(server).map(|(cell, _)| cell);
            ServerSums {
                server: (*server).to_owned(),
                sums: cell.sums(last(of_day)),
                stretches: stretches.to_vec(),
            }
        });
        let servers = servers.collect();
        let tools = tally.tools.iter();
        let tools = tools.filter(|((_, tool), _)| !tool.is_empty());
        let tools = tools.map(|(pair, cell)| ToolSums {
            server: pair.0.to_owned(),
            tool: pair.1.to_owned(),
            sums: cell.sums(last(of_day.tools.get(pair))),
        });
        CallFigures {
            from: moment::utc_millis(period.from(now)),
            complete,
            all: tally.all.sums(of_day.all.last),
            servers,
            tools: tools.collect(),
        }
    }

    /// The slots of a period, each with the stretch in which it lies. After the clock was set back there may be slots of a time to come; they
    /// are not among these.
    fn slots_of(&self, period: FigurePeriod, now: u64) -> impl Iterator<Item = (usize, &Slot)> {
        let (width, count) = period.slots();
        let current = now / width;
        let numbers = current.saturating_sub(count)..=current;
        let length = numbers.clone().count();
        let slots = &self.slots[period as usize];
        let numbers = numbers.enumerate();
        numbers.filter_map(move |(i, at)| Some((i * STRETCHES / length, slots.get(&at)?)))
    }

    /// The sums of the wanted calls of a period.
    fn tally(&self, period: FigurePeriod, wanted: &WantedFigures, now: u64) -> Tally<'_> {
        let is_whole = *wanted == WantedFigures::default();
        let mut tally = Tally::default();
        for pair in self.pairs.keys().filter(|pair| wanted.has(pair)) {
            tally.servers.entry(&*pair.server).or_default();
        }
        for (stretch, slot) in self.slots_of(period, now) {
            if is_whole {
                tally.all.merge(&slot.all);
            }
            for (pair, cell) in slot.pairs.iter().filter(|(pair, _)| wanted.has(pair)) {
                let server = tally.servers.entry(&*pair.server);
                let (of_server, stretches) = server.or_default();
                of_server.merge(cell);
                let [calls, failed] = &mut stretches[stretch];
                *calls += cell.calls;
                *failed += cell.failed;
                if !is_whole {
                    tally.all.merge(cell);
                    let tool = tally.tools.entry((&*pair.server, &*pair.tool));
                    tool.or_default().merge(cell);
                }
            }
        }
        tally
    }

    /// The pair under which a call is counted, which is remembered.
    fn pair(&mut self, server: &str, call: CountedCall<'_>) -> Arc<Pair> {
        let most = if call.is_doubtful() {
            MOST_DOUBTFUL
        } else {
            MOST_PAIRS
        };
        if self.pairs.len() >= most {
            self.forget(call.millis);
        }
        let named = self.named(server, call, most);
        let known = self.pairs.get_key_value(&named);
        let known = known.map(|(known, _)| known.clone());
        let pair = known.unwrap_or_else(|| Arc::new(named));
        let last = self.pairs.entry(pair.clone()).or_default();
        *last = (*last).max(call.millis);
        pair
    }

    /// The names under which a call is counted: its own, else that of the server alone if the client may have made up the tool's, else
    /// [`OTHER`].
    fn named(&self, server: &str, call: CountedCall<'_>, most: usize) -> Pair {
        let has_room = self.pairs.len() < most;
        let alone = call.is_doubtful().then_some("");
        let tools = iter::once(call.tool.unwrap_or_default()).chain(alone);
        let fitting = tools.filter(|tool| server.len().max(tool.len()) <= LONGEST_NAME);
        let mut pairs = fitting.map(|tool| Pair::new(server, tool));
        let pair = pairs.find(|pair| has_room || self.pairs.contains_key(pair));
        pair.unwrap_or_else(|| Pair::new(OTHER, OTHER))
    }

    fn person(&mut self, name: &str) -> Option<Arc<str>> {
        if name.is_empty() || name.len() > LONGEST_NAME {
            return None;
        }
        if let Some(known) = self.people.get(name) {
            return Some(known.clone());
        }
        if self.people.len() >= MOST_PEOPLE {
            // Keeps the names that a slot still refers to.
            self.people.retain(|name| Arc::strong_count(name) > 1);
        }
        if self.people.len() >= MOST_PEOPLE {
            return None;
        }
        let name: Arc<str> = name.into();
        self.people.insert(name.clone());
        Some(name)
    }

    /// Removes pairs that were not called for a day.
    fn forget(&mut self, now: u64) {
        let first = FigurePeriod::Day.from(now);
        self.pairs.retain(|_, last| *last >= first);
    }
}

/// The name of a client without its version: a last word with a digit in it.
pub fn program(client: &str) -> &str {
    match client.rsplit_once(' ') {
        Some((name, version)) if version.contains(|c: char| c.is_ascii_digit()) => name,
        _ => client,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{super::figures_cell::MOST_NAMED, *};

    const NOW: u64 = 1_795_293_859_123;

    fn call<'a>(tool: &'a str, outcome: &'static str) -> CountedCall<'a> {
        CountedCall {
            millis: NOW,
            is_caused: false,
            server: Some("up"),
            tool: Some(tool),
            method: "tools/call",
            outcome,
            calls: 1,
            took: const { &[Duration::from_millis(1)] },
            client: Some("Claude Code 2.1"),
            caller: Some("ada"),
        }
    }

    fn figures(calls: &[CountedCall<'_>]) -> RunningFigures {
        let mut figures = RunningFigures::default();
        for call in calls {
            figures.add(*call, NOW);
        }
        figures
    }

    fn shown(figures: &RunningFigures, period: FigurePeriod, wanted: [&str; 2]) -> CallFigures {
        let [server, tool] = wanted.map(|name| (!name.is_empty()).then(|| name.to_owned()));
        figures.show(period, &WantedFigures { server, tool }, (NOW, true))
    }

    #[test]
    fn a_call_that_another_caused_counts_for_its_server_only() {
        let outer = CountedCall {
            server: None,
            ..call("call_tool_read", "ok")
        };
        let inner = CountedCall {
            is_caused: true,
            ..call("echo", "tool_error")
        };
        let figures = figures(&[outer, inner, call("echo", "ok"), call("other", "refused")]);
        let all = shown(&figures, FigurePeriod::Hour, ["", ""]);
        assert_eq!((all.all.calls, all.all.failed, all.all.refused), (3, 0, 1));
        assert_eq!(all.all.clients, ["Claude Code"]);
        assert_eq!(all.all.callers, ["ada"]);
        assert!(all.tools.is_empty());
        let [up] = &all.servers[..] else {
            panic!("{all:?}");
        };
        assert_eq!((&*up.server, up.sums.calls, up.sums.failed), ("up", 3, 1));
        assert_eq!(up.stretches[STRETCHES - 1], [3, 1]);
        let one = shown(&figures, FigurePeriod::Day, ["up", "echo"]);
        assert_eq!((one.all.calls, one.all.failed, one.all.refused), (2, 1, 0));
        let refused = shown(&figures, FigurePeriod::Day, ["up", "other"]).all;
        assert_eq!((refused.calls, refused.median_us), (1, None));
        assert_eq!(one.tools.len(), 1);
        let server = shown(&figures, FigurePeriod::Day, ["up", ""]);
        assert_eq!((server.all.calls, server.tools.len()), (3, 2));
    }

    #[test]
    fn what_is_wanted_is_found_by_its_own_name_and_by_the_one_that_was_counted() {
        let redaction = Redaction::default();
        let counted = redaction.name("sl/ash?a=1#x%2F..");
        let figures = figures(&[call(&counted, "ok"), call("echo", "ok")]);
        for name in ["sl/ash?a=1#x%2F..", &counted] {
            let wanted = WantedFigures {
                server: Some("up".to_owned()),
                tool: Some(name.to_owned()),
            };
            let wanted = wanted.in_record_words(&redaction);
            let shown = figures.show(FigurePeriod::Day, &wanted, (NOW, true));
            assert_eq!(shown.all.calls, 1, "{name}");
        }
    }

    #[test]
    fn a_program_is_a_client_without_its_version() {
        for (client, expected) in [
            ("Visual Studio Code 1.9", "Visual Studio Code"),
            ("Visual Studio Code", "Visual Studio Code"),
            ("claude-code 2.1.3-beta", "claude-code"),
            ("cursor v1", "cursor"),
            ("agent2", "agent2"),
            ("", ""),
        ] {
            assert_eq!(program(client), expected);
        }
    }

    #[test]
    fn an_hour_and_a_day_end() {
        let ago = |millis: u64| CountedCall {
            millis: NOW - millis,
            ..call("echo", "ok")
        };
        let times = [
            0,
            59 * MINUTE,
            61 * MINUTE,
            23 * HOUR,
            25 * HOUR,
            900 * HOUR,
        ];
        let mut figures = figures(&times.map(ago));
        let counts = |figures: &RunningFigures, now: u64| {
            [FigurePeriod::Hour, FigurePeriod::Day].map(|period| {
                let shown = figures.show(period, &WantedFigures::default(), (now, true));
                (
                    shown.all.calls,
                    shown.servers.iter().map(|one| one.sums.calls).sum::<u64>(),
                )
            })
        };
        assert_eq!(counts(&figures, NOW), [(2, 2), (4, 4)]);
        assert_eq!(counts(&figures, NOW + 2 * HOUR), [(0, 0), (3, 3)]);
        let set_back = NOW - 2 * HOUR;
        assert_eq!(counts(&figures, set_back), [(0, 0), (1, 1)]);
        for (now, last) in [
            (NOW, Some(NOW)),
            (NOW + 20 * HOUR, Some(NOW)),
            (NOW + 30 * HOUR, None),
            (set_back, Some(NOW - 23 * HOUR)),
        ] {
            let wanted = WantedFigures::default();
            let shown = figures.show(FigurePeriod::Hour, &wanted, (now, true));
            let last = last.map(moment::utc_millis);
            let found = [&shown.all.last, &shown.servers[0].sums.last];
            assert_eq!(found, [&last; 2], "{now}");
        }
        figures.add(
            CountedCall {
                millis: NOW + 100 * HOUR,
                ..call("echo", "ok")
            },
            NOW + 100 * HOUR,
        );
        assert_eq!(figures.slots.each_ref().map(BTreeMap::len), [1, 1]);
        figures.add(
            CountedCall {
                millis: NOW + 300 * HOUR,
                ..call("echo", "ok")
            },
            NOW + 100 * HOUR,
        );
        assert_eq!(
            counts(&figures, NOW + 100 * HOUR),
            [(1, 1); 2],
            "of a time to come"
        );
    }

    #[test]
    fn names_are_bounded_and_those_that_clients_make_up_leave_room_for_others() {
        let mut figures = RunningFigures::default();
        let names: Vec<String> = (0..MOST_PAIRS + 7)
            .map(|number| format!("n{number}"))
            .collect();
        for name in &names {
            figures.add(call(name, "invalid"), NOW);
        }
        assert!(
            figures.pairs.len() <= MOST_DOUBTFUL + 2,
            "{}",
            figures.pairs.len()
        );
        for name in &names {
            figures.add(call(name, "ok"), NOW);
        }
        assert!(
            figures.pairs.len() <= MOST_PAIRS + 2,
            "{}",
            figures.pairs.len()
        );
        let long = "n".repeat(LONGEST_NAME + 1);
        figures.add(call(&long, "ok"), NOW);
        let sum = shown(&figures, FigurePeriod::Day, ["", ""]);
        let counted: u64 = sum.servers.iter().map(|one| one.sums.calls).sum();
        assert_eq!((counted, sum.all.calls), (2_015, 2_015));
        let many: Vec<String> = (0..2 * MOST_PEOPLE)
            .map(|number| format!("p{number}"))
            .collect();
        for name in &many {
            let caller = Some(&**name);
            figures.add(
                CountedCall {
                    caller,
                    ..call("echo", "ok")
                },
                NOW,
            );
        }
        assert!(figures.people.len() <= MOST_PEOPLE);
        assert_eq!(
            shown(&figures, FigurePeriod::Day, ["", ""])
                .all
                .callers
                .len(),
            MOST_NAMED
        );
    }

    #[test]
    fn half_and_95_of_100_took_about_so_long() {
        let times: Vec<Duration> = (1..=100).map(Duration::from_millis).collect();
        let (first, others) = times.split_at(30);
        let took = |times| CountedCall {
            calls: 1,
            took: times,
            ..call("echo", "ok")
        };
        let mut calls: Vec<_> = first.chunks(1).map(took).collect();
        calls.push(CountedCall {
            calls: 70,
            ..took(others)
        });
        let all = shown(&figures(&calls), FigurePeriod::Hour, ["", ""]).all;
        let near = |found: Option<u64>, expected: u64| {
            let found = found.expect("there are some");
            assert!(
                found.abs_diff(expected) * 8 <= expected,
                "{found}, {expected}"
            );
        };
        assert_eq!(all.calls, 100);
        near(all.median_us, 50_000);
        near(all.p95_us, 95_000);
    }
}
