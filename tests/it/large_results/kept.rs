//! What is kept, and what gives way to what.

use super::{Shown, builder, read};
use crate::support::prelude::*;

const MEBIBYTE: usize = 1 << 20;

#[tokio::test]
async fn the_oldest_gives_way_and_what_is_too_large_to_keep_comes_whole() {
    let upstream = FakeUpstream::stdio()
        .tool("large", oversized(10 * MEBIBYTE))
        .tool("huge", oversized(33 * MEBIBYTE))
        .await;
    let daemon = builder(2000).upstream("up", &upstream).await;
    let client = daemon.client_of("up__huge").await;
    let mut keys = Vec::new();
    for _ in 0..4 {
        let shown = Shown::of_reply(&client.call("up__large", "{}").await);
        assert_eq!(shown.all, 10 * MEBIBYTE);
        keys.push(shown.key().to_owned());
    }
    let whole = client.call("up__huge", "{}").await;
    assert_eq!(whole.text().len(), 33 * MEBIBYTE);
    let first = read(&client, &json!({ "key": keys[0] })).await.failure();
    assert_eq!(first["code"], "unknown_key");
    has!(first["hint"], "call the tool again");
    for key in &keys[1..] {
        let end = json!({ "key": key, "offset": 10 * MEBIBYTE - 5 });
        let page = Shown::of_reply(&read(&client, &end).await);
        assert_eq!((page.end, page.text.len()), (10 * MEBIBYTE, 5));
    }
}
