//! One request to a fake server: what it says, and the frames that end it.

use std::{borrow::Cow, path::Path};

use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use tokio::sync::mpsc;

use super::interpreter::Output;
use super::modern;
use super::script::{Offer, Script};
use super::troubles::Given;

#[derive(Deserialize)]
pub struct Frame<'a> {
    #[serde(borrow)]
    pub id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub params: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
pub struct Params<'a> {
    #[serde(borrow)]
    pub name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub uri: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub cursor: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub arguments: Option<&'a RawValue>,
    #[serde(borrow, rename = "_meta")]
    pub meta: Option<Meta<'a>>,
}

#[derive(Deserialize)]
pub struct Meta<'a> {
    #[serde(borrow, rename = "progressToken")]
    pub progress_token: Option<&'a RawValue>,
}

pub struct Request<'a> {
    pub id: &'a str,
    pub method: Cow<'a, str>,
    pub params: Params<'a>,
    pub raw_params: Option<&'a str>,
    pub out: mpsc::Sender<Output>,
}

impl<'a> Request<'a> {
    pub fn speaks_for_itself(&self) -> bool {
        modern::speaks_for_itself(self.raw_params)
    }

    pub fn new(
        id: &'a RawValue,
        method: &Cow<'a, str>,
        params: Option<&'a RawValue>,
        out: mpsc::Sender<Output>,
    ) -> Self {
        let raw_params = params.map(RawValue::get);
        let params = raw_params
            .and_then(|params| serde_json::from_str(params).ok())
            .unwrap_or_default();
        Self {
            id: id.get(),
            method: method.clone(),
            params,
            raw_params,
            out,
        }
    }

    pub async fn reply(&self, result: &str) {
        self.end("result", result).await;
    }

    pub async fn refuse(&self, code: i32, message: &str) {
        let message = json_string(message);
        self.end(
            "error",
            &format!(r#"{{"code":{code},"message":{message}}}"#),
        )
        .await;
    }

    pub async fn end(&self, key: &str, value: &str) {
        let frame = format!(r#"{{"jsonrpc":"2.0","id":{},"{key}":{value}}}"#, self.id);
        send(&self.out, Output::Answer(frame)).await;
    }

    pub async fn echo(&self) {
        let arguments = self.params.arguments.map_or("{}", RawValue::get);
        let text = json_string(arguments);
        self.reply(&format!(
            r#"{{"content":[{{"type":"text","text":{text}}}],"structuredContent":{arguments}}}"#
        ))
        .await;
    }

    pub fn arguments(&self) -> &str {
        self.params.arguments.map_or("{}", RawValue::get)
    }

    pub async fn echo_at_length(&self) {
        let arguments = self.arguments();
        let given = Given::of(arguments);
        given.take_time().await;
        let result = given.echoed_at_length(arguments);
        self.reply(&result).await;
    }

    pub fn journal(&self, file: &Path) {
        Given::of(self.arguments()).journal(file);
    }

    pub async fn half_echo(&self) {
        let text = json_string(self.arguments());
        let frame = format!(
            r#"{{"jsonrpc":"2.0","id":{},"result":{{"content":[{{"type":"text","text":{text}}}]}}}}"#,
            self.id
        );
        send(&self.out, Output::Half(frame)).await;
    }

    pub async fn send_progress(&self, times: u32) {
        let Some(token) = self.params.meta.as_ref().and_then(|m| m.progress_token) else {
            return;
        };
        for done in 1..=times {
            let params = format!(
                r#"{{"progressToken":{token},"progress":{done},"total":{times},"vendor":1.10}}"#
            );
            let frame = format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{params}}}"#
            );
            send(&self.out, Output::Notice(frame)).await;
        }
    }

    /// Answers one page of a list. A cursor is the number of entries before the page.
    pub async fn list(&self, key: &str, offers: &[Offer], script: &Script) {
        let start = match self.params.cursor.as_deref().map(str::parse::<usize>) {
            None => 0,
            Some(Ok(start)) if start < offers.len() => start,
            Some(_) => return self.refuse(-32602, "unknown cursor").await,
        };
        let size = script.page_size.unwrap_or(usize::MAX);
        let end = start.saturating_add(size).min(offers.len());
        let definitions: Vec<&str> = offers[start..end]
            .iter()
            .map(|offer| offer.definition.as_str())
            .collect();
        let next = match end < offers.len() {
            true => format!(r#","nextCursor":"{end}""#),
            false if script.cyclic_pages => r#","nextCursor":"0""#.to_owned(),
            // As some servers end a list of pages.
            false if script.page_size.is_some() => r#","nextCursor":"""#.to_owned(),
            false => String::new(),
        };
        let modern = if script.is_modern() && self.speaks_for_itself() {
            r#","resultType":"complete","ttlMs":0,"cacheScope":"private""#
        } else {
            ""
        };
        self.reply(&format!(
            r#"{{"{key}":[{}]{next}{modern}}}"#,
            definitions.join(",")
        ))
        .await;
    }
}

/// Writes something, unless the other side has left; then nobody waits for it.
pub async fn send(out: &mpsc::Sender<Output>, output: Output) {
    // The other side may have left; then nobody waits for this.
    let _ = out.send(output).await;
}

pub fn json_string(text: &str) -> String {
    Value::from(text).to_string()
}
