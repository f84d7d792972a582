//! How a fake upstream presents itself.

use serde_json::Value;

use super::script::Script;

pub fn initialize_result(script: &Script) -> String {
    let capabilities = script
        .capabilities
        .clone()
        .unwrap_or_else(|| derived_capabilities(script));
    let instructions = match &script.instructions {
        Some(text) => format!(r#","instructions":{}"#, Value::from(text.as_str())),
        None => String::new(),
    };
    format!(
        r#"{{"protocolVersion":"{}","capabilities":{capabilities},"serverInfo":{{"name":"fake","version":"1.10"}}{instructions}}}"#,
        script.revision
    )
}

pub fn discover_result(script: &Script) -> String {
    let capabilities = script
        .capabilities
        .clone()
        .unwrap_or_else(|| derived_capabilities(script));
    let instructions = match &script.instructions {
        Some(text) => format!(r#","instructions":{}"#, Value::from(text.as_str())),
        None => String::new(),
    };
    let supported = Value::from(script.supported());
    format!(
        r#"{{"resultType":"complete","supportedVersions":{supported},"capabilities":{capabilities}{instructions},"ttlMs":0,"cacheScope":"public","_meta":{{"io.modelcontextprotocol/serverInfo":{{"name":"fake","version":"1.10"}}}}}}"#
    )
}

fn derived_capabilities(script: &Script) -> String {
    let mut parts = vec![r#""tools":{"listChanged":true}"#, r#""logging":{}"#];
    if !script.prompts.is_empty() {
        parts.push(r#""prompts":{"listChanged":true}"#);
    }
    if !script.resources.is_empty() || !script.templates.is_empty() {
        parts.push(r#""resources":{"subscribe":true,"listChanged":true}"#);
    }
    format!("{{{}}}", parts.join(","))
}
