//! What fake upstreams do in revisions without a handshake: what every request must say, `server/discover`, and subscriptions.

use serde_json::{Map, Value, json};
use tokio::sync::{broadcast, mpsc};

use super::interpreter::Output;

/// The revision without a handshake that the fakes speak.
pub const REVISION: &str = "2026-07-28";

const META: &str = "_meta";
/// The last member of a notification begins like this.
const PARAMS: &str = r#","params":"#;
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// Whether a frame says what it speaks, as requests of such a revision do.
pub fn speaks_for_itself(params: Option<&str>) -> bool {
    said(params, VERSION).is_some()
}

/// Looks at nothing else: arguments may hold numbers that no tree can.
fn said(params: Option<&str>, key: &str) -> Option<Value> {
    #[derive(serde::Deserialize)]
    struct Params {
        #[serde(rename = "_meta")]
        meta: Map<String, Value>,
    }
    let params: Params = serde_json::from_str(params?).ok()?;
    params.meta.get(key).cloned()
}

/// What is wrong with what a request says of its sender: a JSON-RPC error object.
pub fn fault(params: Option<&str>, supported: &[String]) -> Option<String> {
    let Some(version) = said(params, VERSION) else {
        return Some(error(-32602, "no protocol version in _meta", &Value::Null));
    };
    if !supported.iter().any(|known| *known == version) {
        let data = json!({"supported": supported, "requested": version});
        return Some(error(-32022, "Unsupported protocol version", &data));
    }
    if !said(params, CAPABILITIES).is_some_and(|said| said.is_object()) {
        let text = "no client capabilities in _meta";
        return Some(error(-32602, text, &Value::Null));
    }
    None
}

fn error(code: i32, message: &str, data: &Value) -> String {
    json!({"code": code, "message": message, "data": data}).to_string()
}

