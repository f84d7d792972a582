//! Keys of `_meta` that the protocol owns.

/// The key of metadata in params and results.
pub const META: &str = "_meta";
/// The token that progress notifications for a request carry.
pub const PROGRESS_TOKEN: &str = "progressToken";
/// The span that a request belongs to (W3C Trace Context).
pub const TRACEPARENT: &str = "traceparent";
/// What others know of its trace.
pub const TRACESTATE: &str = "tracestate";
/// The revision of a modern request.
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// Who sends a modern request.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// What the sender of a modern request can do.
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// Which log lines a modern request wants.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// Who answers a modern request.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// Which `subscriptions/listen` a message belongs to.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// The task of revision 2025-11-25 that a message is about.
pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";

/// What a modern request says about its sender: it belongs to the connection, and never goes on to a legacy server.
pub const OF_THE_SENDER: [&str; 4] = [
    PROTOCOL_VERSION,
    CLIENT_INFO,
    CLIENT_CAPABILITIES,
    LOG_LEVEL,
];
