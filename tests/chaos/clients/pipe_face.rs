//! `mcpproxy stdio`: a process, lines, and whoever waits for one of them.

use std::{
    collections::HashMap,
    process::Stdio,
    sync::{
        Arc, Mutex as Lock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::{Child, ChildStdin, ChildStdout, Command},
    sync::{Mutex, oneshot},
};
use tokio_util::task::AbortOnDropHandle;

use super::{OPENED, Outcome, frame, lines::LineBuffer, opening};
use crate::support::modern_client::{meta_of, stamped};

/// Requests that wait for their answers, and answers that nobody waited for.
#[derive(Default)]
pub struct Waiting {
    requests: Lock<HashMap<u64, oneshot::Sender<Value>>>,
    strays: Lock<Vec<String>>,
}

impl Waiting {
    pub fn expect(&self, id: u64) -> oneshot::Receiver<Value> {
        let (sender, receiver) = oneshot::channel();
        let mut requests = self.requests.lock().expect("no panic under lock");
        requests.insert(id, sender);
        receiver
    }

    /// Passes a frame on to whoever waits for it.
    pub fn take(&self, text: &str) {
        let frame: Value = serde_json::from_str(text).unwrap_or_default();
        if frame["method"].is_string() {
            return;
        }
        let waiting = frame["id"].as_u64().and_then(|id| {
            let mut requests = self.requests.lock().expect("no panic under lock");
            requests.remove(&id)
        });
        if let Some(waiting) = waiting {
            // Whoever waited has given up at its deadline.
            return drop(waiting.send(frame));
        }
        let shown = text.chars().take(300).collect();
        self.strays.lock().expect("no panic under lock").push(shown);
    }

    /// Nothing more comes.
    pub fn give_up(&self) {
        self.requests.lock().expect("no panic under lock").clear();
    }

    pub fn strays(&self) -> Vec<String> {
        self.strays.lock().expect("no panic under lock").clone()
    }
}

pub struct PipeFace {
    modern: bool,
    pid: u32,
    child: Mutex<Child>,
    stdin: Mutex<Option<ChildStdin>>,
    opened: Mutex<bool>,
    last_id: AtomicU64,
    waiting: Arc<Waiting>,
    _reading: AbortOnDropHandle<()>,
}

impl PipeFace {
    pub fn start(mut command: Command, modern: bool) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the program starts");
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().expect("stdout is piped");
        let waiting = Arc::<Waiting>::default();
        let reading = tokio::spawn(read(stdout, waiting.clone()));
        Self {
            modern,
            pid: child.id().expect("it runs"),
            child: Mutex::new(child),
            stdin: Mutex::new(stdin),
            opened: Mutex::default(),
            last_id: AtomicU64::new(0),
            waiting,
            _reading: AbortOnDropHandle::new(reading),
        }
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    pub async fn request(&self, method: &str, params: &Value) -> Outcome {
        if self.modern {
            let params = stamped(&params.to_string(), &meta_of(&json!({})));
            return self.ask(method, &params).await;
        }
        {
            let mut opened = self.opened.lock().await;
            if !*opened {
                let opening = opening("2025-06-18").to_string();
                match self.ask("initialize", &opening).await {
                    Outcome::Answer(frame) if frame["result"].is_object() => (),
                    other => return other,
                }
                if let Err(why) = self.write(OPENED).await {
                    return Outcome::Wrong(why);
                }
                *opened = true;
            }
        }
        self.ask(method, &params.to_string()).await
    }

    async fn ask(&self, method: &str, params: &str) -> Outcome {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let answer = self.waiting.expect(id);
        // A bridge outlives its daemons.
        if let Err(why) = self.write(&frame(id, method, params)).await {
            return Outcome::Wrong(why);
        }
        match answer.await {
            Ok(frame) => Outcome::Answer(frame),
            Err(_) => Outcome::Wrong("the bridge closed its stdout".to_owned()),
        }
    }

    async fn write(&self, line: &str) -> Result<(), String> {
        let mut stdin = self.stdin.lock().await;
        let Some(stdin) = &mut *stdin else {
            return Err("the client has left".to_owned());
        };
        let line = format!("{line}\n");
        let written = stdin.write_all(line.as_bytes()).await;
        written.map_err(|error| format!("the bridge does not read: {error}"))
    }

    pub fn strays(&self) -> Vec<String> {
        self.waiting.strays()
    }

    pub async fn leave(&self) -> Result<(), String> {
        *self.stdin.lock().await = None;
        let mut child = self.child.lock().await;
        match tokio::time::timeout(Duration::from_secs(30), child.wait()).await {
            Ok(Ok(status)) if status.success() => Ok(()),
            Ok(ended) => Err(format!("the bridge {} ended: {ended:?}", self.pid)),
            Err(_) => Err(format!("the bridge {} did not end", self.pid)),
        }
    }
}

async fn read(mut stdout: ChildStdout, waiting: Arc<Waiting>) {
    let mut lines = LineBuffer::default();
    let mut piece = vec![0; 1 << 16];
    while let Ok(length @ 1..) = stdout.read(&mut piece).await {
        for line in lines.feed(&piece[..length]) {
            waiting.take(&line);
        }
    }
    waiting.give_up();
}
