//! Metrics for Prometheus (`OpenMetrics` 1.0): counts and durations of calls, and figures of the daemon. The task of the activity log counts
//! calls here after they ended, so that no call waits for it. The only door to prometheus-client.

use std::{borrow::Cow, collections::HashSet, fmt, sync::Arc, time::Duration};

use prometheus_client::{
    encoding::text,
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::{Metric, Registry, Unit},
};

use crate::runtime::sync::Guarded;

/// The media type of [`Metrics::text`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Limit: pairs of server and tool that are counted apart, and bytes of a name in a label. Further pairs and longer names are counted
/// together under [`OTHER`].
const MOST_PAIRS: usize = 1_000;
const LONGEST_NAME: usize = 128;

const OTHER: &str = "other";

/// The upper bounds of the histogram of durations, in seconds.
const BUCKETS: [f64; 12] = [
    0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0,
];

/// All metrics. Cheap to clone; clones count together.
#[derive(Clone)]
pub struct Metrics(Arc<Parts>);

struct Parts {
    registry: Registry,
    calls: Family<Labels<4>, Counter>,
    durations: Family<Labels<1>, Histogram>,
    refusals: Family<Labels<1>, Counter>,
    events: Family<Labels<2>, Counter>,
    servers: Family<Labels<1>, Gauge>,
    /// In the order of [`Figures::named`].
    figures: [Gauge; 6],
    /// The pairs that have labels of their own.
    pairs: Guarded<HashSet<(String, String)>>,
}

/// The labels of a metric: their names and values, in the order in which they are written.
type Labels<const N: usize> = [(&'static str, Cow<'static, str>); N];

/// Ended calls that are counted alike, with redacted names.
#[derive(Debug, Clone, Copy)]
pub struct CountedCall<'a> {
    /// When the last of them ended.
    pub millis: u64,
    /// The number of calls.
    pub calls: u64,
    /// Whether other calls caused them, as those of a script are.
    pub is_caused: bool,
    /// The server; `None` for built-in tools and unknown servers.
    pub server: Option<&'a str>,
    /// The tool, if a tool was called.
    pub tool: Option<&'a str>,
    /// The method of MCP.
    pub method: &'a str,
    /// The outcome, as the activity log records it.
    pub outcome: &'a str,
    /// The duration of each call of which it is known.
    pub took: &'a [Duration],
    /// The name of the client.
    pub client: Option<&'a str>,
    /// The caller.
    pub caller: Option<&'a str>,
}

impl CountedCall<'_> {
    /// Whether the names may be made up by the client: nobody checked them.
    pub fn is_doubtful(&self) -> bool {
        matches!(self.outcome, "invalid" | "refused")
    }
}

/// Figures of the daemon at the moment when the text is written.
#[derive(Debug, Clone, Copy, Default)]
pub struct Figures {
    /// Open client sessions.
    pub sessions: u64,
    /// Known tools.
    pub tools: u64,
    /// Callable tools.
    pub callable_tools: u64,
    /// Seconds since the start.
    pub uptime_seconds: u64,
    /// Records in the activity log.
    pub records: u64,
    /// Records of this run that were not kept.
    pub not_kept: u64,
}

