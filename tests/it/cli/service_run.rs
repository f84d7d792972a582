//! What a service starts, started as systemd does it: with a bare environment, a socket to tell of itself, and a watchdog.

#![cfg(target_os = "linux")]

use std::{
    fs,
    os::unix::{fs::PermissionsExt, net::UnixDatagram},
    process::{Child, Command, Stdio},
    time::Duration,
};

use super::Place;
use crate::support::prelude::*;

/// Limit: what takes longer has gone wrong.
const DEADLINE: Duration = Duration::from_secs(30);

/// The service, and what it says to its manager.
struct Service {
    daemon: Child,
    socket: UnixDatagram,
}

impl Service {
    /// The shell in it has start-up files, and no terminal is there to be asked.
    fn start(place: &Place) -> Self {
        let path = place.folder().join("notify.sock");
        let socket = UnixDatagram::bind(&path).expect("a socket");
        socket.set_read_timeout(Some(DEADLINE)).expect("a socket");
        let daemon = Command::new("setsid")
            .arg(env!("CARGO_BIN_EXE_mcpproxy"))
            .arg("--config")
            .arg(place.config_file())
            .arg("--data-dir")
            .arg(place.home.data_dir())
            .args(["serve", "--listen", "127.0.0.1:0"])
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("SHELL", "/bin/sh")
            .env("HOME", place.folder())
            .env("NOTIFY_SOCKET", &path)
            .env("WATCHDOG_USEC", "600000")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(place.home.log())
            .spawn()
            .expect("the program starts");
        Self { daemon, socket }
    }

    /// The next thing that it says; nothing if it stays silent for so long.
    fn hears(&self, within: Duration) -> Option<String> {
        self.socket
            .set_read_timeout(Some(within))
            .expect("a socket");
        let mut said = [0; 256];
        let length = self.socket.recv(&mut said).ok()?;
        Some(String::from_utf8_lossy(&said[..length]).trim().to_owned())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

#[test]
fn the_daemon_tells_when_it_is_ready_that_it_lives_and_when_it_ends() {
    let place = Place::configured(r#"{ "mcpServers": {} }"#);
    let mut service = Service::start(&place);
    assert_eq!(service.hears(DEADLINE).as_deref(), Some("READY=1"));
    for _ in 0..3 {
        assert_eq!(service.hears(DEADLINE).as_deref(), Some("WATCHDOG=1"));
    }
    // Where the local socket was taken away, TCP answers.
    fs::remove_file(place.socket()).expect("it is there");
    for _ in 0..2 {
        assert_eq!(service.hears(DEADLINE).as_deref(), Some("WATCHDOG=1"));
    }
    processes::terminate(service.daemon.id());
    let last = std::iter::from_fn(|| service.hears(DEADLINE)).find(|said| said != "WATCHDOG=1");
    assert_eq!(last.as_deref(), Some("STOPPING=1\nWATCHDOG=1"));
    assert!(service.daemon.wait().expect("our child").success());
}

#[test]
fn a_server_is_found_on_the_login_shells_path() {
    let place = Place::configured(r#"{ "mcpServers": { "mine": { "command": "my-server" } } }"#);
    let tools = place.folder().join("tools");
    fs::create_dir(&tools).expect("ours");
    fs::write(place.folder().join(".profile"), "PATH=$HOME/tools:$PATH\n").expect("ours");
    let server = tools.join("my-server");
    let script = format!(
        "#!/bin/sh\nexec '{}' demo-server\n",
        env!("CARGO_BIN_EXE_mcpproxy")
    );
    fs::write(&server, script).expect("ours");
    fs::set_permissions(&server, fs::Permissions::from_mode(0o755)).expect("ours");
    let service = Service::start(&place);
    assert_eq!(service.hears(DEADLINE).as_deref(), Some("READY=1"));
    place
        .run(&["upstream", "restart", "mine"])
        .ended(0)
        .says(&["restarted"]);
}
