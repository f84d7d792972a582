//! Names of methods that we look at. All others pass unread.

/// Opens a legacy connection.
pub const INITIALIZE: &str = "initialize";
/// Ends the handshake.
pub const INITIALIZED: &str = "notifications/initialized";
/// Asks a modern server what it is.
pub const DISCOVER: &str = "server/discover";
/// Checks that the other side responds.
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
/// Subscribes to the updates of a resource.
pub const RESOURCES_SUBSCRIBE: &str = "resources/subscribe";
/// Ends such a subscription.
pub const RESOURCES_UNSUBSCRIBE: &str = "resources/unsubscribe";
/// Completes an argument.
pub const COMPLETE: &str = "completion/complete";
/// Sets the least severe level of log lines that are sent.
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
/// An upstream asks for a completion by the client's model.
pub const SAMPLING: &str = "sampling/createMessage";
/// An upstream asks the client's user.
pub const ELICITATION: &str = "elicitation/create";
/// Opens a modern client's stream of notifications.
pub const LISTEN: &str = "subscriptions/listen";
/// The first message on it: which of the requested notifications will be sent.
pub const LISTEN_ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
/// The client's roots changed.
pub const ROOTS_CHANGED: &str = "notifications/roots/list_changed";
/// The state of a task (tasks extension).
pub const TASKS_GET: &str = "tasks/get";
/// Gives a task the input that it needs.
pub const TASKS_UPDATE: &str = "tasks/update";
/// Withdraws a task.
pub const TASKS_CANCEL: &str = "tasks/cancel";
/// A task that is followed has another state.
pub const TASK_CHANGED: &str = "notifications/tasks";
/// Waits for what a task of revision 2025-11-25 comes to.
pub const TASKS_RESULT: &str = "tasks/result";
/// A task of that revision has another state.
pub const TASK_STATUS: &str = "notifications/tasks/status";
/// The tasks of revision 2025-11-25.
pub const TASKS_LIST: &str = "tasks/list";

/// Whether it is the method of a notification, in whatever revision: all others are those of requests.
pub fn is_of_notification(method: &str) -> bool {
    method.starts_with("notifications/")
}

/// Methods that only modern revisions have.
pub fn is_modern(method: &str) -> bool {
    matches!(method, DISCOVER | LISTEN)
}

/// Requests that name a task, in either era.
pub fn names_a_task(method: &str) -> bool {
    is_of_tasks(method) || method == TASKS_RESULT
}

/// Methods of the tasks extension.
pub fn is_of_tasks(method: &str) -> bool {
    matches!(method, TASKS_GET | TASKS_UPDATE | TASKS_CANCEL)
}

/// Methods that went with the handshake.
pub(super) fn went_with_the_handshake(method: &str) -> bool {
    matches!(
        method,
        INITIALIZE
            | PING
            | SET_LEVEL
            | RESOURCES_SUBSCRIBE
            | RESOURCES_UNSUBSCRIBE
            | TASKS_RESULT
            | TASKS_LIST
    )
}

/// Whether it lists what a server offers.
pub fn is_list(method: &str) -> bool {
    matches!(
        method,
        TOOLS_LIST | PROMPTS_LIST | RESOURCES_LIST | TEMPLATES_LIST
    )
}

/// Methods whose modern results say how long they may be kept (revision 2026-07-28, server/utilities/caching).
pub const CACHEABLE: [&str; 6] = [
    DISCOVER,
    TOOLS_LIST,
    PROMPTS_LIST,
    RESOURCES_LIST,
    TEMPLATES_LIST,
    RESOURCES_READ,
];

/// The same name, of which no copy need be made; of the most frequent ones.
pub fn well_known(method: &str) -> Option<&'static str> {
    let known = [
        TOOLS_CALL,
        TOOLS_LIST,
        RESOURCES_READ,
        PROMPTS_GET,
        COMPLETE,
    ];
    known.into_iter().find(|known| *known == method)
}
