//! Settings that follow their file.

use std::{collections::BTreeMap, fs, path::Path, sync::Arc, time::Duration};

use serde_json::json;
use tempfile::TempDir;
use tokio::{sync::watch, task::JoinHandle, time::timeout};
use tokio_util::sync::CancellationToken;

use crate::config::{
    Change, ChangeOf, Keeper, KeyringLookup, LoadError, Overrides, RoutingMode, Settings, edit,
};

fn no_keyring() -> KeyringLookup {
    Arc::new(|_, _| BTreeMap::new())
}

/// A keeper at work on a file of its own.
struct Kept {
    folder: TempDir,
    keeper: Keeper,
    settings: watch::Receiver<Arc<Settings>>,
    shutdown: CancellationToken,
    task: JoinHandle<()>,
}

const ONE: &str = r#"{"mcpServers": {"one": {"command": "x"}}}"#;
const TWO: &str = r#"{"mcpServers": {"one": {"command": "x"}, "two": {"command": "y"}}}"#;

impl Kept {
    fn start(text: Option<&str>) -> Self {
        Self::start_in(
            tempfile::tempdir().expect("a folder"),
            text,
            Overrides::default(),
        )
    }

    fn start_in(folder: TempDir, text: Option<&str>, overrides: Overrides) -> Self {
        let file = folder.path().join("mcp.json");
        if let Some(text) = text {
            fs::write(&file, text).expect("a file");
        }
        let (keeper, task) = Keeper::open(&file, overrides, Arc::new(|_| None), no_keyring())
            .expect("a good configuration");
        let shutdown = CancellationToken::new();
        let settings = keeper.subscribe();
        let task = tokio::spawn(task.run(shutdown.clone()));
        Self {
            folder,
            keeper,
            settings,
            shutdown,
            task,
        }
    }

    fn file(&self) -> &Path {
        self.keeper.file()
    }

    fn names(&self) -> Vec<String> {
        self.keeper
            .settings()
            .servers
            .keys()
            .map(ToString::to_string)
            .collect()
    }

    /// Waits until the settings in force are such.
    async fn until(&mut self, wanted: impl FnMut(&Arc<Settings>) -> bool) {
        let found = self.settings.wait_for(wanted);
        timeout(Duration::from_secs(5), found)
            .await
            .expect("in time")
            .expect("a keeper");
    }

    async fn stop(self) {
        self.shutdown.cancel();
        timeout(Duration::from_secs(5), self.task)
            .await
            .expect("in time")
            .expect("no panic");
    }
}

#[tokio::test]
async fn an_edit_takes_effect_by_itself() {
    let mut kept = Kept::start(Some(ONE));
    fs::write(kept.file(), TWO).expect("a write");
    kept.until(|settings| settings.servers.len() == 2).await;
    kept.stop().await;
}

#[tokio::test]
async fn a_file_that_is_replaced_or_appears_late_is_noticed() {
    let mut kept = Kept::start(None);
    assert!(
        kept.keeper.settings().warnings[0]
            .text
            .contains("mcpproxy setup")
    );
    let new = kept.folder.path().join("new.json");
    for (text, count) in [(ONE, 1), (TWO, 2), (ONE, 1)] {
        fs::write(&new, text).expect("a write");
        fs::rename(&new, kept.file()).expect("a rename");
        kept.until(|settings| settings.servers.len() == count).await;
    }
    kept.stop().await;
}

#[tokio::test]
async fn a_folder_that_appears_late_is_noticed() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("later/mcp.json");
    let (keeper, task) = Keeper::open(
        &file,
        Overrides::default(),
        Arc::new(|_| None),
        no_keyring(),
    )
    .expect("no fault");
    let shutdown = CancellationToken::new();
    let task = tokio::spawn(task.run(shutdown.clone()));
    let mut settings = keeper.subscribe();
    fs::create_dir(folder.path().join("later")).expect("a folder");
    fs::write(&file, ONE).expect("a write");
    let found = settings.wait_for(|settings| settings.servers.len() == 1);
    timeout(Duration::from_secs(5), found)
        .await
        .expect("in time")
        .expect("a keeper");
    shutdown.cancel();
    task.await.expect("no panic");
}

