//! Servers in containers: how they are started, and that no container outlives its server, however that ends.

use crate::support::{fake_docker::FakeDocker, prelude::*};

fn isolated() -> Value {
    json!({"isolation": {"enabled": true, "image": "an-image"}})
}

fn builder(docker: &FakeDocker, upstream: &Upstream, more: Value) -> Builder {
    TestDaemon::builder()
        .config(json!({"environment": {"set": {"PATH": docker.path()}}}))
        .upstream_with("up", upstream, more)
}

async fn meek() -> Upstream {
    FakeUpstream::stdio().tool("echo", echo()).await
}

/// Ends neither with its input nor when it is asked.
async fn stubborn() -> Upstream {
    let upstream = FakeUpstream::stdio().tool("echo", echo()).stubborn();
    upstream.await
}

#[tokio::test]
async fn a_server_runs_in_a_container_with_its_variables_by_name() {
    let (docker, upstream) = (FakeDocker::new(), meek().await);
    let more = json!({
        "env": {"API_KEY": "s3cret-value"},
        "isolation": {
            "enabled": true, "image": "an-image", "network_mode": "none",
            "extra_args": ["--memory", "1g"], "working_dir": "/work",
        },
    });
    let daemon = builder(&docker, &upstream, more).await;
    let client = daemon.client_of("up__echo").await;
    client.call("up__echo", "{}").await.result();

    let args = docker.run_arguments();
    let mark = args[5].strip_prefix("mcpproxy.child=").expect("our label");
    let name = format!("mcpproxy-up-{mark}");
    let label = format!("mcpproxy.child={mark}");
    let (command, server_args) = upstream.command_line();
    let mut expected = vec!["--rm", "-i", "--name", &name, "--label", &label];
    expected.extend(["--network", "none", "--workdir", "/work", "-e", "API_KEY"]);
    expected.extend(["--memory", "1g", "an-image"]);
    expected.push(command.to_str().expect("a plain path"));
    expected.extend(
        server_args
            .iter()
            .map(|arg| arg.to_str().expect("a plain path")),
    );
    assert_eq!(args, expected);
    has!(docker.environment(), "API_KEY=s3cret-value");
    assert_eq!(docker.containers(), [name]);

    daemon.shutdown().await;
    assert_eq!(docker.containers(), [""; 0]);
}

#[tokio::test]
async fn a_container_that_does_not_end_is_removed_with_its_server() {
    let (docker, upstream) = (FakeDocker::new(), stubborn().await);
    let mut daemon = builder(&docker, &upstream, isolated()).spawn().await;
    let _client = daemon.client_of("up__echo").await;
    let within = upstream.pids()[0];
    assert!(processes::runs(within));
    daemon.terminate();
    assert!(daemon.wait().await.success());
    until!(!processes::runs(within));
    assert_eq!(docker.containers(), [""; 0]);
}

#[tokio::test]
async fn a_container_whose_client_is_killed_is_removed_and_the_next_call_starts_another() {
    let (docker, upstream) = (FakeDocker::new(), stubborn().await);
    let daemon = builder(&docker, &upstream, isolated()).await;
    let client = daemon.client_of("up__echo").await;
    let first = docker.containers();
    let within = upstream.pids()[0];
    processes::kill(docker.client());
    until!(!processes::runs(within) && docker.containers() != first);
    until_async("a call that works again", async || {
        let reply = client.call("up__echo", "{}").await;
        (reply.value()["isError"] != true).then_some(())
    })
    .await;
    assert_eq!(docker.containers().len(), 1);
    daemon.shutdown().await;
    assert_eq!(docker.containers(), [""; 0]);
}

#[tokio::test]
async fn the_container_that_a_killed_daemon_leaves_the_next_one_removes() {
    let (docker, upstream) = (FakeDocker::new(), stubborn().await);
    let daemon = builder(&docker, &upstream, isolated()).spawn().await;
    let _client = daemon.client_of("up__echo").await;
    let within = upstream.pids()[0];
    let home = daemon.kill().await;
    assert!(processes::runs(within) && docker.containers().len() == 1);

    // An engine that cannot be reached keeps its container, and it is not forgotten.
    docker.reachable(false);
    let mut daemon = DaemonProcess::spawn_in(home).await;
    until!(daemon.log().contains("cannot connect to the engine"));
    daemon.terminate();
    daemon.wait().await;
    assert!(processes::runs(within));
    let left = docker.containers();
    docker.reachable(true);

    let daemon = DaemonProcess::spawn_in(daemon.into_home()).await;
    until!(!processes::runs(within));
    until("what was left to be removed", || {
        let found = docker.containers();
        (!left.iter().any(|name| found.contains(name))).then_some(())
    })
    .await;
    drop(daemon);
}

#[tokio::test]
async fn a_container_in_which_nothing_answers_is_removed() {
    let docker = FakeDocker::new();
    let mute = FakeUpstream::stdio().on("initialize", hang()).stubborn();
    let upstream = mute.await;
    let more = json!({
        "init_timeout": "500ms",
        "isolation": {"enabled": true, "image": "an-image"},
    });
    let daemon = builder(&docker, &upstream, more).await;
    until_async("the attempt to fail", async || {
        daemon.row("up").await["last_error"]
            .as_str()
            .map(str::to_owned)
    })
    .await;
    until("its container to be gone", || {
        let within = upstream.pids();
        (!processes::runs(*within.first()?)).then_some(())
    })
    .await;
    daemon.shutdown().await;
    assert_eq!(docker.containers(), [""; 0]);
}

#[tokio::test]
async fn an_engine_that_hangs_holds_up_no_stop() {
    let (docker, upstream) = (FakeDocker::new(), meek().await);
    let mut daemon = builder(&docker, &upstream, isolated()).spawn().await;
    let _client = daemon.client_of("up__echo").await;
    docker.hangs();
    let begun = std::time::Instant::now();
    daemon.terminate();
    daemon.wait().await;
    let took = begun.elapsed();
    assert!(took < std::time::Duration::from_secs(20), "{took:?}");
}

#[tokio::test]
async fn without_docker_and_podman_only_that_server_is_down_and_says_why() {
    let nothing = tempfile::tempdir().expect("a temporary folder");
    let (upstream, other) = (meek().await, meek().await);
    let daemon = TestDaemon::builder()
        .config(json!({"environment": {"set": {"PATH": nothing.path()}}}))
        .upstream_with("up", &upstream, isolated())
        .upstream("well", &other)
        .await;
    let client = daemon.client_of("well__echo").await;
    client.call("well__echo", "{}").await.result();
    let reason = until_async("the reason", async || {
        daemon.row("up").await["last_error"]
            .as_str()
            .map(str::to_owned)
    })
    .await;
    has!(reason, "neither docker nor podman found on PATH");
    let next_step = daemon.row("up").await["next_step"].clone();
    has!(
        next_step.to_string(),
        "install Docker or Podman",
        "{next_step}"
    );
    assert_eq!(upstream.spawn_count(), 0, "it never runs outside");
}
