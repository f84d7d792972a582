//! Clients that call as fast as they are answered, and what came of it as one line of JSON.
//!
//! `load URL|COMMAND MODE [--OPTION VALUE]…`. A URL that ends in `/sse` is spoken to over HTTP+SSE, another over Streamable HTTP; a command
//! is started, and all clients share its pipes. The modes:
//!
//! * `call` calls `--tool` (`echo`) with a text of `--bytes`, through `--via` if the tool is called by another;
//! * `list` lists the tools, at least `--least` of them;
//! * `open` connects, shakes hands, lists the tools and leaves, again and again;
//! * `search` searches (`retrieve_tools`) for what made-up tools do, with `--words` words;
//! * `slow` calls small echoes alone, then beside 32 clients whose calls (of `--slow`) take 0.2 s;
//! * `idle` opens so many clients with a stream (`--clients`) and holds them;
//! * `ready` waits until a call works, and says when the first handshake and the first call did.
//!
//! `--clients` of them work for `--seconds`, after a `--warmup`; `--calls` ends it earlier. What the process `--pid` spends meanwhile is told, too.

mod measure;
mod session;

use std::{
    collections::HashMap,
    env,
    error::Error,
    str::FromStr,
    sync::Arc,
    time::{Duration, Instant, UNIX_EPOCH},
};

use measure::{Process, Work, measure};
use serde_json::{Value, json};
use session::{Failure, Server};

/// What the command line says.
struct Options {
    server: String,
    mode: String,
    values: HashMap<String, String>,
}

impl Options {
    fn read() -> Result<Self, Failure> {
        let mut arguments = env::args().skip(1);
        let mut next = || {
            arguments
                .next()
                .ok_or("see the head of tests/bench/load/main.rs")
        };
        let (server, mode) = (next()?, next()?);
        let mut values = HashMap::new();
        while let Ok(option) = next() {
            values.insert(option.trim_start_matches('-').to_owned(), next()?);
        }
        Ok(Self {
            server,
            mode,
            values,
        })
    }

    fn text(&self, name: &str, usual: &str) -> String {
        self.values
            .get(name)
            .map_or(usual, String::as_str)
            .to_owned()
    }

    fn number<T: FromStr>(&self, name: &str, usual: T) -> Result<T, Failure> {
        let wrong = || format!("--{name} is no number").into();
        let given = self.values.get(name);
        given.map_or(Ok(usual), |value| value.parse().map_err(|_| wrong()))
    }

    fn work(&self) -> Result<Work, Failure> {
        Ok(match self.mode.as_str() {
            "list" => Work::List {
                least: self.number("least", 1)?,
            },
            "open" => Work::Open,
            "search" => Work::Search {
                words: self.number("words", 3)?,
            },
            _ => Work::echo(
                &self.text("tool", "echo"),
                &self.text("via", ""),
                self.number("bytes", 100)?,
            ),
        })
    }
}

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let options = Options::read()?;
    let (server, child) = Server::at(&options.server)?;
    let server = Arc::new(server.with_token(options.text("token", "")));
    let process = Process::of(options.number("pid", child.unwrap_or(0))?);
    let plan = measure::Plan {
        clients: options.number("clients", 1)?,
        warmup: Duration::from_secs_f64(options.number("warmup", 0.3)?),
        time: Duration::from_secs_f64(options.number("seconds", 2.0)?),
        calls: options.number("calls", u64::MAX)?,
    };
    let work = options.work()?;
    let found = match options.mode.as_str() {
        "call" | "list" | "open" | "search" => measure(&server, work, plan, process).await,
        "slow" => {
            let slow = Work::sleep(&options.text("slow", "sleep"), 200);
            beside_slow_calls(&server, work, slow, plan, process).await
        }
        "idle" => idle(&server, plan.clients, process).await?,
        "ready" => ready(&server, work, plan.time).await?,
        other => return Err(format!("there is no mode {other}").into()),
    };
    println!("{found}");
    Ok(())
}

async fn beside_slow_calls(
    server: &Arc<Server>,
    work: Work,
    slow: Work,
    plan: measure::Plan,
    process: Process,
) -> Value {
    let alone = measure(server, work.clone(), plan, process).await;
    let many = measure::Plan {
        clients: 32,
        ..plan
    };
    let slow = {
        let server = server.clone();
        tokio::spawn(async move { measure(&server, slow, many, Process::of(0)).await })
    };
    let beside = measure(server, work, plan, process).await;
    json!({"alone": alone, "beside": beside, "slow": slow.await.unwrap_or_default()})
}

/// Memory of the process with so many clients, above that with none.
async fn idle(server: &Arc<Server>, clients: usize, process: Process) -> Result<Value, Failure> {
    let before = process.memory();
    let mut held = Vec::new();
    for _ in 0..clients {
        let mut session = server.open().await?;
        let stream = session.listen().await?;
        held.push((session, stream));
    }
    // Buffers of the opening are given back.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let kib = process.memory().saturating_sub(before);
    Ok(json!({"clients": held.len(), "kib": kib}))
}

/// When the first handshake succeeded and when the first call did, in milliseconds of Unix time.
async fn ready(server: &Arc<Server>, work: Work, patience: Duration) -> Result<Value, Failure> {
    let start = Instant::now();
    let mut opened = None;
    while start.elapsed() < patience {
        if let Ok(mut session) = server.open().await {
            let opened = *opened.get_or_insert(UNIX_EPOCH.elapsed()?);
            if work.once(&mut session).await.is_ok() {
                let called = UNIX_EPOCH.elapsed()?;
                return Ok(
                    json!({"opened": opened.as_secs_f64() * 1e3, "called": called.as_secs_f64() * 1e3}),
                );
            }
        }
        tokio::time::sleep(Duration::from_micros(500)).await;
    }
    Err("no call works".into())
}
