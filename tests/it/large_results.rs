//! Results that are longer than `tool_response_limit`, and `read_cache`: what is cut and what stays as it is, that nothing is lost, and who
//! may read on.

mod cut;
mod kept;
mod pages;
mod readers;

use crate::support::prelude::*;

/// A daemon that cuts what has more characters.
fn builder(limit: usize) -> Builder {
    TestDaemon::builder().config(json!({ "tool_response_limit": limit }))
}

/// A server whose `long` gives this text, on a daemon that cuts at 2000 characters.
async fn with_long(text: &str) -> (Upstream, TestDaemon) {
    let upstream = FakeUpstream::stdio().tool("long", reply_text(text)).await;
    let daemon = builder(2000).upstream("up", &upstream).await;
    let _client = daemon.client_of("up__long").await;
    (upstream, daemon)
}

/// A hundred lines and more, which are cut at 2000 characters.
fn lines() -> String {
    let line = |n| format!("{n:03} äöü € 😀 and words\n");
    let lines: Vec<String> = (0..150).map(line).collect();
    lines.concat()
}

/// What one answer shows of a long result.
struct Shown {
    /// The texts, without the words on how to go on.
    text: String,
    start: usize,
    end: usize,
    all: usize,
    key: Option<String>,
    /// The characters of all its texts, those words included.
    chars: usize,
}

impl Shown {
    /// Nothing where nothing is said of a cut.
    fn of(result: &Value) -> Option<Self> {
        let items = result["content"].as_array().expect("items");
        let text = |item: &Value| {
            let text = item["text"].as_str().or(item["resource"]["text"].as_str());
            text.map(str::to_owned)
        };
        let texts: String = items.iter().filter_map(text).collect();
        let at = texts.rfind("[cut here by mcpproxy: characters ");
        let at = at.or_else(|| texts.rfind("[mcpproxy: characters "))?;
        let (_, said) = texts.split_at(at);
        let mut numbers = said.split(|c: char| !c.is_ascii_digit());
        let mut number = || {
            let found = numbers.by_ref().find(|word| !word.is_empty());
            found
                .and_then(|word| word.parse::<usize>().ok())
                .expect("a number")
        };
        let (start, end, all) = (number(), number(), number());
        let key = said.split("\"key\":\"").nth(1);
        let key = key
            .and_then(|rest| rest.split('"').next())
            .map(str::to_owned);
        assert_eq!(key.is_none(), end == all, "{said}");
        Some(Self {
            text: texts.chars().take(end - start).collect(),
            start,
            end,
            all,
            key,
            chars: texts.chars().count(),
        })
    }

    fn of_reply(reply: &Reply) -> Self {
        let shown = Self::of(&reply.value());
        shown.unwrap_or_else(|| panic!("not cut: {}", reply.frame))
    }

    fn key(&self) -> &str {
        self.key.as_deref().expect("there is more to read")
    }
}

async fn read(client: &TestClient, arguments: &Value) -> Reply {
    client.call("read_cache", &arguments.to_string()).await
}

/// All pages after this one, each no longer than `limit`.
async fn pages_after(client: &TestClient, first: Shown, limit: usize) -> Vec<Shown> {
    let mut pages = vec![first];
    while let Some(last) = pages.last()
        && let Some(key) = &last.key
    {
        let arguments = json!({ "key": key, "offset": last.end });
        let page = Shown::of_reply(&read(client, &arguments).await);
        assert_eq!((page.start, page.all), (last.end, last.all));
        assert!(page.chars <= limit, "{} characters", page.chars);
        pages.push(page);
    }
    pages
}

fn whole(pages: &[Shown]) -> String {
    pages.iter().map(|page| &*page.text).collect()
}
