//! JSON-RPC as the demo server needs it: telling the kinds of message apart, and wording errors.

use serde_json::{Value, json};

/// One message from the client.
pub(super) enum DemoMessage {
    Request(DemoRequest),
    Notification {
        method: String,
        params: Value,
    },
    /// An answer to a question; the demo server asks none.
    Response,
    Invalid {
        id: Value,
    },
}

/// A request: it has an id, so it gets an answer.
pub(super) struct DemoRequest {
    /// A string or a number, as the client wrote it.
    pub(super) id: Value,
    pub(super) method: String,
    /// `null` when there are none.
    pub(super) params: Value,
}

impl DemoMessage {
    pub(super) fn read(mut value: Value) -> Self {
        if !value.is_object() {
            return Self::Invalid { id: Value::Null };
        }
        let id = value["id"].take();
        let params = value["params"].take();
        let good_id = id.is_string() || id.is_number();
        let invalid_id = if good_id { id.clone() } else { Value::Null };
        if value["jsonrpc"] != "2.0" {
            return Self::Invalid { id: invalid_id };
        }
        let Some(method) = value["method"].as_str().map(str::to_owned) else {
            let answers = value.get("result").is_some() || value.get("error").is_some();
            return if answers {
                Self::Response
            } else {
                Self::Invalid { id: invalid_id }
            };
        };
        if !(params.is_null() || params.is_object()) {
            return Self::Invalid { id: invalid_id };
        }
        if good_id {
            Self::Request(DemoRequest { id, method, params })
        } else if id.is_null() {
            Self::Notification { method, params }
        } else {
            Self::Invalid { id: invalid_id }
        }
    }
}

/// A JSON-RPC error.
#[derive(Debug)]
pub(super) struct DemoError {
    code: i32,
    message: String,
    data: Option<Value>,
}

impl DemoError {
    fn new(code: i32, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    pub(super) fn parse(detail: &str) -> Self {
        Self::new(-32700, format!("the line is not JSON: {detail}"))
    }

    pub(super) fn invalid(message: &str) -> Self {
        Self::new(-32600, message)
    }

    pub(super) fn unknown_method(method: &str) -> Self {
        Self::new(-32601, format!("unknown method {method:?}"))
    }

    pub(super) fn params(message: impl Into<String>) -> Self {
        Self::new(-32602, message)
    }

    pub(super) fn unknown_resource(uri: &str) -> Self {
        Self {
            data: Some(json!({ "uri": uri })),
            ..Self::new(-32002, format!("there is no resource {uri:?}"))
        }
    }

    /// The whole message that answers the request `id` with this error.
    pub(super) fn reply(&self, id: &Value) -> Value {
        let mut error = json!({ "code": self.code, "message": self.message });
        if let Some(data) = &self.data {
            error["data"] = data.clone();
        }
        json!({ "jsonrpc": "2.0", "id": id, "error": error })
    }
}
