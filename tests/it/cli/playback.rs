//! A daemon for transcripts that plays back one answer on its local socket.

use std::{
    io::{BufRead, BufReader, Read, Write},
    os::unix::net::{UnixListener, UnixStream},
    path::Path,
    sync::{Arc, Mutex},
    thread,
};

use crate::support::prelude::*;

/// Plays a daemon: every request but that for its status is answered alike, and recorded.
pub(super) struct Playback {
    requests: Arc<Mutex<Vec<String>>>,
}

impl Playback {
    /// One that answers so: an HTTP status and a body, with a version before them where that is not ours.
    pub(super) fn answering(socket: &Path, answer: &str) -> Self {
        // What played before gives way.
        let _ = std::fs::remove_file(socket);
        let listener = UnixListener::bind(socket).expect("the socket can be bound");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let record = Arc::clone(&requests);
        let (first, rest) = answer.split_once(' ').expect("an answer");
        let (version, answer) = if first.contains('.') {
            (first, rest)
        } else {
            (env!("CARGO_PKG_VERSION"), answer)
        };
        let (code, body) = answer.split_once(' ').expect("an answer");
        let file = socket.ancestors().nth(2).expect("a home");
        let status = status(version, &file.join("mcp_config.json"));
        let (code, body) = (code.to_owned(), body.to_owned());
        thread::spawn(move || {
            for stream in listener.incoming() {
                play(&stream.expect("a connection"), |request| {
                    if request.starts_with("GET /api/v1/status ") {
                        return ("200", &status);
                    }
                    record.lock().expect("no panic").push(request);
                    (&code, &body)
                });
            }
        });
        Self { requests }
    }

    /// The requests that came since the last time: their lines without the protocol, a blank, their bodies.
    pub(super) fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.requests.lock().expect("no panic"))
    }
}

fn status(version: &str, config_file: &Path) -> String {
    json!({
        "version": version, "pid": 7, "uptime_seconds": 61, "config_file": config_file, "data_dir": "/d",
        "listen": ["127.0.0.1:8080"], "url": "http://127.0.0.1:8080/mcp", "routing_mode": "direct",
        "servers": { "configured": 2, "connected": 1 }, "tools": 3, "sessions": 0, "warnings": [{ "text": "look out" }],
    })
    .to_string()
}

fn play<'a>(stream: &UnixStream, answer: impl Fn(String) -> (&'a str, &'a String)) {
    let mut reader = BufReader::new(stream);
    let mut writer = stream;
    loop {
        let mut first = String::new();
        if reader.read_line(&mut first).unwrap_or(0) == 0 {
            return;
        }
        let mut length = 0;
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).expect("a header");
            if header == "\r\n" {
                break;
            }
            if let Some(value) = header.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().expect("a length");
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).expect("the body");
        let request = first.trim_end().trim_end_matches("HTTP/1.1");
        let request = format!("{request}{}", String::from_utf8(body).expect("text"));
        let (status, body) = answer(request);
        let answer = format!(
            "HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        if writer.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}
