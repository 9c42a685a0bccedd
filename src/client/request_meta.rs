//! The `_meta` of every request.
//!
//! The `_meta` is the same for all requests of a connection except for the progress token. So the
//! `_meta` is serialized once and copied into each request.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;
use serde::ser::Error as _;
use serde_json::value::RawValue;

use crate::error::{Error, ErrorKind, Result};
use crate::jsonrpc::memchr::find_either;
use crate::jsonrpc::raw_object::RawObject;
use crate::schema::{
    ClientCapabilities, FitTo, Implementation, InputResponses, JsonObject, ProtocolVersion,
    RequestMetaObject, TASKS_EXTENSION, meta_key,
};

/// The number of bytes of a request's params without the `_meta` members and the caller's own
/// params. The line end is included.
const AROUND_MEMBERS: usize = r#"{"_meta":{"progressToken":}},}"#.len() + 20 + 1;

/// The serialized `_meta` members of all requests of one connection.
#[derive(Clone, Debug)]
pub(super) struct RequestMeta {
    /// The members of `_meta` after the progress token. A comma precedes each member.
    members: String,
    /// The client's capabilities as JSON text.
    capabilities: String,
    /// Whether the client declared that calls may become tasks.
    takes_tasks: bool,
}

impl RequestMeta {
    /// Creates the `_meta` of the legacy era, which contains only the progress token.
    pub(super) fn legacy() -> Self {
        Self {
            members: String::new(),
            capabilities: String::new(),
            takes_tasks: false,
        }
    }

    /// Creates the `_meta` of the modern era, which also contains revision, capabilities and client
    /// info.
    pub(super) fn modern(
        revision: ProtocolVersion,
        capabilities: &ClientCapabilities,
        client_info: Option<&Implementation>,
    ) -> Result<Self> {
        let mut meta = RequestMetaObject::new(revision, capabilities.clone());
        meta.client_info = client_info.cloned();
        meta.fit_to(revision);
        let no_json = |error| {
            let text = format!("the client's description is not JSON: {error}");
            Error::new(ErrorKind::Invalid, text)
        };
        let text = serde_json::to_string(&meta).map_err(no_json)?;
        Ok(Self {
            members: format!(",{}", &text[1..text.len() - 1]),
            capabilities: serde_json::to_string(&meta.client_capabilities).map_err(no_json)?,
            takes_tasks: capabilities.extension(TASKS_EXTENSION).is_some(),
        })
    }

    /// Whether modern servers may answer calls of this client with tasks.
    pub(super) fn takes_tasks(&self) -> bool {
        self.takes_tasks
    }

    /// Returns the client's capabilities as JSON text.
    pub(super) fn capabilities(&self) -> &str {
        &self.capabilities
    }

    /// Returns the members of `_meta` with the capabilities of one request, if it has its own.
    fn members_for(&self, own: &JsonObject) -> Cow<'_, str> {
        let key = meta_key::CLIENT_CAPABILITIES;
        match own.get(key) {
            None => Cow::Borrowed(&self.members),
            Some(own) => {
                let member = |value: &dyn std::fmt::Display| format!("\"{key}\":{value}");
                let (ours, theirs) = (member(&self.capabilities), member(own));
                self.members.replacen(&ours, &theirs, 1).into()
            }
        }
    }

    /// Writes params with the `_meta` of a request. `own` contains additional `_meta` members for
    /// this request.
    ///
    /// The written `_meta` also contains the members of a `_meta` in the params. If names are
    /// equal, the library's members take precedence over `own`, and `own` takes precedence over the
    /// params. Only the capabilities in `own` replace those of the client.
    ///
    /// # Errors
    ///
    /// A `_meta` in the params is neither an object nor `null`.
    pub(super) fn write(
        &self,
        id: i64,
        params: &str,
        own: &JsonObject,
        text: &mut Vec<u8>,
    ) -> serde_json::Result<()> {
        text.reserve(AROUND_MEMBERS + self.members.len() + params.len());
        text.extend_from_slice(b"{\"_meta\":{\"progressToken\":");
        id.serialize(&mut serde_json::Serializer::new(&mut *text))?;
        text.extend_from_slice(self.members_for(own).as_bytes());
        write_rest(params, own, text)
    }

    /// Returns the `_meta` of notifications; `None` in the legacy era, which has none. Some servers
    /// detect the era of each message by its `_meta`.
    pub(super) fn notification_meta(&self) -> Option<Box<RawValue>> {
        let members = self.members.strip_prefix(',')?;
        RawValue::from_string(format!("{{{members}}}")).ok()
    }

    /// Writes the params of a notification with the `_meta` of the modern era. In the legacy era
    /// the params are not changed.
    ///
    /// # Errors
    ///
    /// In the modern era, as [`write`](Self::write).
    pub(super) fn write_notification(&self, params: &str) -> serde_json::Result<Box<RawValue>> {
        let Some(members) = self.members.strip_prefix(',') else {
            return RawValue::from_string(params.to_owned());
        };
        let mut text = format!("{{\"_meta\":{{{members}").into_bytes();
        write_rest(params, &JsonObject::new(), &mut text)?;
        serde_json::from_slice(&text)
    }
}

