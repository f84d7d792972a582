//! Secrets in the Secret Service of a Linux desktop: a fake one for what goes wrong, and the one of GNOME where it is installed.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, Command, Stdio},
};

use super::{Ran, run, variable, written};
use crate::support::{
    fake_secret_service::{Behaviour, FakeSecretService},
    prelude::*,
};

/// Runs `mcpproxy secret` with this session bus.
async fn secret(bus: &str, home: &Home, arguments: &[&str], input: &str) -> Ran {
    run(home, bus, &[&["secret"], arguments].concat(), input).await
}

fn one_server() -> Home {
    written(&json!({"mcpServers": {"one": {"command": "x", "env": {"T": "${keyring:gh}"}}}}))
}

#[tokio::test]
async fn the_secret_service_keeps_secrets_where_one_answers() {
    let service = FakeSecretService::start();
    let (bus, home) = (service.address(), one_server());
    for value in ["first-value", "second-value"] {
        let set = secret(bus, &home, &["set", "gh"], value).await;
        assert_eq!(set.code, 0, "{}", set.stderr);
        has!(set.stderr, "the Secret Service");
    }
    assert_eq!(service.values(), ["second-value"]);
    assert!(!home.data_dir().join("secrets.json").exists());
    let list = secret(bus, &home, &["list"], "").await;
    has!(list.stdout, "gh");
    has!(list.stdout, "the Secret Service");
    let checked = run(&home, bus, &["config", "check"], "").await;
    lacks!(checked.stdout, "gh");
    assert_eq!(secret(bus, &home, &["remove", "gh"], "").await.code, 0);
    assert_eq!(secret(bus, &home, &["remove", "gh"], "").await.code, 1);
    assert!(service.values().is_empty());
    let checked = run(&home, bus, &["config", "check"], "").await;
    has!(checked.stdout, "needs the secret gh");
}

#[tokio::test]
async fn a_locked_one_is_unlocked_in_its_own_dialog_where_somebody_stores_something() {
    let service = FakeSecretService::start();
    let (bus, home) = (service.address(), one_server());
    service.becomes(Behaviour::Locked);
    let list = secret(bus, &home, &["list"], "").await;
    assert_eq!((list.code, service.dialogs()), (0, 0), "{}", list.stderr);
    assert_eq!(
        secret(bus, &home, &["set", "gh"], "the-value").await.code,
        0
    );
    assert_eq!(service.dialogs(), 1);
    service.becomes(Behaviour::Dismissing);
    let dismissed = secret(bus, &home, &["set", "gh"], "other-value").await;
    assert_eq!(dismissed.code, 1);
    let said = "the Secret Service is locked, and its dialog was closed";
    has!(dismissed.stderr, said);
    has!(dismissed.stderr, "config set keyring file");
    assert_eq!(service.values(), ["the-value"]);
    assert!(
        !home.data_dir().join("secrets.json").exists(),
        "it is kept nowhere else"
    );
    service.becomes(Behaviour::Dying);
    let without_bus = secret(bus, &home, &["set", "gh"], "third-value").await;
    has!(
        without_bus.stderr,
        "the connection to the Secret Service was lost"
    );
}