/// Raw params with this metadata added; what stands there stays as it is written.
pub fn stamped(params: &str, meta: &Value) -> String {
    let members = meta.to_string();
    let members = members.strip_prefix('{').and_then(|m| m.strip_suffix('}'));
    let members = members.expect("metadata is an object");
    let separator = |rest: &str| if rest.starts_with('}') { "" } else { "," };
    if let Some((before, rest)) = params.split_once(r#""_meta":{"#) {
        let separator = separator(rest);
        return format!(r#"{before}"_meta":{{{members}{separator}{rest}"#);
    }
    let rest = params.strip_prefix('{').expect("params are an object");
    format!(r#"{{"_meta":{{{members}}}{}{rest}"#, separator(rest))
}

/// What a subscription hears.
#[derive(Debug, Clone)]
pub enum Word {
    /// A notification, without the id of the subscription.
    Notice(String),
    /// The server ends it, in this way.
    End(Ending),
    /// The client withdrew the request with this raw id.
    Withdrawn(String),
}

/// How a server ends a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Ending {
    /// With the result of the request.
    Result,
    /// With `notifications/cancelled`.
    Cancelled,
}

/// Tasks that a server of ours agrees to say nothing about begin like this, and those for which it refuses a whole subscription.
pub const UNHEARD_TASK: &str = "unheard";
pub const REFUSED_TASK: &str = "refused";

/// Serves one `subscriptions/listen`.
pub async fn listen(
    id: &str,
    params: Option<&str>,
    mut words: broadcast::Receiver<Word>,
    out: mpsc::Sender<Output>,
) {
    let params: Value = serde_json::from_str(params.unwrap_or("{}")).unwrap_or_default();
    let mut filter = params.get("notifications").cloned().unwrap_or_default();
    if let Some(tasks) = filter["taskIds"].as_array() {
        let begins = |task: &Value, with| task.as_str().is_some_and(|id| id.starts_with(with));
        if tasks.iter().any(|task| begins(task, REFUSED_TASK)) {
            let error = error(-32602, "unknown task", &Value::Null);
            let refusal = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#);
            return say(&out, Output::Answer(refusal)).await;
        }
        let heard = tasks.iter().filter(|task| !begins(task, UNHEARD_TASK));
        filter["taskIds"] = heard.cloned().collect();
    }
    let subscription: Value = serde_json::from_str(id).expect("an id");
    let acknowledged = json!({
        "jsonrpc": "2.0",
        "method": "notifications/subscriptions/acknowledged",
        "params": {META: {SUBSCRIPTION: subscription}, "notifications": filter},
    });
    say(&out, Output::Notice(acknowledged.to_string())).await;
    loop {
        let word = tokio::select! {
            word = words.recv() => word,
            () = out.closed() => return,
        };
        match word {
            Ok(Word::Notice(frame)) => {
                let read: Value = serde_json::from_str(&frame).expect("a frame");
                if wants(&filter, &read) {
                    let meta = json!({SUBSCRIPTION: subscription});
                    let open = frame.strip_suffix('}').expect("a frame");
                    let tagged = match open.split_once(PARAMS) {
                        Some((head, params)) => {
                            format!("{head}{PARAMS}{}}}", stamped(params, &meta))
                        }
                        None => format!("{open}{PARAMS}{}}}", json!({META: meta})),
                    };
                    say(&out, Output::Notice(tagged)).await;
                }
            }
            Ok(Word::End(Ending::Result)) => {
                let meta = json!({SUBSCRIPTION: subscription});
                let end = json!({
                    "jsonrpc": "2.0", "id": subscription,
                    "result": {"resultType": "complete", META: meta},
                });
                return say(&out, Output::Answer(end.to_string())).await;
            }
            Ok(Word::End(Ending::Cancelled)) => {
                let end = json!({
                    "jsonrpc": "2.0", "method": "notifications/cancelled",
                    "params": {"requestId": subscription},
                });
                return say(&out, Output::Notice(end.to_string())).await;
            }
            Ok(Word::Withdrawn(withdrawn)) if withdrawn != id => (),
            Ok(Word::Withdrawn(_)) | Err(_) => return,
        }
    }
}

fn wants(filter: &Value, frame: &Value) -> bool {
    let flag = |key: &str| filter[key] == true;
    match frame["method"].as_str().unwrap_or_default() {
        "notifications/tools/list_changed" => flag("toolsListChanged"),
        "notifications/prompts/list_changed" => flag("promptsListChanged"),
        "notifications/resources/list_changed" => flag("resourcesListChanged"),
        "notifications/resources/updated" => {
            let uris = filter["resourceSubscriptions"].as_array();
            uris.is_some_and(|uris| uris.contains(&frame["params"]["uri"]))
        }
        "notifications/tasks" => {
            let ids = filter["taskIds"].as_array();
            ids.is_some_and(|ids| ids.contains(&frame["params"]["taskId"]))
        }
        _ => false,
    }
}

async fn say(out: &mpsc::Sender<Output>, output: Output) {
    // The other side may have left.
    let _ = out.send(output).await;
}

/// What the headers of a request say otherwise than its body, if anything. `mirrored` are arguments of the called tool that have
/// to be there, with the names of their headers.
pub fn mismatch(
    header: impl Fn(&str) -> Option<String>,
    body: &str,
    mirrored: &[(String, String)],
) -> Option<String> {
    let body: Value = serde_json::from_str(body).ok()?;
    let params = &body["params"];
    let mut due = vec![
        (
            "mcp-protocol-version".to_owned(),
            params[META][VERSION].clone(),
        ),
        ("mcp-method".to_owned(), body["method"].clone()),
    ];
    match body["method"].as_str().unwrap_or_default() {
        "tools/call" | "prompts/get" => due.push(("mcp-name".to_owned(), params["name"].clone())),
        "resources/read" => due.push(("mcp-name".to_owned(), params["uri"].clone())),
        "tasks/get" | "tasks/update" | "tasks/cancel" => {
            due.push(("mcp-name".to_owned(), params["taskId"].clone()));
        }
        _ => (),
    }
    for (argument, name) in mirrored {
        let value = params["arguments"][argument].clone();
        due.push((format!("mcp-param-{}", name.to_lowercase()), value));
    }
    for (name, value) in due {
        let expected = match &value {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        };
        if header(&name) != expected {
            return Some(format!("{name} is not {value}"));
        }
    }
    None
}

/// The arguments that a tool definition wants in headers.
pub fn mirrored(definition: &str) -> Vec<(String, String)> {
    let definition: Value = serde_json::from_str(definition).unwrap_or_default();
    let Some(properties) = definition["inputSchema"]["properties"].as_object() else {
        return Vec::new();
    };
    let named = |(key, property): (&String, &Value)| {
        Some((key.clone(), property["x-mcp-header"].as_str()?.to_owned()))
    };
    properties.iter().filter_map(named).collect()
}
