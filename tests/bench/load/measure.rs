//! What clients do, how long it takes, and what a process spends meanwhile.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::session::{Failure, Server, Session};

/// What each client does again and again.
#[derive(Clone)]
pub(crate) enum Work {
    Call { params: Arc<str>, least: usize },
    List { least: usize },
    Open,
    Search { words: usize },
}

/// How many clients, and for how long.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) clients: usize,
    pub(crate) warmup: Duration,
    pub(crate) time: Duration,
    pub(crate) calls: u64,
}

impl Work {
    /// A call whose answer holds as many bytes, of the tool or through another one that takes its name and its arguments.
    pub(crate) fn echo(tool: &str, via: &str, bytes: usize) -> Self {
        // As tools write: mostly words, now and then what JSON escapes.
        let text: String = "A line of text, \"quoted\" here and there, 42 of them.\n"
            .chars()
            .cycle()
            .take(bytes)
            .collect();
        let arguments = json!({"text": text});
        let params = match via {
            "" => json!({"name": tool, "arguments": arguments}),
            via => json!({"name": via, "arguments": {"name": tool, "args": arguments}}),
        };
        let params = params.to_string().into();
        let least = bytes;
        Self::Call { params, least }
    }

    pub(crate) fn sleep(tool: &str, milliseconds: u64) -> Self {
        let params = json!({"name": tool, "arguments": {"milliseconds": milliseconds}});
        let params = params.to_string().into();
        Self::Call { params, least: 0 }
    }

    pub(crate) async fn once(&self, session: &mut Session) -> Result<(), Failure> {
        match self {
            Self::Call { params, least } => {
                let answer = session.request("tools/call", params).await?;
                if answer.len() < *least {
                    return Err(format!("{} bytes came", answer.len()).into());
                }
            }
            Self::List { least } => {
                let answer = session.request("tools/list", "{}").await?;
                let mark = b"\"inputSchema\"";
                // Every hundredth answer is read: reading costs more than what is measured.
                let is_read = SEARCHES.fetch_add(1, Ordering::Relaxed) % 100 == 0;
                let count = || {
                    answer
                        .windows(mark.len())
                        .filter(|some| some == mark)
                        .count()
                };
                if is_read && count() < *least {
                    return Err(format!("{} tools came", count()).into());
                }
            }
            Self::Search { words } => {
                let number = SEARCHES.fetch_add(1, Ordering::Relaxed);
                let query = query(usize::try_from(number)?, *words);
                let params = json!({"name": "retrieve_tools", "arguments": {"query": query}});
                session.request("tools/call", &params.to_string()).await?;
            }
            Self::Open => {
                session.request("tools/list", "{}").await?;
            }
        }
        Ok(())
    }
}

static SEARCHES: AtomicU64 = AtomicU64::new(0);

/// Words of which made-up tools are made, and of which no two queries are alike for long.
fn query(number: usize, words: usize) -> String {
    const VERBS: [&str; 8] = [
        "create", "look up", "browse", "edit", "remove", "filter", "dump", "delegate",
    ];
    const OBJECTS: [&str; 9] = [
        "issue",
        "release",
        "channel",
        "invoice",
        "ticket",
        "deployment",
        "comment",
        "milestone",
        "attachment",
    ];
    const PLACES: [&str; 7] = [
        "github",
        "jira",
        "stripe",
        "kubernetes",
        "figma",
        "linear",
        "grafana",
    ];
    let parts = [VERBS.as_slice(), &OBJECTS, &PLACES];
    let word = |at: usize| {
        let part = parts[at % parts.len()];
        part[(number / 3 + at * at) % part.len()]
    };
    (number..number + words)
        .map(word)
        .collect::<Vec<_>>()
        .join(" ")
}

/// A process of which we tell what it spends; number 0 is none.
#[derive(Clone, Copy)]
pub(crate) struct Process(u32);

impl Process {
    pub(crate) fn of(number: u32) -> Self {
        Self(number)
    }

    fn stat(self, field: usize) -> u64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0)).unwrap_or_default();
        let fields = stat.rsplit(')').next().unwrap_or_default();
        let value = fields.split_whitespace().nth(field);
        value
            .and_then(|value| value.parse().ok())
            .unwrap_or_default()
    }

    /// Resident, in KiB.
    pub(crate) fn memory(self) -> u64 {
        self.stat(21) * 4
    }

    /// Time on a CPU, in microseconds; the kernel counts hundredths of a second.
    fn spent(self) -> u64 {
        (self.stat(11) + self.stat(12)) * 10_000
    }
}

/// Lets clients work, and tells what ended in the time.
pub(crate) async fn measure(
    server: &Arc<Server>,
    work: Work,
    plan: Plan,
    process: Process,
) -> Value {
    let begin = Instant::now() + plan.warmup;
    let end = begin + plan.time;
    let left = Arc::new(AtomicU64::new(plan.calls));
    let clients: Vec<_> = (0..plan.clients)
        .map(|_| {
            tokio::spawn(client(
                server.clone(),
                work.clone(),
                begin,
                end,
                left.clone(),
            ))
        })
        .collect();
    tokio::time::sleep_until(begin.into()).await;
    let before = process.spent();
    let (mut times, mut failures) = (Vec::new(), Vec::new());
    let mut spent = None;
    if plan.calls == u64::MAX {
        tokio::time::sleep_until(end.into()).await;
        spent = Some(process.spent());
    }
    for client in clients {
        let (its_times, its_failures) = client.await.unwrap_or_default();
        times.extend(its_times);
        failures.extend(its_failures);
    }
    let spent = spent.unwrap_or_else(|| process.spent()) - before;
    let seconds = begin.elapsed().min(plan.time).as_secs_f64();
    times.sort_unstable();
    let n_calls = times.len();
    let at = |share: f64| {
        times
            .get((n_calls as f64 * share) as usize)
            .map(|time| time.as_secs_f64() * 1e6)
    };
    json!({
        "calls": n_calls,
        "per_second": n_calls as f64 / seconds,
        "p50": at(0.5),
        "p99": at(0.99),
        "cpu": spent as f64 / n_calls as f64,
        "kib": process.memory(),
        "failures": failures.len(),
        "failure": failures.first(),
    })
}

/// How long each of its calls took that ended in the time, and what failed.
async fn client(
    server: Arc<Server>,
    work: Work,
    begin: Instant,
    end: Instant,
    left: Arc<AtomicU64>,
) -> (Vec<Duration>, Vec<String>) {
    let (mut times, mut failures) = (Vec::new(), Vec::new());
    let mut session = None;
    let one_less = |left: u64| left.checked_sub(1);
    while Instant::now() < end && failures.len() < 20 {
        if left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less)
            .is_err()
        {
            break;
        }
        let start = Instant::now();
        let done = once(&server, &work, &mut session).await;
        let now = Instant::now();
        match done {
            Ok(()) if now >= begin && now <= end => times.push(now - start),
            Ok(()) => (),
            Err(failure) => {
                failures.push(failure.to_string());
                session = None;
            }
        }
    }
    (times, failures)
}

async fn once(server: &Server, work: &Work, kept: &mut Option<Session>) -> Result<(), Failure> {
    let mut session = match kept.take() {
        Some(session) => session,
        None => server.open().await?,
    };
    work.once(&mut session).await?;
    match work {
        Work::Open => session.leave().await?,
        _ => *kept = Some(session),
    }
    Ok(())
}