/// Completes params whose `_meta` has been begun: writes further members of `_meta` and the params.
fn write_rest(params: &str, own: &JsonObject, text: &mut Vec<u8>) -> serde_json::Result<()> {
    for (key, value) in own.iter().filter(|(key, _)| !is_ours(key)) {
        write_member(key, value, text)?;
    }
    let metas = metas_of(params);
    if !metas.is_empty() {
        return merge(params, &metas, own, text);
    }
    text.push(b'}');
    let rest = params
        .trim_ascii_start()
        .strip_prefix('{')
        .unwrap_or("}")
        .trim_ascii_start();
    if !rest.starts_with('}') {
        text.push(b',');
    }
    text.extend_from_slice(rest.as_bytes());
    Ok(())
}

/// Appends the params, and the members of each `_meta` that they have, to `text`. Members that are
/// also in `own`, or that the library sets, are left out.
fn merge(
    params: &str,
    metas: &[&str],
    own: &JsonObject,
    text: &mut Vec<u8>,
) -> serde_json::Result<()> {
    let mut params: Members<'_> = serde_json::from_str(params)?;
    params.remove("_meta");
    let mut meta = Members::new();
    for written in metas.iter().filter(|written| **written != "null") {
        if !written.starts_with('{') {
            return Err(serde_json::Error::custom("_meta has to be an object"));
        }
        meta.extend(serde_json::from_str::<Members<'_>>(written)?);
    }
    for (key, value) in meta {
        if !is_ours(&key) && !own.contains_key(&key) {
            write_member(&key, value, text)?;
        }
    }
    text.push(b'}');
    for (key, value) in params {
        write_member(&key, value, text)?;
    }
    text.push(b'}');
    Ok(())
}

/// A JSON object whose members keep the original text of their values.
type Members<'a> = BTreeMap<String, &'a RawValue>;

/// Whether the library sets this member of `_meta` itself, so that a caller cannot set it.
fn is_ours(key: &str) -> bool {
    [
        meta_key::PROGRESS_TOKEN,
        meta_key::PROTOCOL_VERSION,
        meta_key::CLIENT_CAPABILITIES,
        meta_key::CLIENT_INFO,
    ]
    .contains(&key)
}

fn write_member(
    key: &str,
    value: &(impl Serialize + ?Sized),
    text: &mut Vec<u8>,
) -> serde_json::Result<()> {
    text.push(b',');
    serde_json::to_writer(&mut *text, key)?;
    text.push(b':');
    serde_json::to_writer(&mut *text, value)
}

/// Adds the input responses and the server's request state to the params of a repeated call.
pub(super) fn with_answers(
    params: &str,
    responses: Option<&InputResponses>,
    state: Option<&str>,
) -> serde_json::Result<String> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Answers<'a> {
        #[serde(skip_serializing_if = "Option::is_none")]
        input_responses: Option<&'a InputResponses>,
        #[serde(skip_serializing_if = "Option::is_none")]
        request_state: Option<&'a str>,
    }
    with_members(
        params,
        &Answers {
            input_responses: responses,
            request_state: state,
        },
    )
}

