//! The list calls of a client, which read all pages.

use std::ffi::c_char;

use serde::Serialize;
use serde_json::json;

use super::calling::Request;
use super::shared::mcplink_client_t;
use crate::cffi::entry::Outcome;
use crate::cffi::result::mcplink_result_t;
use crate::cffi::text::name;
use crate::client::ListPage;
use crate::error::{Error, ErrorKind};
use crate::jsonrpc::RawResult;
use crate::schema::{
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListSkillsResult,
    ListToolsResult, ReadResourceDirectoryResult, method,
};

/// Makes a call that reads all pages of a list, and returns the pages as one result. `member` is
/// the name of the items in the result. `directory` is the URI of the directory whose children are
/// listed.
fn list<P>(member: &'static str, directory: Option<String>) -> Outcome<Request>
where
    P: ListPage<Item: Serialize> + 'static,
{
    Ok(Request::new(P::METHOD, move |client, options| {
        client.prepare_list::<P, _>(directory, options, move |items, misfits| {
            let items = serde_json::to_string(&items).map_err(|error| {
                let text = format!("the list can't be written as JSON: {error}");
                Error::new(ErrorKind::Protocol, text)
            })?;
            let list = RawResult::alone(format!("{{\"{member}\":{items}}}"));
            mcplink_result_t::of_list(P::METHOD, list, misfits)
        })
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
        list::<ListToolsResult>("tools", None)
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
        list::<ListResourcesResult>("resources", None)
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
        list::<ListResourceTemplatesResult>("resourceTemplates", None)
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
        list::<ListPromptsResult>("prompts", None)
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
        list::<ListSkillsResult>("skills", None)
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
        Ok(Request::blocking(
            method::SKILLS_GET,
            move |client, options| {
                let skill = client.get_skill_with(&uri, options)?;
                let result = json!({ "skill": skill });
                Ok(mcplink_result_t::new(RawResult::alone(result.to_string())))
            },
        ))
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
        list::<ReadResourceDirectoryResult>("resources", Some(uri))
    }
    /// Starts to list a directory without waiting: the non-blocking form of
    /// mcplink_client_list_directory.
    start mcplink_client_list_directory_start;
}
