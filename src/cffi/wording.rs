//! The names of settings in texts for C: the texts of the library name the settings of Rust.

use std::borrow::Cow;

/// The settings of Rust that error texts and log records name, with their names in C: a row each.
const NAMES: &str = "\
Browser::show, Browser::program = mcplink_oauth_set_browser
CallOptions::log_level = mcplink_call_options_set_log_level
Child::current_dir = mcplink_client_options_set_cwd
Child::die_with_parent = mcplink_client_options_set_die_with_parent
ClientBuilder::assume_capabilities = mcplink_client_options_set_assume_capabilities
ClientBuilder::connect_timeout = mcplink_client_options_set_connect_timeout_ms
ClientBuilder::max_list_items = mcplink_client_options_set_max_list
ClientBuilder::max_list_pages = mcplink_client_options_set_max_list
ClientBuilder::on_connection_event = mcplink_client_options_on_event
ClientBuilder::on_list_roots = mcplink_client_options_on_list_roots
ClientBuilder::slow_handler = mcplink_client_options_set_slow_handler_ms
ClientBuilder::validator = mcplink_client_options_clear_validation
Context::ask = mcplink_responder_ask
Dpop::nonces = mcplink_resource_server_set_nonces
ElicitRequestParams::url = mcplink_responder_ask with the mode \"url\"
Folder::max_bytes = mcplink_server_add_folder
Http::client_certificate = mcplink_client_options_set_client_certificate
Http::follow_redirects = mcplink_client_options_set_follow_redirects
Http::http_client = mcplink_client_options_set_http_client
Http::proxy = mcplink_client_options_set_proxy
Http::root_certificates = mcplink_client_options_set_root_certificates
HttpLimits::max_connections = MCPLINK_HTTP_LIMIT_CONNECTIONS
HttpOptions::max_sessions = MCPLINK_HTTP_LIMIT_SESSIONS
HttpOptions::max_streams = MCPLINK_HTTP_LIMIT_STREAMS
HttpOptions::old_paths = mcplink_http_options_set_old_paths
HttpOptions::session_idle = mcplink_http_options_set_session_idle_ms
JwtVerifier::proxy = mcplink_resource_server_set_proxy
JwtVerifier::root_certificates = mcplink_resource_server_set_root_certificates
Limits::max_calls = MCPLINK_LIMIT_CALLS
Limits::max_message_bytes = MCPLINK_LIMIT_MESSAGE_BYTES
Limits::max_queued_bytes = MCPLINK_LIMIT_QUEUED_BYTES
OAuth::forget = mcplink_oauth_forget
OAuthBuilder::allow_private_addresses = mcplink_oauth_set_private_addresses
OAuthBuilder::authorization_param = mcplink_oauth_set_authorization_param
OAuthBuilder::dpop_key = mcplink_oauth_set_dpop_signer
OAuthBuilder::http_client = mcplink_oauth_set_http_client
OAuthBuilder::login_timeout = mcplink_oauth_set_login_timeout_ms
OAuthBuilder::proxy = mcplink_oauth_set_proxy
OAuthBuilder::registered = mcplink_oauth_add_client
OAuthBuilder::root_certificates = mcplink_oauth_set_root_certificates
OAuthBuilder::step_timeout = mcplink_oauth_set_step_timeout_ms
Restart::max_attempts = mcplink_client_options_set_restart
ServerBuilder::declare_capability = mcplink_server_options_declare_capability
ServerBuilder::slow_handler = mcplink_server_options_set_slow_handler_ms
ServerBuilder::state_lifetime = mcplink_server_options_set_state_lifetime_ms
ServerBuilder::tasks = mcplink_server_options_set_tasks
Transport::again = mcplink_client_options_set_command";

/// Returns the names of [`NAMES`]: in Rust, and in C.
fn names_for_c() -> impl Iterator<Item = (&'static str, &'static str)> {
    let rows = NAMES.lines();
    rows.map(|row| row.split_once(" = ").expect("a row has two names"))
}

/// Replaces the settings of Rust in a text by those of C.
pub(super) fn for_c(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    if !text.contains("::") {
        return text;
    }
    for (rust, c) in names_for_c() {
        if let Some(replaced) = with_name(&text, rust, c) {
            text = Cow::Owned(replaced);
        }
    }
    text
}

