//! What a child starts with, and what becomes of its stderr.

use super::{DEADLINE, Ground, base, eventually, shell};
use crate::{
    process::{Grace, Launch, SpawnError, own_words, spawn},
    text::secret::Secret,
};

#[tokio::test]
async fn the_environment_is_clean_and_the_servers_own_is_in_it() {
    let ground = Ground::new();
    let mut launch = shell("env; echo end");
    launch.env = vec![("TOKEN".into(), Secret::new("s3cret"))];
    let mut child = ground.start(&launch);
    let mut names = Vec::new();
    loop {
        let line = child.line().await;
        if line == "end" {
            break;
        }
        names.extend(line.split_once('=').map(|(name, _)| name.to_owned()));
        assert!(!line.starts_with("TOKEN=") || line == "TOKEN=s3cret");
    }
    for expected in ["PATH", "TOKEN", "MCPPROXY_CHILD"] {
        assert!(
            names.iter().any(|name| name == expected),
            "{expected}: {names:?}"
        );
    }
    // Set for every test by the test's runner.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    assert!(
        !names.iter().any(|name| name.starts_with("CARGO_MANIFEST")),
        "{names:?}"
    );
    assert!(!format!("{launch:?}").contains("s3cret"));
}

#[tokio::test]
async fn arguments_never_go_through_a_shell() {
    let ground = Ground::new();
    let text = "$HOME; `id` \"x\" '*'";
    let mut launch = shell("");
    launch.command = "printf".into();
    launch.args = vec![r"%s\n".into(), text.into()];
    assert_eq!(ground.start(&launch).line().await, text);
}

#[tokio::test]
async fn a_relative_command_counts_from_the_childs_folder() {
    let ground = Ground::new();
    let mut launch = shell("");
    launch.command = "./bin/sh".into();
    launch.args = vec!["-c".into(), "pwd".into()];
    launch.cwd = Some("/".into());
    let folder = ground.start(&launch).line().await;
    assert_eq!(folder, "/");
}

fn refuse(ground: &Ground, change: impl FnOnce(&mut Launch)) -> SpawnError {
    let mut launch = shell("");
    change(&mut launch);
    let result = spawn(&launch, &base(), &ground.ledger, &ground.log);
    result.map(|_| ()).expect_err("it cannot start")
}

#[tokio::test]
async fn a_command_that_does_not_exist_says_so_in_short_and_what_to_do() {
    let ground = Ground::new();
    let error = refuse(&ground, |launch| {
        launch.command = "no-such-program".into();
        launch.env = vec![("PATH".into(), Secret::new("/nowhere:/bin"))];
    });
    let text = error.to_string();
    assert_eq!(text, "`no-such-program` not found on PATH");
    // For the log alone.
    assert!(!text.contains("/nowhere"), "{text}");
    assert!(matches!(&error, SpawnError::NotFound { path, .. } if path == "/nowhere:/bin"));
    assert!(!error.outside().contains('/'));
    assert!(error.step().at_terminal("new").contains("install"));

    let error = refuse(&ground, |launch| launch.command = "npx -y server".into());
    assert!(error.step().at_terminal("new").contains("args"));

    let error = refuse(&ground, |launch| launch.command = "./nothing".into());
    assert!(error.to_string().contains("/nothing"), "{error}");
    assert!(!error.to_string().contains("PATH"), "{error}");

    // No change of the entry makes a file executable.
    let script = ground.folder.path().join("script");
    std::fs::write(&script, "#!/bin/sh\n").expect("ours");
    let script = script.display();
    let error = refuse(&ground, |launch| launch.command = script.to_string());
    assert_eq!(
        error.step().at_terminal("new"),
        format!("`chmod +x {script}`")
    );
    let words = "make the file in its `command` executable";
    assert_eq!(error.step().over_rest("new").as_deref(), Some(words));

    let error = refuse(&ground, |launch| {
        launch.cwd = Some("/no/such/folder".into());
    });
    assert!(error.to_string().contains("/no/such/folder"), "{error}");

    let error = refuse(&ground, |launch| launch.args = vec!["a\0b".into()]);
    assert!(matches!(error, SpawnError::Refused { .. }), "{error}");
    assert_eq!(ground.entries(), 0);
}

#[tokio::test]
async fn a_flood_on_stderr_neither_blocks_the_child_nor_is_kept() {
    let ground = Ground::new();
    let mut child = ground.sh("yes 'a line of some length, to be read and forgotten' | head -c 50000000 >&2; echo >&2; echo end of the flood >&2; echo done; cat");
    assert_eq!(child.line().await, "done");
    eventually("the last line is read", || {
        own_words(&ground.log.tail(1)[0]) == Some("end of the flood")
    })
    .await;
    assert_eq!(ground.log.tail(usize::MAX).len(), 500);
    drop(child.stdin);
    child.process.stop(Grace::default()).await;
    let folder = ground.folder.path().join("logs");
    let files = std::fs::read_dir(folder).expect("a folder");
    let sizes = files.map(|file| {
        file.and_then(|file| file.metadata())
            .map_or(0, |data| data.len())
    });
    assert!(sizes.sum::<u64>() < 16 * 1024 * 1024);
}

#[cfg(unix)]
#[tokio::test]
async fn the_log_outlives_the_child_and_is_the_owners_alone() {
    use std::os::unix::fs::PermissionsExt;

    let ground = Ground::new();
    for word in ["one", "two"] {
        let child = ground.sh(&format!("echo {word} >&2; printf unfinished >&2"));
        tokio::time::timeout(DEADLINE, child.process.exited())
            .await
            .expect("in time");
        child.process.stop(Grace::default()).await;
    }
    let expected = [
        None,
        Some("one"),
        Some("unfinished"),
        None,
        Some("two"),
        Some("unfinished"),
    ];
    let lines = ground.log.tail(10);
    let words: Vec<_> = lines.iter().map(|line| own_words(line)).collect();
    assert_eq!(words, expected);
    assert_eq!(ground.log.tail(1), lines[5..]);
    let path = ground.folder.path().join("logs/server-test.log");
    eventually("the file is written", || {
        std::fs::read_to_string(&path).is_ok_and(|text| text.lines().eq(&lines))
    })
    .await;
    let mode = |path| {
        std::fs::metadata(path)
            .expect("it exists")
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!(mode(path.clone()), 0o600);
    assert_eq!(mode(ground.folder.path().join("logs")), 0o700);
    assert_eq!(mode(ground.folder.path().join("children")), 0o700);
}
