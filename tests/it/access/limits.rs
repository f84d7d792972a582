//! How often a caller may ask, and how large the head of a request may be.

use super::*;

#[tokio::test]
async fn a_caller_who_asks_too_often_is_told_to_wait() {
    let upstream = upstream().await;
    let mut auth = auth();
    auth.as_object_mut().expect("an object").remove("acl");
    let builder = with(&upstream, &auth);
    let daemon = builder
        .config(json!({ "rate_limit": { "per_caller": "1/h", "burst": 4 } }))
        .await;
    let ada = as_subject(&daemon, "/mcp/all", ADA).await;
    for _ in 0..3 {
        ada.request("tools/list", "{}").await.result();
    }
    let refused = ada.request("tools/list", "{}").await;
    assert_eq!(refused.status, 429);
    let wait: u64 = refused.header("retry-after").parse().expect("seconds");
    assert!((3_000..=3_600).contains(&wait), "{wait}");
    has!(refused.error(), "rate_limited", "{}", refused.frame);
    let called = ada.call("up__echo", "{}").await;
    assert_eq!(
        (called.status, called.failure()["code"].clone()),
        (200, json!("rate_limited"))
    );
    assert_eq!(ada.request("ping", "{}").await.result(), "{}");
    let modern = ModernClient::new(&daemon, "/mcp/all").showing("authorization", ADA);
    assert_eq!(modern.request("tools/list", "{}").await.status, 429);
    // Each of a batch counts, and another caller is not concerned.
    let bobs = [
        ("authorization", BOB),
        JSON,
        BOTH,
        ("mcp-protocol-version", "2025-03-26"),
    ];
    let one = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let batch = format!("[{}]", [one; 6].join(","));
    let answer = http::send(daemon.address(), "POST", "/mcp/all", &bobs, batch).await;
    assert_eq!(
        answer.text().matches("rate_limited").count(),
        2,
        "{}",
        answer.text()
    );
    // Programs of the operator's own are counted by connection.
    for _ in 0..2 {
        let mut pipe = PipeClient::start(daemon.home(), &BRIDGE[..3]);
        pipe.open().await;
        for _ in 0..3 {
            pipe.tool_names().await;
        }
        let refused = pipe.request("tools/list", "{}").await.error_value();
        has!(refused.to_string(), "rate_limited", "{refused}");
    }
    assert!(upstream.received("tools/call").is_empty());
}

#[tokio::test]
async fn a_head_has_its_limits() {
    let daemon = TestDaemon::builder().await;
    let long = "x".repeat(200_000);
    let many: Vec<String> = (0..101).map(|n| format!("x-{n}: y\r\n")).collect();
    for headers in [format!("x-long: {long}\r\n"), many.concat()] {
        let request =
            format!("POST /mcp HTTP/1.1\r\nhost: localhost\r\n{headers}content-length: 0\r\n\r\n");
        let answer = http::send_bytes(daemon.address(), request).await;
        assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
    }
    let fits = "x".repeat(16_000);
    let answer = send(&daemon, "POST", "/mcp", &[("x-long", &fits)]).await;
    assert_eq!(answer.status, 200);
}
