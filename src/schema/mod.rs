//! The MCP data model: one type per type of the specification, right for every revision.
//!
//! Pure data: nothing here reads, writes, waits or starts a thread. A type is the union of what the revisions say: a member that only
//! some of them have is an `Option`, and its documentation tells since when. [`FitTo`] makes a value fit for a peer that speaks an older
//! revision.
//!
//! **Reading.** A result is read as what its request's method gives, never by its form: nearly every result could be read as another
//! one. Unknown members are ignored in params and kept everywhere else, in a field `extra`. Unknown texts of open sets (content types,
//! log levels, task states, reasons to stop) are kept as `Other`; closed sets (roles, reference types, what a user did) fail.
//!
//! **Verbatim.** JSON Schemas, arguments, structured content, log data and answers are raw JSON text from end to end: digits, order of
//! keys and unknown keywords survive.
//!
//! Messages as a whole are not here: a request is a method name of [`method`] with params, see [`crate::jsonrpc`].
//!
//! Spec: "Schema Reference" (every revision).

#[macro_use]
mod object;
#[macro_use]
mod macros;
#[macro_use]
mod misfit;

mod annotations;
mod app;
pub(crate) mod base64;
mod capabilities;
mod completion;
mod content;
mod elicitation;
mod elicitation_url;
mod form;
mod icon;
mod icon_rules;
mod image_head;
mod input;
pub(crate) mod json;
mod lifecycle;
mod logging;
mod meta;
mod meta_rules;
pub mod method;
mod primitive;
mod primitive_rules;
mod progress;
mod prompt;
mod resource;
mod result;
mod roots;
mod sampling;
mod sampling_content;
mod sampling_rules;
mod subscription;
mod tagged;
mod task;
mod task_extension;
mod tool;
mod trace_context;
pub(crate) mod tree;
pub(crate) mod url;
mod version;

pub use annotations::{Annotations, Role};
pub use app::{APP_MIME_TYPE, APPS_EXTENSION};
pub use capabilities::{
    ClientCapabilities, ElicitationCapability, ElicitationMode, PromptsCapability,
    ResourcesCapability, RootsCapability, SamplingCapability, ServerCapabilities, TasksCapability,
    ToolsCapability,
};
pub use completion::{
    CompleteRequestParams, CompleteResult, Completion, CompletionArgument, CompletionContext,
    CompletionReference, PromptReference, ResourceReference, ResourceTemplateReference,
};
pub use content::{
    AudioContent, ContentBlock, EmbeddedResource, ImageContent, ResourceLink, TextContent,
};
pub use elicitation::{
    ElicitAction, ElicitRequestFormParams, ElicitRequestParams, ElicitRequestURLParams,
    ElicitResult, ElicitationCompleteNotificationParams,
};
pub(crate) use elicitation_url::demanded_pages;
pub use elicitation_url::{URLElicitationRequiredError, UrlDoubt};
pub use icon::{Icon, IconTheme};
pub use icon_rules::{IconFormat, IconLimits};
pub use input::{
    CreateMessageRequest, ElicitRequest, InputRequest, InputRequests, InputRequiredResult,
    InputResponse, InputResponses, ListRootsRequest,
};
pub use json::{Extra, JsonObject, JsonSchema};
pub use lifecycle::{
    CancelledNotificationParams, DiscoverResult, Implementation, InitializeRequestParams,
    InitializeResult,
};
pub use logging::{LoggingLevel, LoggingMessageNotificationParams, SetLevelRequestParams};
pub use meta::{
    MetaObject, NotificationMetaObject, NotificationParams, PaginatedRequestParams,
    RequestMetaObject, RequestParams, ResultMetaObject, SubscriptionsListenResultMetaObject,
    meta_key,
};
pub use meta_rules::{
    check_extension_id, check_meta_key, is_reserved_meta_key, is_valid_baggage,
    is_valid_traceparent, is_valid_tracestate,
};
pub use misfit::Misfit;
pub use primitive::{
    BooleanSchema, ElicitSchema, EnumOption, LegacyTitledEnumSchema, NumberSchema,
    PrimitiveSchemaDefinition, StringFormat, StringSchema, TitledItems,
    TitledMultiSelectEnumSchema, TitledSingleSelectEnumSchema, UntitledItems,
    UntitledMultiSelectEnumSchema, UntitledSingleSelectEnumSchema,
};
pub use progress::{ProgressNotificationParams, ProgressToken};
pub use prompt::{
    GetPromptRequestParams, GetPromptResult, ListPromptsResult, Prompt, PromptArgument,
    PromptMessage,
};
pub use resource::{
    BlobResourceContents, ListResourceTemplatesResult, ListResourcesResult,
    ReadResourceRequestParams, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
    ResourceUpdatedNotificationParams, SubscribeRequestParams, TextResourceContents,
    UnsubscribeRequestParams,
};
pub use result::{CacheHint, CacheScope, EmptyResult, ResultType};
pub use roots::{ListRootsRequestParams, ListRootsResult, Root};
pub use sampling::{
    CreateMessageRequestParams, CreateMessageResult, IncludeContext, ModelHint, ModelPreferences,
    SamplingMessage, StopReason, ToolChoice, ToolChoiceMode,
};
pub use sampling_content::{
    SamplingContent, SamplingMessageContentBlock, ToolResultContent, ToolUseContent,
};
pub use sampling_rules::ModelOffer;
pub use subscription::{
    SubscriptionFilter, SubscriptionsAcknowledgedNotificationParams,
    SubscriptionsListenRequestParams, SubscriptionsListenResult,
};
pub use tagged::Unknown;
pub use task::{
    CancelTaskResult, CreateTaskResult, GetTaskResult, ListTasksResult, RelatedTaskMetadata, Task,
    TaskMetadata, TaskRequestParams, TaskStatus, TaskStatusNotificationParams,
};
pub use task_extension::{DetailedTask, TASKS_EXTENSION, UpdateTaskRequestParams};
pub use tool::{
    CallToolRequestParams, CallToolResult, ListToolsResult, TaskSupport, Tool, ToolAnnotations,
    ToolExecution,
};
pub use trace_context::TraceContext;
pub use version::{FitTo, ProtocolVersion};