/// Appends the members of an object to the JSON text of another object.
pub(super) fn with_members(params: &str, added: &impl Serialize) -> serde_json::Result<String> {
    let added = serde_json::to_string(added)?;
    let own = params.trim_ascii();
    let (own, added) = (&own[..own.len() - 1], &added[1..]);
    let comma = if own.trim_ascii_end().ends_with('{') || added == "}" {
        ""
    } else {
        ","
    };
    Ok(format!("{own}{comma}{added}"))
}

/// Returns the values of all members `_meta` of an object. Only objects that may have one are
/// scanned.
fn metas_of(params: &str) -> Vec<&str> {
    if !may_name_meta(params) {
        return Vec::new();
    }
    let metas = RawObject::of(params).filter(|(key, _)| key == "_meta");
    metas.map(|(_, value)| value).collect()
}

/// Whether the text contains `_meta"`, which ends the name of a member, or an escaped character,
/// with which the name can be spelled too.
fn may_name_meta(params: &str) -> bool {
    let mut rest = params.as_bytes();
    while let Some(at) = find_either([b'_', b'\\'], rest) {
        rest = &rest[at..];
        if rest.starts_with(b"_meta\"") || rest.starts_with(b"\\u00") {
            return true;
        }
        rest = &rest[1..];
    }
    false
}

