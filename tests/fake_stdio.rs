//! A scripted MCP server on stdio, for the tests: `fake_stdio SCRIPT.json`.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "the script is shared with the tests"
)]

#[path = "it/support/interpreter.rs"]
mod interpreter;
#[path = "it/support/modern.rs"]
mod modern;
#[path = "it/support/presentation.rs"]
mod presentation;
#[path = "it/support/request.rs"]
mod request;
#[path = "it/support/script.rs"]
mod script;
#[path = "it/support/troubles.rs"]
mod troubles;

use std::{net::SocketAddr, sync::Arc};

use interpreter::{Interpreter, Output};
use modern::Word;
use script::{Command, Report, Script};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::{Mutex, mpsc},
};

/// How a child ends that its script tells to die.
const DEATH_CODE: i32 = 3;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let path = std::env::args().nth(1).expect("usage: fake_stdio SCRIPT");
    let text = std::fs::read_to_string(&path).expect("the script can be read");
    let script: Script = serde_json::from_str(&text).expect("the script is a script");
    let habits = script.stdio.clone();

    let interpreter = Arc::new(Interpreter::new(script));
    let (out, outputs) = mpsc::channel(64);
    let watcher = match habits.control {
        Some(address) => Some(Arc::new(connect(address, &interpreter, &out).await)),
        None => None,
    };
    complain(&habits.complaints).await;
    if let Some(code) = habits.stillborn {
        std::process::exit(code);
    }
    if habits.stubborn {
        ignore_sigterm();
    }
    tokio::spawn(write(outputs, habits.banner, interpreter.clone()));
    serve(&interpreter, &out, watcher.as_ref()).await;
    if habits.stubborn {
        std::future::pending::<()>().await;
    }
    // The thread that reads stdin would keep the runtime from ending.
    std::process::exit(0);
}

/// Reads stdin to its end; each request runs in a task of its own.
async fn serve(
    interpreter: &Arc<Interpreter>,
    out: &mpsc::Sender<Output>,
    test: Option<&Arc<Test>>,
) {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let words = interpreter.words();
        if let Some(test) = test {
            test.report(&Report::Received(line.clone())).await;
        }
        let (interpreter, out) = (interpreter.clone(), out.clone());
        tokio::spawn(async move { interpreter.receive(&line, words, out).await });
    }
}

async fn write(
    mut outputs: mpsc::Receiver<Output>,
    banner: Vec<String>,
    interpreter: Arc<Interpreter>,
) {
    let mut stdout = tokio::io::stdout();
    for line in banner {
        write_line(&mut stdout, &line).await;
    }
    while let Some(output) = outputs.recv().await {
        match output {
            Output::Notice(frame) | Output::Answer(frame) => write_line(&mut stdout, &frame).await,
            Output::Half(frame) => {
                // A client that left is noticed on stdin.
                let _ = stdout.write_all(&frame.as_bytes()[..frame.len() / 2]).await;
                let _ = stdout.flush().await;
                std::process::exit(DEATH_CODE)
            }
            Output::Death => std::process::exit(DEATH_CODE),
        }
        if let Some(noise) = &interpreter.script().stdio.noise {
            write_line(&mut stdout, noise).await;
        }
    }
}

async fn write_line(stdout: &mut tokio::io::Stdout, line: &str) {
    // A client that left is noticed on stdin.
    let _ = stdout.write_all(format!("{line}\n").as_bytes()).await;
    let _ = stdout.flush().await;
}

async fn complain(lines: &[String]) {
    let mut stderr = tokio::io::stderr();
    for line in lines {
        let _ = stderr.write_all(format!("{line}\n").as_bytes()).await;
    }
    let _ = stderr.flush().await;
}

#[cfg(unix)]
fn ignore_sigterm() {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminations = signal(SignalKind::terminate()).expect("SIGTERM can be caught");
    tokio::spawn(async move { while terminations.recv().await.is_some() {} });
}

#[cfg(not(unix))]
fn ignore_sigterm() {}

/// The way to the test that wrote the script.
struct Test {
    writer: Arc<Mutex<OwnedWriteHalf>>,
    noted: Mutex<mpsc::Receiver<()>>,
}

impl Test {
    /// Tells the test and waits until it has taken note, so that it knows of a frame before anybody sees what follows from it.
    async fn report(&self, report: &Report) {
        let mut noted = self.noted.lock().await;
        send(&self.writer, report).await;
        let _ = noted.recv().await;
    }
}

async fn connect(
    address: SocketAddr,
    interpreter: &Arc<Interpreter>,
    out: &mpsc::Sender<Output>,
) -> Test {
    let stream = TcpStream::connect(address).await.expect("the test listens");
    stream.set_nodelay(true).expect("a connected socket");
    let (reader, writer) = stream.into_split();
    let writer = Arc::new(Mutex::new(writer));
    let (note, noted) = mpsc::channel(1);
    tokio::spawn(obey(
        BufReader::new(reader).lines(),
        note,
        writer.clone(),
        interpreter.clone(),
        out.clone(),
    ));
    let test = Test {
        writer,
        noted: Mutex::new(noted),
    };
    let pid = std::process::id();
    test.report(&Report::Started { pid }).await;
    test
}

/// Carries out what the test commands, and ends the process when the test is gone.
async fn obey(
    mut lines: Lines<BufReader<OwnedReadHalf>>,
    note: mpsc::Sender<()>,
    writer: Arc<Mutex<OwnedWriteHalf>>,
    interpreter: Arc<Interpreter>,
    out: mpsc::Sender<Output>,
) {
    while let Ok(Some(line)) = lines.next_line().await {
        match serde_json::from_str(&line).expect("the test sends commands") {
            Command::Noted => {
                let _ = note.send(()).await;
                continue;
            }
            Command::Follow(script) => interpreter.follow(*script),
            Command::Send(frame) => {
                let _ = out.send(Output::Notice(frame)).await;
            }
            Command::Tell(frame) => interpreter.tell(Word::Notice(frame)),
            Command::EndSubscriptions(ending) => interpreter.tell(Word::End(ending)),
            Command::Complain(lines) => {
                let lines = (0..lines)
                    .map(|number| format!("complaint {number}, as long as such lines are"));
                // Beside everything else: whoever reads them may be slow.
                let text = lines.collect::<Vec<_>>().join("\n");
                tokio::spawn(async move { complain(&[text]).await });
            }
            Command::Exit(code) => std::process::exit(code),
        }
        send(&writer, &Report::Done).await;
    }
    std::process::exit(0);
}

async fn send(writer: &Mutex<OwnedWriteHalf>, report: &Report) {
    let line = serde_json::to_string(report).expect("reports are plain data") + "\n";
    let _ = writer.lock().await.write_all(line.as_bytes()).await;
}