/// Replaces a name in a text, but not where the name is a part of a longer one: `Limits::max_calls`
/// is not in `OwnLimits::max_calls_of`. Returns `None` if the text does not have the name.
fn with_name(text: &str, rust: &str, c: &str) -> Option<String> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let (mut replaced, mut copied) = (String::new(), 0);
    for (at, _) in text.match_indices(rust) {
        let end = at + rust.len();
        if !text[..at].ends_with(is_part) && !text[end..].starts_with(is_part) {
            replaced = replaced + &text[copied..at] + c;
            copied = end;
        }
    }
    (copied > 0).then(|| replaced + &text[copied..])
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    /// Names in texts that no user of C reads, or that have no counterpart in C, with the reason.
    const RUST_ONLY: [(&str, &str); 19] = [
        ("CallOptions::on_progress", "C has no pending calls"),
        ("HandlerError::not_found", "the compiler of Rust says it"),
        (
            "Http::connect_timeout",
            "C has one time for all of connecting",
        ),
        ("Http::stall_timeout", "C has no such setting"),
        ("IconLimits::max_bytes", "C checks no icons"),
        ("IconLimits::max_frames", "C checks no icons"),
        ("IconLimits::max_side", "C checks no icons"),
        ("JsonSchema::any_object", "it is said of types of Rust"),
        ("PendingCall::events", "C has no pending calls"),
        ("Publish::max_clients", "C has the default limit"),
        (
            "PublishedSkill::front_matter",
            "C publishes skills of folders",
        ),
        (
            "Receiver::is_patient",
            "C makes no transport that can't wait",
        ),
        ("SchemaLimits::max_schema_bytes", "C has the default limits"),
        (
            "SchemaLimits::max_schemas_per_value",
            "C has the default limits",
        ),
        (
            "ServerBuilder::skill_options",
            "C publishes skills of folders",
        ),
        ("SkillLimits::max_bytes", "C has no skills"),
        ("SkillLimits::max_files", "C has no skills"),
        (
            "SkillOptions::front_matter_parser",
            "C publishes skills of folders",
        ),
        ("Tool::input_schema", "it is said of types of Rust"),
    ];

    /// Returns the string literals of a source file, before its tests and without comments.
    fn literals(source: &str) -> Vec<String> {
        let end = source.find("#[cfg(all(test").unwrap_or(source.len());
        let mut rest = &source[..end];
        let mut found = Vec::new();
        while let Some(at) = rest.find(['"', '/', '\'']) {
            let part = &rest[at..];
            if part.starts_with("//") {
                rest = part.split_once('\n').map_or("", |(_, rest)| rest);
            } else if part.starts_with("'\"'") || part.starts_with("'\\\"'") {
                rest = part[1..].split_once('\'').map_or("", |(_, rest)| rest);
            } else if let Some(text) = part.strip_prefix('"') {
                let end = if rest[..at].ends_with('#') {
                    text.find("\"#")
                } else if rest[..at].ends_with('r') {
                    // A raw string: a backslash stands for itself.
                    text.find('"')
                } else {
                    let mut escaped = false;
                    text.find(|letter| {
                        let ends = letter == '"' && !escaped;
                        escaped = letter == '\\' && !escaped;
                        ends
                    })
                };
                let end = end.unwrap_or(text.len());
                found.push(text[..end].to_owned());
                rest = text.get(end + 1..).unwrap_or_default();
            } else {
                rest = &part[1..];
            }
        }
        found
    }

    /// Returns the names of the form `Type::name` in a text.
    fn names(text: &str) -> Vec<&str> {
        let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
        let named = text.match_indices("::").filter_map(|(at, _)| {
            let start = text[..at]
                .rfind(|letter| !is_part(letter))
                .map_or(0, |it| it + 1);
            let after = &text[at + 2..];
            let end = after.find(|letter| !is_part(letter)).unwrap_or(after.len());
            let name = &text[start..at + 2 + end];
            let fits =
                name.starts_with(char::is_uppercase) && after.starts_with(char::is_lowercase);
            fits.then_some(name)
        });
        named.collect()
    }

    /// Returns the string literals of all source files but this one.
    fn all_literals() -> Vec<String> {
        let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
        let mut all = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in folder.read_dir().expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|it| it == "rs") && !path.ends_with(file!())
                {
                    all.extend(literals(&std::fs::read_to_string(&path).expect("a source")));
                }
            }
        }
        all
    }

    #[test]
    fn every_setting_in_a_text_has_a_name_in_c() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let header = std::fs::read_to_string(root.join("include/mcplink.h")).expect("the header");
        let texts = all_literals();
        // Attributes of serde name these functions.
        let is_attribute = |name: &&str| {
            let (_, method) = name.split_once("::").expect("a type");
            matches!(method, "is_empty" | "is_none" | "not")
        };
        let named = texts.iter().flat_map(|text| names(text));
        let named = named.filter(|name| !is_attribute(name));
        let named: BTreeSet<String> = named.map(str::to_owned).collect();
        let known = names_for_c().chain(RUST_ONLY);
        let known = known.flat_map(|(rust, _)| names(rust));
        let known: BTreeSet<String> = known.map(str::to_owned).collect();
        assert_eq!(
            named, known,
            "the names in src, and in the lists of this file"
        );
        for (_, c) in names_for_c() {
            let name = c.split(' ').next().expect("a name");
            let mut forms = ["(", " = "]
                .map(|after| format!("{name}{after}"))
                .into_iter();
            assert!(forms.any(|form| header.contains(&form)), "{name}");
        }
    }

    #[test]
    fn every_setting_in_a_text_has_its_type() {
        // These are parameters in C, and a setting whose name is the same in all its types.
        let bare = ["max_failures", "max_items", "max_timeout"];
        let known = names_for_c().chain(RUST_ONLY);
        let known = known.flat_map(|(rust, _)| names(rust));
        let known = known.filter_map(|name| Some(name.split_once("::")?.1));
        let known: BTreeSet<&str> = known.filter(|name| name.contains('_')).collect();
        for text in all_literals().iter().filter(|text| text.contains(' ')) {
            let is_part = |letter: char| letter.is_alphanumeric() || "_:{".contains(letter);
            for word in text.split(|letter| !is_part(letter)) {
                let is_setting = known.contains(word) || word.starts_with("max_");
                assert!(!is_setting || bare.contains(&word), "{word} in {text:?}");
            }
        }
    }

    #[test]
    fn a_text_for_c_names_its_settings() {
        assert_eq!(for_c("nothing: to do"), "nothing: to do");
        assert_eq!(
            for_c("see Transport::again, or Own::thing"),
            "see mcplink_client_options_set_command, or Own::thing"
        );
        assert_eq!(
            for_c("5 (Limits::max_calls), OwnLimits::max_calls, Limits::max_calls_of"),
            "5 (MCPLINK_LIMIT_CALLS), OwnLimits::max_calls, Limits::max_calls_of"
        );
    }
}
