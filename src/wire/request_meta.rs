//! The sender's metadata in a modern request (revision 2026-07-28, basic, "Per-request protocol fields").

use super::{LogLevel, Raw, Revision, RpcError, meta};

/// The sender's part of `params._meta`.
#[derive(Debug, Clone)]
pub struct RequestMeta {
    /// What it speaks.
    pub revision: Revision,
    /// Its name and version, `{}` if it does not say.
    pub client: Raw,
    /// What it can do.
    pub capabilities: Raw,
    /// The log lines that it wants to see; none if it does not say.
    pub log_level: Option<LogLevel>,
}

/// Whether params are those of a modern, stateless request. Any of the keys is enough: a request that has some of them but not all
/// is an invalid modern one.
pub fn is_modern(params: Option<&Raw>) -> bool {
    let Some(meta) = params.and_then(|params| params.get(meta::META)) else {
        return false;
    };
    let keys = [
        meta::PROTOCOL_VERSION,
        meta::CLIENT_CAPABILITIES,
        meta::CLIENT_INFO,
    ];
    meta.look_up(keys).iter().any(|found| found.times > 0)
}

impl RequestMeta {
    /// Reads them. What is missing or has the wrong shape is −32602; a revision that is not served without a handshake is −32022,
    /// with those that are.
    pub fn read(params: Option<&Raw>) -> Result<Self, RpcError> {
        let wrong = |key: &str, why: &str| {
            RpcError::invalid_params(format!(
                "params._meta[{key:?}] {why}. Nothing ran; correct that and send it again."
            ))
        };
        let meta = params.and_then(|params| params.get(meta::META));
        let meta = meta.unwrap_or_else(Raw::empty_object);
        let [version, capabilities, client, log_level] = meta.look_up([
            meta::PROTOCOL_VERSION,
            meta::CLIENT_CAPABILITIES,
            meta::CLIENT_INFO,
            meta::LOG_LEVEL,
        ]);
        let version = version
            .value
            .ok_or_else(|| wrong(meta::PROTOCOL_VERSION, "is missing"))?
            .string()
            .ok_or_else(|| wrong(meta::PROTOCOL_VERSION, "is not a string"))?;
        let revision = Revision::parse(&version)
            .filter(|revision| !revision.has_handshake())
            .ok_or_else(|| unsupported(&version))?;
        let capabilities = capabilities
            .value
            .ok_or_else(|| wrong(meta::CLIENT_CAPABILITIES, "is missing"))?;
        if !capabilities.is_object() {
            return Err(wrong(meta::CLIENT_CAPABILITIES, "is not an object"));
        }
        let log_level = match log_level.value {
            None => None,
            Some(level) => {
                let level = level.string().as_deref().and_then(LogLevel::read);
                Some(level.ok_or_else(|| {
                    wrong(
                        meta::LOG_LEVEL,
                        "must be a log level, such as info or error",
                    )
                })?)
            }
        };
        Ok(Self {
            revision,
            client: client.value.unwrap_or_else(Raw::empty_object),
            capabilities,
            log_level,
        })
    }
}

/// `UnsupportedProtocolVersion` (basic/versioning).
pub fn unsupported(requested: &str) -> RpcError {
    let supported = Revision::names_without_handshake();
    let data = serde_json::json!({ "supported": supported, "requested": requested });
    RpcError::new(
        RpcError::UNSUPPORTED_REVISION,
        format!("Unsupported protocol version: {requested:?}"),
    )
    .with_data(Raw::author(&data))
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERSION: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
    const CAPABILITIES: &str = r#""io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}"#;

    fn read(meta: &str) -> Result<RequestMeta, i64> {
        let params = Raw::parse_str(&format!(r#"{{"_meta":{{{meta}}}}}"#)).expect("JSON");
        RequestMeta::read(Some(&params)).map_err(|error| error.code)
    }

    #[test]
    fn complete_metadata_is_read() {
        let level = r#""io.modelcontextprotocol/logLevel":"info""#;
        let read = read(&format!("{VERSION},{CAPABILITIES},{level}")).expect("complete");
        assert_eq!(read.revision.as_str(), "2026-07-28");
        assert_eq!(read.capabilities.as_str(), r#"{"elicitation":{}}"#);
        assert_eq!(read.client.as_str(), "{}");
        assert_eq!(read.log_level, Some(LogLevel::Info));
    }

    #[test]
    fn faults_have_their_codes() {
        let check = |meta: &str, code| assert_eq!(read(meta).err(), Some(code), "{meta}");
        check("", -32602);
        check(VERSION, -32602);
        check(CAPABILITIES, -32602);
        let other = VERSION.replace("2026-07-28", "2031-01-01");
        check(&format!("{other},{CAPABILITIES}"), -32022);
        let legacy = VERSION.replace("2026-07-28", "2025-11-25");
        check(&format!("{legacy},{CAPABILITIES}"), -32022);
        let level = r#""io.modelcontextprotocol/logLevel":7"#;
        check(&format!("{VERSION},{CAPABILITIES},{level}"), -32602);
        let list = CAPABILITIES.replace(r#"{"elicitation":{}}"#, "[]");
        check(&format!("{VERSION},{list}"), -32602);
    }

    #[test]
    fn the_eras_are_told_apart() {
        let check = |params: &str, modern| {
            let params = Raw::parse_str(params).expect("JSON");
            assert_eq!(is_modern(Some(&params)), modern, "{params:?}");
        };
        check("{}", false);
        check(r#"{"_meta":{"progressToken":1}}"#, false);
        check(&format!(r#"{{"_meta":{{{CAPABILITIES}}}}}"#), true);
        assert!(!is_modern(None));
    }
}
