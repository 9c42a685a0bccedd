//! The enumerations of the header, as C passes them.
//!
//! In the header these types are the enumerations, so that compilers warn of a constant of another
//! enumeration. In Rust they are numbers: a value that is no constant would be undefined behavior
//! as an enumeration of Rust. The header is made without this file, which is not in the list of
//! the build script.

pub type mcplink_completion_of = i32;
pub type mcplink_connection_state = i32;
pub type mcplink_content_kind = i32;
pub type mcplink_dpop = i32;
pub type mcplink_era = i32;
pub type mcplink_http_limit = i32;
pub type mcplink_json_type_t = i32;
pub type mcplink_limit = i32;
pub type mcplink_list = i32;
pub type mcplink_log_level = i32;
pub type mcplink_param_type = i32;
pub type mcplink_primitive = i32;
pub type mcplink_stderr = i32;
pub type mcplink_subject = i32;
pub type mcplink_task_support = i32;
pub type mcplink_tool_hint = i32;