impl Figures {
    /// Each figure with the name and the help text of its metric.
    #[rustfmt::skip]
    fn named(&self) -> [(u64, &'static str, &'static str); 6] {
        [
            (self.sessions, "mcpproxy_sessions", "Open client sessions"),
            (self.tools, "mcpproxy_tools", "Known tools"),
            (self.callable_tools, "mcpproxy_callable_tools", "Callable tools"),
            (self.uptime_seconds, "mcpproxy_uptime_seconds", "Seconds since the start of the daemon"),
            (self.records, "mcpproxy_activity_records", "Records in the file of the activity log"),
            (self.not_kept, "mcpproxy_activity_records_not_kept", "Records of this run that are missing from the activity log"),
        ]
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

/// Makes a metric, and registers it.
fn register<M: Metric + Default + Clone>(registry: &mut Registry, name: &str, help: &str) -> M {
    let metric = M::default();
    registry.register(name, help, metric.clone());
    metric
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::default();
        let calls = register(
            &mut registry,
            "mcpproxy_calls",
            "Ended calls by server, tool, method and outcome; server and tool are empty for unknown and built-in tools",
        );
        let durations = Family::new_with_constructor(make_histogram as fn() -> Histogram);
        registry.register_with_unit(
            "mcpproxy_call_duration",
            "Duration of calls by server",
            Unit::Seconds,
            durations.clone(),
        );
        Self(Arc::new(Parts {
            calls,
            durations,
            refusals: register(
                &mut registry,
                "mcpproxy_refusals",
                "Requests refused before they became calls, by code",
            ),
            events: register(
                &mut registry,
                "mcpproxy_server_events",
                "Events of servers: ready, failed, lost, login needed, asleep, held",
            ),
            servers: register(
                &mut registry,
                "mcpproxy_servers",
                "Configured servers, by state",
            ),
            figures: Figures::default()
                .named()
                .map(|(_, name, help)| register(&mut registry, name, help)),
            pairs: Guarded::default(),
            registry,
        }))
    }
}

fn make_histogram() -> Histogram {
    Histogram::new(BUCKETS)
}

impl Metrics {
    /// Counts calls that ended.
    pub fn count_call(&self, call: CountedCall<'_>) {
        // Made-up names would fill the limit of pairs.
        let (server, tool) = if call.is_doubtful() {
            self.named(None, None)
        } else {
            self.named(call.server, call.tool)
        };
        let label = [("server", server.clone().into())];
        let durations = self.0.durations.get_or_create_owned(&label);
        for took in call.took {
            durations.observe(took.as_secs_f64());
        }
        let labels = [
            ("server", server.into()),
            ("tool", tool.into()),
            ("method", known_method(call.method).into()),
            ("outcome", call.outcome.to_owned().into()),
        ];
        self.0.calls.get_or_create(&labels).inc_by(call.calls);
    }

    /// Counts requests that were refused with a code before they were a call.
    pub fn count_refusals(&self, code: &'static str, times: u64) {
        let label = [("code", code.into())];
        self.0.refusals.get_or_create(&label).inc_by(times);
    }

    /// Counts what happened to a server.
    pub fn count_event(&self, server: &str, event: &'static str) {
        let (server, _) = self.named(Some(server), None);
        let labels = [("server", server.into()), ("event", event.into())];
        self.0.events.get_or_create(&labels).inc();
    }

