//! A daemon that plays back one answer on its local socket.

use std::{
    io::{BufRead, BufReader, Read, Write},
    os::unix::net::{UnixListener, UnixStream},
    sync::{Arc, Mutex},
    thread,
};

use serde_json::json;

use super::Place;

/// Plays a daemon: every request but the status is answered by the given status and body, and recorded.
pub(super) struct Playback {
    requests: Arc<Mutex<Vec<String>>>,
}

impl Playback {
    pub(super) fn answering(place: &Place, status: u16, body: &str) -> Self {
        Self::of_version(env!("CARGO_PKG_VERSION"), place, status, body)
    }

    pub(super) fn of_version(version: &str, place: &Place, status: u16, body: &str) -> Self {
        let socket = place.socket();
        let listener = UnixListener::bind(socket).expect("the socket can be bound");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let record = Arc::clone(&requests);
        let (version, body) = (version.to_owned(), body.to_owned());
        thread::spawn(move || {
            for stream in listener.incoming() {
                play(&stream.expect("a connection"), &record, |request| {
                    if request.starts_with("GET /api/v1/status ") {
                        (200, self::status(&version))
                    } else {
                        (status, body.clone())
                    }
                });
            }
        });
        Self { requests }
    }

    /// The first request after the status, in the same form.
    pub(super) fn asked_first(&self) -> String {
        self.requests.lock().expect("no panic")[1].clone()
    }

    /// The last request but for the status: its line without the protocol, a blank, its body.
    pub(super) fn asked(&self) -> String {
        self.requests
            .lock()
            .expect("no panic")
            .last()
            .expect("a request")
            .clone()
    }
}

pub(super) fn status(version: &str) -> String {
    json!({
        "version": version, "pid": 7, "uptime_seconds": 61, "config_file": "/c", "data_dir": "/d",
        "listen": ["127.0.0.1:8080"], "url": "http://127.0.0.1:8080/mcp", "routing_mode": "direct",
        "servers": { "configured": 2, "connected": 1 }, "tools": 3, "sessions": 0, "warnings": ["look out"],
    })
    .to_string()
}

fn play(stream: &UnixStream, record: &Mutex<Vec<String>>, answer: impl Fn(&str) -> (u16, String)) {
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
        let (status, body) = answer(&request);
        record.lock().expect("no panic").push(request);
        let answer = format!(
            "HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        if writer.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}
