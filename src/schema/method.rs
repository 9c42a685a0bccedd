//! The names of all methods and notifications.
//!
//! The set of methods is open: extensions and later revisions add names. Therefore a method name is
//! plain text in all types, and the known names are constants.

/// Discovers the revisions and capabilities of a server. Since 2026-07-28.
pub const SERVER_DISCOVER: &str = "server/discover";
/// Initializes a connection. Up to 2025-11-25.
pub const INITIALIZE: &str = "initialize";
/// Checks that the peer responds. Up to 2025-11-25.
pub const PING: &str = "ping";
/// Opens a stream of change notifications. Since 2026-07-28.
pub const SUBSCRIPTIONS_LISTEN: &str = "subscriptions/listen";
/// Completes the value of an argument.
pub const COMPLETION_COMPLETE: &str = "completion/complete";
/// Requests input from the user. Since 2025-06-18; inside an `InputRequiredResult` since
/// 2026-07-28.
pub const ELICITATION_CREATE: &str = "elicitation/create";
/// Sets the lowest level of log messages to send. Up to 2025-11-25.
pub const LOGGING_SET_LEVEL: &str = "logging/setLevel";
/// Gets a prompt.
pub const PROMPTS_GET: &str = "prompts/get";
/// Lists prompts.
pub const PROMPTS_LIST: &str = "prompts/list";
/// Lists the children of a directory. Exists only in the skills extension.
pub const RESOURCES_DIRECTORY_READ: &str = "resources/directory/read";
/// Lists resources.
pub const RESOURCES_LIST: &str = "resources/list";
/// Reads a resource.
pub const RESOURCES_READ: &str = "resources/read";
/// Subscribes to changes of a resource. Up to 2025-11-25.
pub const RESOURCES_SUBSCRIBE: &str = "resources/subscribe";
/// Lists resource templates.
pub const RESOURCES_TEMPLATES_LIST: &str = "resources/templates/list";
/// Ends a subscription of `resources/subscribe`. Up to 2025-11-25.
pub const RESOURCES_UNSUBSCRIBE: &str = "resources/unsubscribe";
/// Lists the client's roots. Inside an `InputRequiredResult` since 2026-07-28.
pub const ROOTS_LIST: &str = "roots/list";
/// Requests an answer of the client's model. Inside an `InputRequiredResult` since 2026-07-28.
pub const SAMPLING_CREATE_MESSAGE: &str = "sampling/createMessage";
/// Gets the entry of a skill. Exists only in the skills extension.
pub const SKILLS_GET: &str = "skills/get";
/// Lists skills. Exists only in the skills extension.
pub const SKILLS_LIST: &str = "skills/list";
/// Cancels a task. Exists in 2025-11-25 and in the tasks extension.
pub const TASKS_CANCEL: &str = "tasks/cancel";
/// Gets the state of a task. Exists in 2025-11-25 and in the tasks extension.
pub const TASKS_GET: &str = "tasks/get";
/// Lists tasks. 2025-11-25 only.
pub const TASKS_LIST: &str = "tasks/list";
/// Answers input requests of a task. Exists only in the tasks extension.
pub const TASKS_UPDATE: &str = "tasks/update";
/// Waits for the result of a task. 2025-11-25 only.
pub const TASKS_RESULT: &str = "tasks/result";
/// Calls a tool.
pub const TOOLS_CALL: &str = "tools/call";
/// Lists tools.
pub const TOOLS_LIST: &str = "tools/list";

/// Cancels a request.
pub const NOTIFICATIONS_CANCELLED: &str = "notifications/cancelled";
/// Notifies that a URL elicitation has been completed. 2025-11-25 only.
pub const NOTIFICATIONS_ELICITATION_COMPLETE: &str = "notifications/elicitation/complete";
/// Ends the initialization of a connection. Up to 2025-11-25.
pub const NOTIFICATIONS_INITIALIZED: &str = "notifications/initialized";
/// Carries a log message.
pub const NOTIFICATIONS_MESSAGE: &str = "notifications/message";
/// Reports the progress of a request.
pub const NOTIFICATIONS_PROGRESS: &str = "notifications/progress";
/// Notifies that the list of prompts changed.
pub const NOTIFICATIONS_PROMPTS_LIST_CHANGED: &str = "notifications/prompts/list_changed";
/// Notifies that the list of resources changed.
pub const NOTIFICATIONS_RESOURCES_LIST_CHANGED: &str = "notifications/resources/list_changed";
/// Notifies that a resource changed.
pub const NOTIFICATIONS_RESOURCES_UPDATED: &str = "notifications/resources/updated";
/// Notifies that the list of roots changed. Up to 2025-11-25.
pub const NOTIFICATIONS_ROOTS_LIST_CHANGED: &str = "notifications/roots/list_changed";
/// Acknowledges a subscription, and names the changes that the server will report. Since
/// 2026-07-28.
pub const NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED: &str =
    "notifications/subscriptions/acknowledged";
/// Reports the status of a task. Exists only in the tasks extension.
pub const NOTIFICATIONS_TASKS: &str = "notifications/tasks";
/// Reports the status of a task. 2025-11-25 only.
pub const NOTIFICATIONS_TASKS_STATUS: &str = "notifications/tasks/status";
/// Notifies that the list of tools changed.
pub const NOTIFICATIONS_TOOLS_LIST_CHANGED: &str = "notifications/tools/list_changed";

/// The methods whose requests are idempotent, because they only read or set a value.
pub(crate) const IDEMPOTENT: [&str; 14] = [
    PING,
    SERVER_DISCOVER,
    TOOLS_LIST,
    RESOURCES_LIST,
    RESOURCES_TEMPLATES_LIST,
    RESOURCES_READ,
    RESOURCES_DIRECTORY_READ,
    SKILLS_LIST,
    SKILLS_GET,
    PROMPTS_LIST,
    PROMPTS_GET,
    COMPLETION_COMPLETE,
    LOGGING_SET_LEVEL,
    TASKS_GET,
];