    /// The text, with these numbers of servers in each state, and these figures.
    pub fn text(&self, servers: &[(&'static str, usize)], figures: &Figures) -> String {
        let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        for (state, count) in servers {
            let label = [("state", (*state).into())];
            let gauge = self.0.servers.get_or_create(&label);
            gauge.set(number(u64::try_from(*count).unwrap_or(u64::MAX)));
        }
        for (gauge, (count, ..)) in self.0.figures.iter().zip(figures.named()) {
            gauge.set(number(count));
        }
        let mut written = String::new();
        // Writing to memory does not fail.
        let _ = text::encode(&mut written, &self.0.registry);
        written
    }

    /// The labels for a server and a tool: their names, within the limits.
    fn named(&self, server: Option<&str>, tool: Option<&str>) -> (String, String) {
        let pair = (
            as_label(server.unwrap_or_default()),
            as_label(tool.unwrap_or_default()),
        );
        let other = || (OTHER.to_owned(), OTHER.to_owned());
        if pair.0.len().max(pair.1.len()) > LONGEST_NAME {
            return other();
        }
        let mut pairs = self.0.pairs.lock();
        if !pairs.contains(&pair) {
            if pairs.len() >= MOST_PAIRS {
                return other();
            }
            pairs.insert(pair.clone());
        }
        pair
    }
}

/// A name as it stands between the quotes of a label: the library writes it as it is (`OpenMetrics` 1.0, "Escaping").
fn as_label(name: &str) -> String {
    if !name.contains(['\\', '"', '\n']) {
        return name.to_owned();
    }
    let escaped = name.replace('\\', r"\\").replace('"', "\\\"");
    escaped.replace('\n', r"\n")
}

/// The label for a method: its name if it is one that calls something, else [`OTHER`], because clients make up names.
fn known_method(method: &str) -> &'static str {
    #[rustfmt::skip]
    const KNOWN: [&str; 5] = [
        "tools/call", "prompts/get", "resources/read", "resources/subscribe", "completion/complete",
    ];
    let known = KNOWN.into_iter().find(|known| *known == method);
    known.unwrap_or(OTHER)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call<'a>(server: &'a str, tool: &'a str) -> CountedCall<'a> {
        CountedCall {
            millis: 0,
            calls: 1,
            is_caused: false,
            server: Some(server),
            tool: Some(tool),
            method: "tools/call",
            outcome: "ok",
            took: const { &[Duration::from_millis(20)] },
            client: None,
            caller: None,
        }
    }

    #[test]
    fn no_name_ends_its_label() {
        let metrics = Metrics::default();
        for name in ["a\"} 1\nfake 1", "b\\", "c\""] {
            metrics.count_call(call("s", name));
        }
        let text = metrics.text(&[], &Figures::default());
        for label in [
            r#"tool="a\"} 1\nfake 1","#,
            r#"tool="b\\","#,
            r#"tool="c\"","#,
        ] {
            assert!(text.contains(label), "{label} in {text}");
        }
        assert!(!text.lines().any(|line| line.starts_with("fake")), "{text}");
    }

    #[test]
    fn calls_are_counted_by_what_they_are_of() {
        let metrics = Metrics::default();
        metrics.count_call(call("a", "x"));
        metrics.count_call(call("a", "x"));
        metrics.count_call(CountedCall {
            method: "made/up",
            outcome: "invalid",
            ..call("made", "up")
        });
        metrics.count_refusals("rate_limited", 3);
        metrics.count_event("a", "ready");
        let figures = Figures {
            sessions: 4,
            ..Figures::default()
        };
        let text = metrics.text(&[("ready", 2)], &figures);
        for line in [
            r#"mcpproxy_calls_total{server="a",tool="x",method="tools/call",outcome="ok"} 2"#,
            r#"mcpproxy_calls_total{server="",tool="",method="other",outcome="invalid"} 1"#,
            r#"mcpproxy_call_duration_seconds_bucket{le="0.01",server="a"} 0"#,
            r#"mcpproxy_call_duration_seconds_bucket{le="0.05",server="a"} 2"#,
            r#"mcpproxy_refusals_total{code="rate_limited"} 3"#,
            r#"mcpproxy_server_events_total{server="a",event="ready"} 1"#,
            r#"mcpproxy_servers{state="ready"} 2"#,
            "mcpproxy_sessions 4",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}:\n{text}");
        }
        assert!(text.ends_with("# EOF\n"), "{text}");
    }

    #[test]
    fn labels_are_bounded() {
        let metrics = Metrics::default();
        for number in 0..MOST_PAIRS + 7 {
            metrics.count_call(call("a", &number.to_string()));
        }
        metrics.count_call(call(&"n".repeat(LONGEST_NAME + 1), "x"));
        metrics.count_call(call("quote\"\n\\", "x"));
        let text = metrics.text(&[], &Figures::default());
        let series = text.matches("mcpproxy_calls_total{").count();
        assert_eq!(series, MOST_PAIRS + 1, "and the others together");
        let others = r#"{server="other",tool="other",method="tools/call",outcome="ok"} 9"#;
        assert!(text.contains(others), "{text}");
    }
}