/// Serializes params as JSON text. Returns an error if the params are not an object.
pub(super) fn params_text(method: &str, params: &impl Serialize) -> Result<String> {
    let text = serde_json::to_string(params).map_err(|error| {
        Error::new(
            ErrorKind::Invalid,
            format!("params of {method} can't be written as JSON: {error}"),
        )
    })?;
    match text.trim_ascii_start().as_bytes().first() {
        Some(b'{') => Ok(text),
        _ if text == "null" => Ok("{}".to_owned()),
        _ => Err(Error::new(
            ErrorKind::Invalid,
            format!("params of {method} have to be an object"),
        )),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use serde_json::{Map, Value, json};

    use super::*;

    fn written(envelope: &RequestMeta, params: &str) -> String {
        written_with(envelope, params, &JsonObject::new())
    }

    fn written_with(envelope: &RequestMeta, params: &str, own: &JsonObject) -> String {
        let mut text = Vec::new();
        envelope.write(7, params, own, &mut text).expect("JSON");
        String::from_utf8(text).expect("UTF-8")
    }

    // M-META-C-07, M-META-C-10
    #[test]
    fn modern_requests_carry_revision_capabilities_and_client() {
        let info = Implementation::new("c", "1");
        let capabilities = ClientCapabilities::default();
        let envelope =
            RequestMeta::modern(ProtocolVersion::LATEST, &capabilities, Some(&info)).expect("JSON");
        let expected = json!({
            "progressToken": 7,
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
        });
        for (params, rest) in [("{}", json!({})), (r#"{"name":"x"}"#, json!({"name": "x"}))] {
            let mut value: Value = serde_json::from_str(&written(&envelope, params)).expect("JSON");
            assert_eq!(
                value.as_object_mut().expect("object").remove("_meta"),
                Some(expected.clone())
            );
            assert_eq!(value, rest);
        }
        let nameless =
            RequestMeta::modern(ProtocolVersion::LATEST, &capabilities, None).expect("JSON");
        assert!(!written(&nameless, "{}").contains("clientInfo"));
    }

    #[test]
    fn the_params_own_meta_is_kept() {
        let merged = written(
            &RequestMeta::legacy(),
            r#"{"a":1,"_meta":{"x.example/y":true,"progressToken":"mine"}}"#,
        );
        let value: Value = serde_json::from_str(&merged).expect("JSON");
        assert_eq!(
            value,
            json!({"a": 1, "_meta": {"x.example/y": true, "progressToken": 7}})
        );
        // A string with the same text as the member name is not a member.
        assert_eq!(
            written(&RequestMeta::legacy(), r#"{"a":"\"_meta\""}"#),
            r#"{"_meta":{"progressToken":7},"a":"\"_meta\""}"#
        );
    }

    #[test]
    fn params_get_one_meta_however_they_spell_their_own() {
        fn check(params: &str, expected: &str) {
            assert_eq!(written(&RequestMeta::legacy(), params), expected);
        }
        let plain = r#"{"_meta":{"progressToken":7},"a":1}"#;
        check(r#"{"a":1,"_meta":null}"#, plain);
        check(r#"{ "\u005fmeta" : null , "a":1}"#, plain);
        let merged = r#"{"_meta":{"progressToken":7,"x":3,"y":2},"a":1}"#;
        check(r#"{"_meta":{"x":1,"y":2},"a":1,"_meta":{"x":3}}"#, merged);
        check(r#"{"_met\u0061":{"x":3,"y":2},"_meta":null,"a":1}"#, merged);
        check(
            r#"{"a":"\u001b","b":{"_meta":null}}"#,
            r#"{"_meta":{"progressToken":7},"a":"\u001b","b":{"_meta":null}}"#,
        );
        for refused in [r#"{"_meta":[]}"#, r#"{"_meta":{},"\u005Fmeta":1}"#] {
            let written =
                RequestMeta::legacy().write(7, refused, &JsonObject::new(), &mut Vec::new());
            assert!(written.is_err(), "{refused}");
        }
    }

    // M-META-C-07
    #[test]
    fn the_capabilities_of_a_call_replace_those_of_the_client() {
        let key = meta_key::CLIENT_CAPABILITIES;
        let theirs = json!({"elicitation": {"form": {}}});
        let own = json!({key: theirs});
        let own = own.as_object().expect("object");
        let info = Implementation::new(format!("\"{key}\":{{}}"), "1");
        let none = ClientCapabilities::default();
        let modern = RequestMeta::modern(ProtocolVersion::LATEST, &none, Some(&info));
        let text = written_with(&modern.expect("JSON"), "{}", own);
        let value: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(value["_meta"][key], theirs);
        assert_eq!(value["_meta"][meta_key::CLIENT_INFO]["name"], info.name);
        assert_eq!(text.matches(&format!("\"{key}\"")).count(), 1, "{text}");
        // Legacy requests have no capabilities.
        let text = written_with(&RequestMeta::legacy(), "{}", own);
        assert_eq!(text, r#"{"_meta":{"progressToken":7}}"#);
    }

    // M-META-C-07
    #[test]
    fn a_call_adds_members_but_does_not_replace_those_of_the_library() {
        let own = json!({"a.example/b": 1, "progressToken": "mine", "io.modelcontextprotocol/clientInfo": 2});
        let own = own.as_object().expect("object");
        for params in [
            "{}",
            r#"{"x":1.50}"#,
            r#"{"_meta":{"a.example/b":2,"c":3.0},"x":1.50}"#,
        ] {
            let text = written_with(&RequestMeta::legacy(), params, own);
            let value: Value = serde_json::from_str(&text).expect("JSON");
            let mut expected = json!({"progressToken": 7, "a.example/b": 1});
            if params.contains("_meta") {
                expected["c"] = json!(3.0);
            }
            assert_eq!(value["_meta"], expected, "{text}");
            assert_eq!(text.contains("1.50"), params.contains("1.50"), "{text}");
        }
    }

    // M-MRTR-C-18, M-MRTR-C-20, M-MRTR-C-23
    #[test]
    fn a_retry_repeats_the_params_and_adds_what_was_asked() {
        let responses: InputResponses =
            serde_json::from_str(r#"{"k":{"action":"decline"}}"#).expect("JSON");
        let state = "\u{1f980} \"quoted\" \\";
        for params in [r#"{"name":"x"}"#, "{}", "{ }"] {
            let written = with_answers(params, Some(&responses), Some(state)).expect("JSON");
            let mut value: Map<String, Value> = serde_json::from_str(&written).expect(&written);
            assert_eq!(
                value.remove("inputResponses"),
                Some(json!({"k": {"action": "decline"}}))
            );
            assert_eq!(value.remove("requestState"), Some(json!(state)));
            assert_eq!(
                Value::Object(value),
                serde_json::from_str::<Value>(params).expect("JSON")
            );
            assert_eq!(
                with_answers(params, None, None).expect("JSON").trim(),
                params
            );
        }
    }

    #[test]
    fn params_are_objects() {
        assert_eq!(params_text("m", &()).expect("nothing"), "{}");
        assert!(params_text("m", &[1]).is_err());
    }
}
