//! The MCP data model: one Rust type for each type of the specification, valid for every revision.
//!
//! Pure data: this module does no I/O and starts no threads. A type is the union of all revisions.
//! A member that only some revisions have is an `Option`, and its documentation names the first
//! revision with the member. [`FitTo`] adapts a value to a peer with an older revision.
//!
//! **Reading.** The method of a request determines the type of its result. The content of the
//! result does not, because nearly every result could be read as another type. Unknown members of
//! params are ignored; elsewhere they are kept in a field `extra`. Unknown values of open sets
//! (content types, log levels, task states, stop reasons) are kept as `Other`. Unknown values of
//! closed sets (roles, reference types, actions of a user) are errors.
//!
//! **Verbatim.** JSON Schemas, arguments, structured content, log data and answers are kept as raw
//! JSON text. This preserves digits, the order of keys and unknown keywords.
//!
//! Whole messages are in [`crate::jsonrpc`]. A request is a method name of [`method`] with params.
//!
//! Spec: "Schema Reference" (every revision).

#[macro_use]
mod object;
#[macro_use]
mod object_macro;
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
pub(crate) mod date;
mod elicitation;
mod elicitation_url;
pub(crate) mod file_uri;
pub(crate) mod finite;
mod form;
mod icon;
mod icon_rules;
mod image_head;
mod input;
pub(crate) mod json;
mod lifecycle;
mod logging;
mod member;
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
mod skills;
mod subscription;
mod tagged;
mod task;
mod task_extension;
mod tool;
mod trace_context;
pub(crate) mod tree;
mod uri_template;
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
pub use icon_rules::IconLimits;
pub use image_head::IconFormat;
pub use input::{
    CreateMessageRequest, ElicitRequest, InputRequest, InputRequests, InputRequiredResult,
    InputResponse, InputResponses, ListRootsRequest,
};
pub use json::{JsonSchema, read_json};
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
pub use skills::{
    DIRECTORY_MIME_TYPE, GetSkillRequestParams, GetSkillResult, ListSkillsResult,
    ReadResourceDirectoryRequestParams, ReadResourceDirectoryResult, SKILLS_EXTENSION, Skill,
    SkillResource, SkillResources, SkillsCapability,
};
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
pub use tree::{Extra, JsonObject};
pub use version::{FitTo, ProtocolVersion};
