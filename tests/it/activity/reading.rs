//! Reading the log: what belongs together in it.

use super::upstream;
use crate::support::prelude::*;

#[tokio::test]
async fn a_call_is_one_call_of_one_run() {
    let upstream = upstream().await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    let client = daemon.client_of("up__echo").await;
    client.call("up__echo", "{}").await;
    let before = daemon.home().activity("kind=call&tool=echo").await;
    let call = before[0]["call"].as_str().expect("an id").to_owned();
    let daemon = TestDaemon::start_in(daemon.shutdown().await).await;
    let client = daemon.client_of("up__echo").await;
    let newest = |found: &[Value]| found.first().map(|record| record["call"].clone());
    // Each run counts from the beginning.
    while newest(&daemon.home().activity("kind=call&tool=fail").await) != Some(json!(call)) {
        client.call("up__fail", "{}").await;
    }
    let asked = async |more: &str| {
        let path = format!("/api/v1/activity?kind=call&call={call}{more}");
        let page = daemon.rest("GET", &path, "").await.json();
        let found = page["records"].as_array().expect("records").iter();
        let found = found.map(|record| (record["run"].clone(), record["tool"].clone()));
        (page["run"].clone(), found.collect::<Vec<_>>())
    };
    let one = |run: u64, tool: &str| vec![(json!(run), json!(tool))];
    assert_eq!(asked("").await, (json!(2), one(2, "fail")));
    assert_eq!(asked("&run=1").await, (Value::Null, one(1, "echo")));
    assert_eq!(asked("&run=3").await, (Value::Null, vec![]));
    // The newest that has it, wherever a page begins.
    assert_eq!(asked("&after=0").await, (json!(2), one(2, "fail")));
    assert_eq!(asked("&tool=echo").await, (json!(1), one(1, "echo")));
    let list = ["activity", "list", "--call", &call];
    let (ended, out, note) = daemon.home().cli(&list).await;
    assert!(
        ended == 0 && out.contains("up:fail") && !out.contains("echo"),
        "{out}"
    );
    has!(note, "run 2 of the daemon");
    let (_, out, note) = daemon
        .home()
        .cli(&[&list[..], &["--run", "1"]].concat())
        .await;
    has!(out, "up:echo");
    lacks!(out, "fail");
    assert_eq!(note, "");
}