#[tokio::test]
async fn where_none_can_keep_them_the_private_file_does() {
    let service = FakeSecretService::start();
    let bus = service.address();
    for behaviour in [Behaviour::Absent, Behaviour::WithoutDefault] {
        service.becomes(behaviour);
        let home = one_server();
        let list = secret(bus, &home, &["list"], "").await;
        has!(list.stderr, "secrets.json", "{behaviour:?}");
        let set = secret(bus, &home, &["set", "gh"], "the-value").await;
        has!(set.stderr, "secrets.json", "{behaviour:?}");
        let checked = run(&home, bus, &["config", "check"], "").await;
        lacks!(checked.stdout, "gh", "{behaviour:?}");
        home.write_config(r#"{"keyring": "platform"}"#);
        let refused = secret(bus, &home, &["set", "gh"], "the-value").await;
        assert_eq!(refused.code, 1, "{behaviour:?}: {}", refused.stderr);
        let list = secret(bus, &home, &["list"], "").await;
        has!(list.stderr, "next: `mcpproxy config set keyring auto`");
    }
}

#[tokio::test]
async fn a_silent_one_holds_nobody_up() {
    let service = FakeSecretService::start();
    service.becomes(Behaviour::Silent);
    let (bus, home) = (service.address(), one_server());
    let checked = run(&home, bus, &["config", "check"], "").await;
    has!(checked.stdout, "did not answer in time");
    let doctor = run(&home, bus, &["doctor", "--no-start"], "").await;
    has!(doctor.stdout, "secrets");
}

#[tokio::test]
async fn a_locked_one_disables_who_needs_it_and_takes_nothing_away_later() {
    let service = FakeSecretService::start();
    let up = FakeUpstream::stdio().tool("echo", echo()).await;
    let builder =
        TestDaemon::builder().upstream_with("up", &up, json!({"env": {"TOKEN": "${keyring:up}"}}));
    let home = builder.home();
    let bus = service.address();
    let set = secret(bus, &home, &["set", "up"], "the-value").await;
    assert_eq!(set.code, 0, "{}", set.stderr);
    service.becomes(Behaviour::Locked);
    let daemon = DaemonProcess::spawn_in_with_env(home, "DBUS_SESSION_BUS_ADDRESS", bus).await;
    let reload = async || {
        let reloaded = daemon
            .home()
            .rest("POST", "/api/v1/config/reload", "")
            .await;
        reloaded.expect("it serves");
        let answer = daemon.home().rest("GET", "/api/v1/servers", "").await;
        answer.expect("it serves").json().to_string()
    };
    let said = reload().await;
    has!(said, "the Secret Service is locked");
    service.becomes(Behaviour::Open);
    reload().await;
    let client = daemon.client_of("up__echo").await;
    client.call("up__echo", "{}").await.result();
    assert_eq!(variable(&up, "TOKEN").as_deref(), Some("the-value"));
    service.becomes(Behaviour::Locked);
    let said = reload().await;
    lacks!(said, "locked");
    client.call("up__echo", "{}").await.result();
    assert_eq!((up.spawn_count(), service.dialogs()), (1, 0));
}

/// GNOME's keyring on a bus of its own. Dropping it ends both.
struct GnomeKeyring {
    bus: Child,
    keyring: Child,
    address: String,
}

impl GnomeKeyring {
    /// Nothing where it is not installed.
    fn start(folder: &Path) -> Option<Self> {
        let socket = folder.join("bus");
        let config = folder.join("bus.conf");
        let address = format!("unix:path={}", socket.display());
        let text = format!(
            r#"<busconfig><type>session</type><listen>{address}</listen><policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>"#
        );
        std::fs::write(&config, text).expect("the folder is ours");
        let bus = Command::new("dbus-daemon")
            .arg("--nofork")
            .arg("--print-address")
            .arg(format!("--config-file={}", config.display()))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut bus = bus.ok()?;
        let said = bus.stdout.take().expect("it is piped");
        let mut line = String::new();
        BufReader::new(said).read_line(&mut line).expect("text");
        let keyring = Command::new("gnome-keyring-daemon")
            .args(["--foreground", "--unlock", "--components=secrets"])
            .arg(format!("--control-directory={}", folder.display()))
            .env("DBUS_SESSION_BUS_ADDRESS", &address)
            .env("HOME", folder)
            .env("XDG_DATA_HOME", folder.join("data"))
            .env("XDG_RUNTIME_DIR", folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut keyring) = keyring else {
            bus.kill().expect("our child");
            bus.wait().expect("our child");
            return None;
        };
        let mut password = keyring.stdin.take().expect("it is piped");
        password.write_all(b"a password\n").expect("it reads");
        Some(Self {
            bus,
            keyring,
            address,
        })
    }
}

impl Drop for GnomeKeyring {
    fn drop(&mut self) {
        for child in [&mut self.keyring, &mut self.bus] {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[tokio::test]
async fn the_keyring_of_gnome_keeps_secrets() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let Some(gnome) = GnomeKeyring::start(folder.path()) else {
        // Whoever hears nothing misses nothing else.
        let _ = writeln!(
            std::io::stderr(),
            "skipped: dbus-daemon or gnome-keyring-daemon is not installed"
        );
        return;
    };
    let (bus, home) = (&*gnome.address, one_server());
    let list = async || {
        let list = secret(bus, &home, &["list", "-o", "json"], "").await;
        serde_json::from_str::<Value>(&list.stdout).expect("JSON")
    };
    until!(list().await["store"] == "the Secret Service");
    for value in ["first-value", "sécond-value\nwith lines"] {
        let set = secret(bus, &home, &["set", "gh"], value).await;
        has!(set.stderr, "the Secret Service");
    }
    let long = "x".repeat(64 << 10);
    assert_eq!(secret(bus, &home, &["set", "a/long"], &long).await.code, 0);
    let listed = list().await;
    assert_eq!(
        listed["secrets"].as_array().map(Vec::len),
        Some(2),
        "{listed}"
    );
    assert_eq!(listed["secrets"][1]["used_by"], json!(["one"]));
    let checked = run(&home, bus, &["config", "check"], "").await;
    lacks!(checked.stdout, "gh");
    assert_eq!(secret(bus, &home, &["remove", "gh"], "").await.code, 0);
    assert_eq!(list().await["secrets"][1]["stored_in"], Value::Null);
}
