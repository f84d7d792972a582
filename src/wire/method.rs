//! Names of methods that we look at. All others pass unread.

/// Opens a legacy connection.
pub const INITIALIZE: &str = "initialize";
/// Ends the handshake.
pub const INITIALIZED: &str = "notifications/initialized";
/// Asks a modern server what it is.
pub const DISCOVER: &str = "server/discover";
/// Asks for a sign of life.
pub const PING: &str = "ping";
/// Lists tools.
pub const TOOLS_LIST: &str = "tools/list";
/// Calls a tool.
pub const TOOLS_CALL: &str = "tools/call";
/// Lists prompts.
pub const PROMPTS_LIST: &str = "prompts/list";
/// Fills a prompt.
pub const PROMPTS_GET: &str = "prompts/get";
/// Lists resources.
pub const RESOURCES_LIST: &str = "resources/list";
/// Lists resource templates.
pub const TEMPLATES_LIST: &str = "resources/templates/list";
/// Reads a resource.
pub const RESOURCES_READ: &str = "resources/read";
/// Asks to hear of a resource's updates.
pub const RESOURCES_SUBSCRIBE: &str = "resources/subscribe";
/// Ends that.
pub const RESOURCES_UNSUBSCRIBE: &str = "resources/unsubscribe";
/// Completes an argument.
pub const COMPLETE: &str = "completion/complete";
/// Says which log lines are wanted.
pub const SET_LEVEL: &str = "logging/setLevel";
/// Withdraws a request.
pub const CANCELLED: &str = "notifications/cancelled";
/// How far a request has come.
pub const PROGRESS: &str = "notifications/progress";
/// A log line.
pub const LOG_MESSAGE: &str = "notifications/message";
/// The tools changed.
pub const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
/// The prompts changed.
pub const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";
/// The resources changed.
pub const RESOURCES_CHANGED: &str = "notifications/resources/list_changed";
/// A resource that was subscribed to changed.
pub const RESOURCE_UPDATED: &str = "notifications/resources/updated";
/// An upstream asks for the client's roots.
pub const ROOTS_LIST: &str = "roots/list";
