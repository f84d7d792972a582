//! What was cut is read to its end: byte for byte, in pages that end where the text has an end.

use super::{Shown, builder, lines, pages_after, read, whole, with_long};
use crate::support::prelude::*;

const MEBIBYTES: usize = 10 << 20;
const LIMIT: usize = 800_000;

fn records() -> String {
    let record = |n: usize| format!(r#"{{"n":{n},"t":"ä [1,2] \" 😀"}},"#);
    let (mut all, mut n) = (String::new(), 0);
    while all.len() < MEBIBYTES {
        all.push_str(&record(n));
        n += 1;
    }
    format!("[{}]", all.trim_end_matches(','))
}

#[tokio::test]
async fn ten_mebibytes_of_records_are_read_byte_for_byte_by_record() {
    let text = records();
    let upstream = FakeUpstream::stdio().tool("list", reply_text(&text)).await;
    let daemon = builder(LIMIT).upstream("up", &upstream).await;
    let client = daemon.client("/mcp/call").await;
    let arguments = json!({ "name": "up:list" });
    let reply = client.call("call_tool_write", &arguments).await;
    let first = Shown::of_reply(&reply);
    assert!(first.chars <= LIMIT && first.start == 0);
    let pages = pages_after(&client, first, LIMIT).await;
    assert!(whole(&pages) == text, "every byte of it");
    assert_eq!(upstream.received("tools/call").len(), 1);
    assert!(pages.len() > 10);
    let mut read = 0;
    for page in &pages {
        let inner = page
            .text
            .trim_start_matches('[')
            .trim_end_matches([']', ',']);
        let records: Vec<Value> =
            serde_json::from_str(&format!("[{inner}]")).expect("whole records");
        for record in records {
            assert_eq!(record["n"], read);
            read += 1;
        }
    }
}

#[tokio::test]
async fn prose_around_records_does_not_hide_them() {
    let records: Vec<Value> = (0..300).map(|n| json!({ "id": n, "name": "ä" })).collect();
    let text = format!(
        "Found [300] issues:\n```json\n{}\n```\nThat is all.",
        json!(records)
    );
    let (_upstream, daemon) = with_long(&text).await;
    let client = daemon.client("/mcp/all").await;
    let reply = client.call("up__long", "{}").await;
    let first = Shown::of_reply(&reply);
    has!(reply.text(), " records up to 69 of 300");
    let pages = pages_after(&client, first, 2000).await;
    assert_eq!(whole(&pages), text);
    assert!(
        pages[..pages.len() - 1]
            .iter()
            .all(|page| page.text.ends_with("},"))
    );
}

#[tokio::test]
async fn a_page_begins_where_it_is_asked_to_and_is_as_small_as_asked_for() {
    let text = lines();
    let (_upstream, daemon) = with_long(&text).await;
    let client = daemon.client("/mcp/all").await;
    let key = Shown::of_reply(&client.call("up__long", "{}").await)
        .key
        .expect("a key");
    let from_5: String = text.chars().skip(5).collect();
    for (arguments, most) in [
        (json!({ "key": key, "offset": 5 }), 2000),
        (
            json!({ "key": key, "offset": "5", "limit": 1_000_000 }),
            2000,
        ),
        (
            json!({ "key": format!(" {key}\n"), "offset": 5.0, "limit": 1500 }),
            1500,
        ),
        (json!({ "key": key, "offset": 5, "limit": 1 }), 1000),
    ] {
        let page = Shown::of_reply(&read(&client, &arguments).await);
        assert!(from_5.starts_with(&page.text), "{arguments}");
        assert!(
            page.text.ends_with('\n') && page.chars <= most,
            "{arguments}"
        );
        assert!(page.chars > most - 512, "{arguments}: {}", page.chars);
    }
    // Without a place it is read from the beginning, and it can be read as often as one likes.
    for _ in 0..2 {
        let page = Shown::of_reply(&read(&client, &json!({ "key": key })).await);
        assert!(text.starts_with(&page.text) && page.start == 0);
    }
    let chars = text.chars().count();
    let past = read(&client, &json!({ "key": key, "offset": chars }))
        .await
        .failure();
    assert_eq!(past["code"], "invalid_arguments");
    has!(past["error"], &chars.to_string(), "{past}");
    has!(past["hint"], "there is no more");
    for wrong in [
        json!({ "key": key, "offset": -1 }),
        json!({ "key": key, "limit": "many" }),
        json!({ "offset": 5 }),
        json!({ "key": 5 }),
        json!({ "key": key, "page": 2 }),
    ] {
        let refused = read(&client, &wrong).await.failure();
        assert_eq!(refused["code"], "invalid_arguments", "{wrong}");
    }
}