#[cfg(unix)]
#[tokio::test]
async fn an_edit_behind_a_symbolic_link_is_noticed() {
    let folder = tempfile::tempdir().expect("a folder");
    let real = folder.path().join("dotfiles/real.json");
    fs::create_dir(folder.path().join("dotfiles")).expect("a folder");
    fs::write(&real, ONE).expect("a file");
    let link = folder.path().join("mcp.json");
    std::os::unix::fs::symlink("dotfiles/real.json", &link).expect("a link");
    let mut kept = Kept::start_in(folder, None, Overrides::default());
    assert_eq!(kept.names(), ["one"]);
    fs::write(&real, TWO).expect("a write");
    kept.until(|settings| settings.servers.len() == 2).await;
    // The link itself is pointed elsewhere, and the new target is watched too.
    let other = kept.folder.path().join("other.json");
    fs::write(&other, "{}").expect("a write");
    fs::remove_file(&link).expect("a link");
    std::os::unix::fs::symlink("other.json", &link).expect("a link");
    kept.until(|settings| settings.servers.is_empty()).await;
    fs::write(&other, ONE).expect("a write");
    kept.until(|settings| settings.servers.len() == 1).await;
    kept.stop().await;
}

/// A pipe gives its text only once, and makes whoever opens it wait for its other end.
#[cfg(unix)]
#[tokio::test]
async fn a_pipe_is_refused_and_keeps_nobody_waiting() {
    let mut kept = Kept::start(Some(ONE));
    let file = kept.file().to_owned();
    let pipe = || rustix::fs::mkfifoat(rustix::fs::CWD, &file, 0o600.into()).expect("a pipe");
    fs::remove_file(&file).expect("it is there");
    pipe();
    let reloaded = timeout(Duration::from_secs(5), kept.keeper.reload_now());
    let error = reloaded.await.expect("nobody waits").expect_err("a pipe");
    assert!(error.to_string().contains("regular file"), "{error}");
    assert_eq!(kept.names(), ["one"]);
    let opened = Keeper::open(
        &file,
        Overrides::default(),
        Arc::new(|_| None),
        no_keyring(),
    );
    assert!(matches!(opened, Err(LoadError::Unreadable { .. })));
    // The next edit is seen.
    fs::remove_file(&file).expect("it is there");
    fs::write(&file, TWO).expect("a file");
    kept.until(|settings| settings.servers.len() == 2).await;
    kept.stop().await;
}

