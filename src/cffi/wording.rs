//! The names of settings in texts for C: the texts of the library name the settings of Rust.

use std::borrow::Cow;

/// The settings of Rust that error texts and log records name, with their names in C.
const NAMES: [(&str, &str); 17] = [
    (
        "Browser::show, Browser::program",
        "mcplink_oauth_set_browser",
    ),
    (
        "CallOptions::log_level",
        "mcplink_call_options_set_log_level",
    ),
    (
        "ClientBuilder::validator",
        "mcplink_client_options_clear_validation",
    ),
    ("Context::ask", "mcplink_responder_ask"),
    ("Dpop::nonces", "mcplink_resource_server_set_nonces"),
    (
        "ElicitRequestParams::url",
        "mcplink_responder_ask with the mode \"url\"",
    ),
    (
        "Http::root_certificates",
        "mcplink_client_options_set_root_certificates",
    ),
    ("HttpOptions::sessions", "mcplink_http_options_set_sessions"),
    ("JwtVerifier::proxy", "mcplink_resource_server_set_proxy"),
    (
        "JwtVerifier::root_certificates",
        "mcplink_resource_server_set_root_certificates",
    ),
    ("OAuth::forget", "mcplink_oauth_forget"),
    (
        "OAuthBuilder::authorization_param",
        "mcplink_oauth_set_authorization_param",
    ),
    ("OAuthBuilder::registered", "mcplink_oauth_add_client"),
    (
        "OAuthBuilder::root_certificates",
        "mcplink_oauth_set_root_certificates",
    ),
    (
        "ServerBuilder::declare_capability",
        "mcplink_server_options_declare_capability",
    ),
    ("ServerBuilder::tasks", "mcplink_server_options_set_tasks"),
    ("Transport::again", "mcplink_client_options_set_command"),
];

/// Replaces the settings of Rust in a text by those of C.
pub(super) fn for_c(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    if !text.contains("::") {
        return text;
    }
    for (rust, c) in NAMES {
        if text.contains(rust) {
            text = Cow::Owned(text.replace(rust, c));
        }
    }
    text
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    /// Names in texts that no user of C reads, with the reason.
    const RUST_ONLY: [(&str, &str); 9] = [
        ("JsonSchema::any_object", "it is said of types of Rust"),
        ("Tool::input_schema", "it is said of types of Rust"),
        ("SkillOptions::front_matter_parser", "C publishes no skills"),
        ("PendingCall::events", "C has no pending calls"),
        ("PublishedSkill::front_matter", "C publishes no skills"),
        ("ServerBuilder::skill_options", "C publishes no skills"),
        (
            "Receiver::is_patient",
            "C makes no transport that can't wait",
        ),
        ("OAuthBuilder::dpop_key", "C passes no keys of its own"),
        (
            "Http::client_certificate",
            "C has no certificates of clients",
        ),
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

    fn named_below(folder: &Path, all: &mut BTreeSet<String>) {
        for entry in folder.read_dir().expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                named_below(&path, all);
            } else if path.extension().is_some_and(|it| it == "rs") && !path.ends_with(file!()) {
                let source = std::fs::read_to_string(&path).expect("a source");
                for literal in literals(&source) {
                    // Attributes of serde name these functions.
                    let is_attribute = |name: &str| {
                        matches!(
                            name.split_once("::"),
                            Some((_, "is_empty" | "is_none" | "not"))
                        )
                    };
                    let names = names(&literal)
                        .into_iter()
                        .filter(|name| !is_attribute(name));
                    all.extend(names.map(str::to_owned));
                }
            }
        }
    }

    #[test]
    fn every_setting_in_a_text_has_a_name_in_c() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let header = std::fs::read_to_string(root.join("include/mcplink.h")).expect("the header");
        let mut named = BTreeSet::new();
        named_below(&root.join("src"), &mut named);
        let known = NAMES.iter().chain(&RUST_ONLY);
        let known = known.flat_map(|(rust, _)| names(rust));
        let known: BTreeSet<String> = known.map(str::to_owned).collect();
        assert_eq!(
            named, known,
            "the names in src, and in the lists of this file"
        );
        for (_, c) in NAMES {
            let function = c.split(' ').next().expect("a name");
            assert!(header.contains(&format!("{function}(")), "{function}");
        }
    }

    #[test]
    fn a_text_for_c_names_its_settings() {
        assert_eq!(for_c("nothing: to do"), "nothing: to do");
        assert_eq!(
            for_c("see Transport::again, or Own::thing"),
            "see mcplink_client_options_set_command, or Own::thing"
        );
    }
}
