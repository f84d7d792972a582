//! Order under load: what belongs to a call comes before its answer, in its order, and to nobody else.

use std::collections::BTreeMap;

use futures_util::future::join_all;

use crate::support::prelude::*;

const LOG: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1.10}}"#;

const CALLS: usize = 600;

/// How many notifications of progress each call gets.
const STEPS: u64 = 3;

async fn worker() -> Upstream {
    let work = progress(u32::try_from(STEPS).expect("few"));
    FakeUpstream::stdio()
        .tool("work", work.then(notice(LOG)).then(reply_text("done")))
        .await
}

/// The token and the number of a progress notification; nothing for a log line, which is all that there may be besides.
fn step_of(frame: &str) -> Option<(u64, u64)> {
    if frame == LOG {
        return None;
    }
    let read: Value = serde_json::from_str(frame).expect("JSON");
    assert_eq!(read["method"], "notifications/progress", "{frame}");
    let number = |key: &str| read["params"][key].as_u64().expect("a number");
    Some((number("progressToken"), number("progress")))
}

#[tokio::test]
async fn many_calls_of_many_sessions_each_hear_their_own() {
    const SESSIONS: usize = 20;
    let upstream = worker().await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    let calls_of = async |session: usize| {
        let client = daemon.client("/mcp/server/up").await;
        for n in 0..CALLS / SESSIONS {
            // Every session uses the same tokens.
            let token = n as u64;
            let reply = client
                .call_with_progress("work", "{}", &token.to_string())
                .await;
            assert_eq!(reply.text(), "done");
            let steps: Vec<_> = reply.notices.iter().filter_map(|f| step_of(f)).collect();
            let expected: Vec<_> = (1..=STEPS).map(|step| (token, step)).collect();
            assert_eq!(steps, expected, "session {session}, call {n}");
        }
    };
    join_all((0..SESSIONS).map(calls_of)).await;
    assert_eq!(upstream.received("tools/call").len(), CALLS);
    assert_eq!(upstream.spawn_count(), 1);
}

#[tokio::test]
async fn on_one_stream_every_notification_comes_before_its_answer() {
    const AT_ONCE: usize = 100;
    let upstream = worker().await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    let arguments = ["stdio", "--endpoint", "/mcp/server/up"];
    let mut client = PipeClient::start(daemon.home(), &arguments);
    client.open().await;
    client.wait_for_tool("work").await;
    for batch in 0..CALLS / AT_ONCE {
        let mut steps = BTreeMap::new();
        for n in 0..AT_ONCE {
            let token = batch * AT_ONCE + n;
            let params = format!(
                r#"{{"name":"work","arguments":{{}},"_meta":{{"progressToken":{token}}}}}"#
            );
            let id = client.ask("tools/call", &params).await;
            steps.insert(id, (token as u64, 0));
        }
        let by_token: BTreeMap<u64, String> = steps
            .iter()
            .map(|(id, (token, _))| (*token, id.clone()))
            .collect();
        while !steps.is_empty() {
            let frame = client.line().await.expect("a line");
            let read: Value = serde_json::from_str(&frame).expect("JSON");
            if read.get("method").is_some() {
                if let Some((token, step)) = step_of(&frame) {
                    let id = &by_token[&token];
                    let (_, last) = steps
                        .get_mut(id)
                        .expect("an answer came before its progress");
                    assert_eq!(step, *last + 1, "{frame}");
                    *last = step;
                }
                continue;
            }
            let (_, last) = steps
                .remove(&read["id"].to_string())
                .expect("an id of ours");
            assert_eq!(last, STEPS, "{frame}");
            assert_eq!(read["result"]["content"][0]["text"], "done", "{frame}");
        }
    }
    assert_eq!(upstream.received("tools/call").len(), CALLS);
    client.leave().await;
}

#[tokio::test]
async fn log_lines_of_the_only_call_come_in_order_before_its_answer() {
    let upstream = worker().await;
    let daemon = TestDaemon::with_upstream(&upstream).await;
    let (client, stranger) = (
        daemon.client("/mcp/server/up").await,
        daemon.client("/mcp/server/up").await,
    );
    let mut strangers_stream = stranger.listen().await;
    for token in 0..100 {
        let params =
            format!(r#"{{"name":"work","arguments":{{}},"_meta":{{"progressToken":{token}}}}}"#);
        let reply = client.request("tools/call", &params).await;
        assert_eq!(reply.notices.len(), 4, "{:?}", reply.notices);
        assert_eq!(reply.notices[3], LOG);
    }
    // Had the stranger been told anything, it would come before this.
    upstream.offer(&[(plain_tool("new"), hang())]).await;
    let heard = loop {
        let event = strangers_stream.next().await.expect("an open stream");
        if !event.data.is_empty() {
            break event.data;
        }
    };
    has!(heard, "tools/list_changed");
}