#[tokio::test]
async fn a_bad_edit_leaves_the_last_good_settings_in_force() {
    let kept = Kept::start(Some(ONE));
    for (bad, expected) in [
        ("{\n  \"mcpServers\": oops\n}", "line 2, column 17"),
        (r#"{"routing_mode": "fast"}"#, "`routing_mode` must be"),
        (r#"{"serverAuth": {}}"#, "line 1, column 2: `serverAuth`"),
        ("", "is empty"),
        ("// a comment", "is empty"),
    ] {
        fs::write(kept.file(), bad).expect("a write");
        let error = kept.keeper.reload_now().await.expect_err(bad);
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(kept.names(), ["one"]);
    }
    fs::remove_file(kept.file()).expect("a file");
    let error = kept.keeper.reload_now().await.expect_err("no file");
    assert!(error.to_string().ends_with("is gone"), "{error}");
    // The same good text again is good again.
    fs::write(kept.file(), ONE).expect("a write");
    kept.keeper
        .reload_now()
        .await
        .expect("a good configuration");
    assert!(kept.keeper.last_error().is_none());
    kept.stop().await;
}

#[tokio::test]
async fn only_what_changed_is_new() {
    let mut kept = Kept::start(Some(ONE));
    let before = kept.keeper.settings();
    kept.settings.mark_unchanged();
    fs::write(kept.file(), format!("// a comment\n{ONE}")).expect("a write");
    kept.keeper
        .reload_now()
        .await
        .expect("a good configuration");
    assert!(
        !kept.settings.has_changed().expect("a keeper"),
        "nothing to tell"
    );
    fs::write(kept.file(), TWO).expect("a write");
    kept.keeper
        .reload_now()
        .await
        .expect("a good configuration");
    let after = kept.keeper.settings();
    assert!(Arc::ptr_eq(&before.servers["one"], &after.servers["one"]));
    kept.stop().await;
}

#[tokio::test]
async fn a_change_of_ours_is_in_force_when_it_returns() {
    let kept = Kept::start(Some(
        "// mine\n{\"mcpServers\": {\"one\": {\"command\": \"x\"}}}",
    ));
    let change = Change::of_key("one", "enabled", Some(json!(false)));
    let edited = move |text: &str| edit(text, &change);
    let written = kept.keeper.rewrite(ChangeOf::this_task(), edited).await;
    assert!(written.expect("a change that works"));
    assert!(!kept.keeper.settings().servers["one"].enabled);
    assert!(
        fs::read_to_string(kept.file())
            .expect("a file")
            .starts_with("// mine\n")
    );
    kept.stop().await;
}

#[tokio::test]
async fn keys_that_need_a_restart_are_named() {
    let kept = Kept::start(Some("{}"));
    fs::write(
        kept.file(),
        r#"{"listen": ":9", "data_dir": "/d", "top_k": 1}"#,
    )
    .expect("a write");
    kept.keeper
        .reload_now()
        .await
        .expect("a good configuration");
    assert_eq!(kept.keeper.needs_restart(), ["listen", "data_dir"]);
    fs::write(kept.file(), "{}").expect("a write");
    kept.keeper
        .reload_now()
        .await
        .expect("a good configuration");
    assert_eq!(kept.keeper.needs_restart(), [] as [&str; 0]);
    kept.stop().await;
}

#[tokio::test]
async fn access_control_that_falls_away_is_in_force_until_a_restart() {
    let auth = |token: &str| {
        let bearer = json!({ "tokens": { token: "ada" } });
        json!({ "serverAuth": { "provider": "bearer", "bearer": bearer } }).to_string()
    };
    let (one, other) = (auth("token-1-0123456789"), auth("token-2-0123456789"));
    let kept = Kept::start(Some(&one));
    let none: &[&str] = &[];
    for (text, needs_restart) in [
        (&*other, none),
        ("{\"top_k\": 1}", &["serverAuth"]),
        ("{\"top_k\": 2}", &["serverAuth"]),
        (
            r#"{"serverAuth": {"acl": {"default": "allow", "rules": []}}}"#,
            &["serverAuth"],
        ),
        (&*one, none),
    ] {
        fs::write(kept.file(), text).expect("a write");
        kept.keeper
            .reload_now()
            .await
            .expect("a good configuration");
        assert!(kept.keeper.settings().server_auth.is_some(), "{text}");
        assert_eq!(kept.keeper.needs_restart(), needs_restart, "{text}");
    }
    kept.stop().await;
}

#[tokio::test]
async fn an_address_that_is_not_listened_on_yet_asks_for_no_credentials() {
    let kept = Kept::start(None);
    for (listen, needs_restart) in [("0.0.0.0:9", &["listen"][..]), ("127.0.0.1:8080", &[])] {
        fs::write(kept.file(), json!({ "listen": listen }).to_string()).expect("a write");
        kept.keeper
            .reload_now()
            .await
            .expect("a good configuration");
        assert!(!kept.keeper.settings().requires_credentials(), "{listen}");
        assert_eq!(kept.keeper.needs_restart(), needs_restart, "{listen}");
    }
    kept.stop().await;
}

#[tokio::test]
async fn the_command_line_stays_above_the_file() {
    let overrides = Overrides {
        listen: Some("127.0.0.1:0".parse().expect("an address")),
        routing_mode: Some(RoutingMode::Direct),
        demo: None,
        lock_file: None,
        requested_by: None,
        places: None,
    };
    let kept = Kept::start_in(tempfile::tempdir().expect("a folder"), None, overrides);
    fs::write(kept.file(), r#"{"listen": ":9", "routing_mode": "proxy"}"#).expect("a write");
    kept.keeper
        .reload_now()
        .await
        .expect("a good configuration");
    let settings = kept.keeper.settings();
    assert_eq!(settings.listen.port(), 0);
    assert_eq!(settings.routing_mode, RoutingMode::Direct);
    assert_eq!(kept.keeper.needs_restart(), [] as [&str; 0]);
    kept.stop().await;
}

#[tokio::test]
async fn a_bad_file_at_start_is_fatal_with_its_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("mcp.json");
    fs::write(&file, "{\n\"a\"\n}").expect("a file");
    let open = || {
        Keeper::open(
            &file,
            Overrides::default(),
            Arc::new(|_| None),
            no_keyring(),
        )
        .map(|_| ())
    };
    let error = open().expect_err("a bad file").to_string();
    assert!(error.contains("mcp.json cannot be used: line 3"), "{error}");
    fs::remove_file(&file).expect("a file");
    fs::create_dir(&file).expect("a folder");
    let error = open().expect_err("a folder").to_string();
    assert!(
        error.contains("failed to read the configuration"),
        "{error}"
    );
}
