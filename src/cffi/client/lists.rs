//! The list calls of a client, which read all pages.

use std::ffi::c_char;

use serde::Serialize;
use serde_json::json;

use super::call_table::calls;
use super::calling::Request;
use super::shared::mcplink_client_t;
use crate::cffi::entry::Outcome;
use crate::cffi::result::mcplink_result_t;
use crate::cffi::text::name;
use crate::client::{CallOptions, Client};
use crate::error::{Error, ErrorKind, Result};
use crate::jsonrpc::RawResult;
use crate::schema::{Misfit, method};

/// The entries of a list, and the invalid entries that were left out.
type Listed<T> = (Vec<T>, Vec<Misfit>);

/// Makes a request that reads all pages of a list with `read`, and returns the pages as one result.
fn list<T: Serialize + 'static>(
    method: &'static str,
    member: &'static str,
    read: impl Fn(&Client, CallOptions<'_>) -> Result<Listed<T>> + Send + 'static,
) -> Outcome<Request> {
    Ok(Request::new(method, move |client, options| {
        let (items, misfits) = read(client, options)?;
        let items = serde_json::to_string(&items).map_err(|error| {
            let text = format!("the list can't be written as JSON: {error}");
            Error::new(ErrorKind::Protocol, text)
        })?;
        let list = RawResult::alone(format!("{{\"{member}\":{items}}}"));
        mcplink_result_t::of_list(method, list, misfits)
    }))
}

calls! {
    client: mcplink_client_t;

    /// Lists all tools of the server. The function reads all pages of the list.
    ///
    /// If the cache contains a fresh result, the cached result is returned without a request: see
    /// mcplink_call_options_set_bypass_cache.
    ///
    /// options: the options for the request of each page; NULL for the defaults.
    /// out, err: see mcplink_client_call_tool. The result is {"tools":[...]}.
    /// Returns: see mcplink_client_call_tool; MCPLINK_E_LIMIT when the list has too many pages or
    /// items (mcplink_client_options_set_max_list).
    fn mcplink_client_list_tools() -> mcplink_result_t {
        list(method::TOOLS_LIST, "tools", |client, options| {
            client.tool_pages(options).read_all()
        })
    }
    /// Starts to list the tools without waiting: the non-blocking form of
    /// mcplink_client_list_tools.
    start mcplink_client_list_tools_start;

    /// Lists all resources of the server. The function reads all pages of the list.
    ///
    /// options: the options for the request of each page; NULL for the defaults.
    /// out, err: see mcplink_client_call_tool. The result is {"resources":[...]}.
    /// Returns: see mcplink_client_call_tool; MCPLINK_E_LIMIT when the list has too many pages or
    /// items.
    fn mcplink_client_list_resources() -> mcplink_result_t {
        list(method::RESOURCES_LIST, "resources", |client, options| {
            client.resource_pages(options).read_all()
        })
    }
    /// Starts to list the resources without waiting: the non-blocking form of
    /// mcplink_client_list_resources.
    start mcplink_client_list_resources_start;

    /// Lists all resource templates of the server. The function reads all pages of the list.
    ///
    /// options: the options for the request of each page; NULL for the defaults.
    /// out, err: see mcplink_client_call_tool. The result is {"resourceTemplates":[...]}.
    /// Returns: see mcplink_client_call_tool; MCPLINK_E_LIMIT when the list has too many pages or
    /// items.
    fn mcplink_client_list_templates() -> mcplink_result_t {
        let method = method::RESOURCES_TEMPLATES_LIST;
        list(method, "resourceTemplates", |client, options| {
            let pages = client.resource_template_pages(options);
            pages.read_all()
        })
    }
    /// Starts to list the resource templates without waiting: the non-blocking form of
    /// mcplink_client_list_templates.
    start mcplink_client_list_templates_start;

    /// Lists all prompts of the server. The function reads all pages of the list.
    ///
    /// options: the options for the request of each page; NULL for the defaults.
    /// out, err: see mcplink_client_call_tool. The result is {"prompts":[...]}.
    /// Returns: see mcplink_client_call_tool; MCPLINK_E_LIMIT when the list has too many pages or
    /// items.
    fn mcplink_client_list_prompts() -> mcplink_result_t {
        list(method::PROMPTS_LIST, "prompts", |client, options| {
            client.prompt_pages(options).read_all()
        })
    }
    /// Starts to list the prompts without waiting: the non-blocking form of
    /// mcplink_client_list_prompts.
    start mcplink_client_list_prompts_start;

    /// Lists all skills of the server (extension "io.modelcontextprotocol/skills"), as the server
    /// sent them. The function reads all pages of the list. The files of a skill are resources:
    /// see mcplink_client_read_resource.
    ///
    /// options: the options for the request of each page; NULL for the defaults.
    /// out, err: see mcplink_client_call_tool. The result is {"skills":[...]}.
    /// Returns: see mcplink_client_call_tool; MCPLINK_E_UNSUPPORTED when the server has not
    /// declared the extension; MCPLINK_E_LIMIT when the list has too many pages or items.
    fn mcplink_client_list_skills() -> mcplink_result_t {
        list(method::SKILLS_LIST, "skills", |client, options| {
            client.skill_pages(options).read_all()
        })
    }
    /// Starts to list the skills without waiting: the non-blocking form of
    /// mcplink_client_list_skills.
    start mcplink_client_list_skills_start;

    /// Gets the entry of a skill, as the server sent it. A skill that is in no list may exist
    /// nevertheless.
    ///
    /// uri: the URI of the skill's SKILL.md.
    /// options, out, err: see mcplink_client_call_tool. The result is {"skill":{...}}.
    /// Returns: see mcplink_client_call_tool; MCPLINK_E_UNSUPPORTED when the server has not
    /// declared the extension.
    fn mcplink_client_get_skill(uri: *const c_char) -> mcplink_result_t {
        let uri = name(uri, "uri")?.to_owned();
        Ok(Request::new(method::SKILLS_GET, move |client, options| {
            let skill = client.get_skill_with(&uri, options)?;
            let result = json!({ "skill": skill });
            Ok(mcplink_result_t::new(RawResult::alone(result.to_string())))
        }))
    }
    /// Starts to get the entry of a skill without waiting: the non-blocking form of
    /// mcplink_client_get_skill.
    start mcplink_client_get_skill_start;

    /// Lists the direct children of a directory of resources, as the server has it now. The
    /// function reads all pages of the list.
    ///
    /// uri: the URI of the directory.
    /// options: the options for the request of each page; NULL for the defaults.
    /// out, err: see mcplink_client_call_tool. The result is {"resources":[...]}.
    /// Returns: see mcplink_client_call_tool; MCPLINK_E_UNSUPPORTED when the server has not
    /// declared the setting "directoryRead" of the extension for skills.
    fn mcplink_client_list_directory(uri: *const c_char) -> mcplink_result_t {
        let uri = name(uri, "uri")?.to_owned();
        let method = method::RESOURCES_DIRECTORY_READ;
        list(method, "resources", move |client, options| {
            client.resource_directory_pages(&uri, options).read_all()
        })
    }
    /// Starts to list a directory without waiting: the non-blocking form of
    /// mcplink_client_list_directory.
    start mcplink_client_list_directory_start;
}
