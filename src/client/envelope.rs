//! The `_meta` of every request.
//!
//! It is the same for all requests of a connection but for the progress token, so it is written once and copied.

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::error::{Error, ErrorKind, Result};
use crate::schema::{
    ClientCapabilities, FitTo, Implementation, ProtocolVersion, RequestMetaObject,
};

/// What every request of one connection carries.
#[derive(Clone, Debug)]
pub(super) struct Envelope {
    /// Members of `_meta` behind the progress token, each with a comma in front.
    members: String,
}

impl Envelope {
    /// Of the legacy era: only the progress token.
    pub(super) fn legacy() -> Self {
        Self {
            members: String::new(),
        }
    }

    /// Of the modern era: who asks in which revision, and what it can do.
    pub(super) fn modern(
        revision: ProtocolVersion,
        capabilities: &ClientCapabilities,
        client_info: Option<&Implementation>,
    ) -> Result<Self> {
        let mut meta = RequestMetaObject::new(revision, capabilities.clone());
        meta.client_info = client_info.cloned();
        meta.fit_to(revision);
        let text = serde_json::to_string(&meta).map_err(|error| {
            Error::new(
                ErrorKind::Invalid,
                format!("the client's description is not JSON: {error}"),
            )
        })?;
        Ok(Self {
            members: format!(",{}", &text[1..text.len() - 1]),
        })
    }

    /// Writes params with the `_meta` of a request. Members that the params' own `_meta` has stay, those of the envelope win.
    pub(super) fn write(
        &self,
        id: i64,
        params: &str,
        text: &mut Vec<u8>,
    ) -> serde_json::Result<()> {
        let token = format!("{{\"progressToken\":{id}{}}}", self.members);
        if has_meta(params) {
            return self.merge(&token, params, text);
        }
        text.extend_from_slice(b"{\"_meta\":");
        text.extend_from_slice(token.as_bytes());
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

    fn merge(&self, meta: &str, params: &str, text: &mut Vec<u8>) -> serde_json::Result<()> {
        let mut params: Map<String, Value> = serde_json::from_str(params)?;
        let mut own: Map<String, Value> = match params.remove("_meta") {
            Some(Value::Object(own)) => own,
            _ => Map::new(),
        };
        own.extend(serde_json::from_str::<Map<String, Value>>(meta)?);
        params.insert("_meta".to_owned(), Value::Object(own));
        serde_json::to_writer(text, &params)
    }
}

/// Whether an object has a member `_meta` of its own; the text search spares most requests the parsing.
fn has_meta(params: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Head<'a> {
        #[serde(borrow, rename = "_meta", default)]
        meta: Option<&'a RawValue>,
    }
    params.contains("\"_meta\"")
        && serde_json::from_str::<Head<'_>>(params).is_ok_and(|head| head.meta.is_some())
}

/// Params as JSON text: an object.
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
    use serde_json::json;

    use super::*;

    fn written(envelope: &Envelope, params: &str) -> String {
        let mut text = Vec::new();
        envelope.write(7, params, &mut text).expect("JSON");
        String::from_utf8(text).expect("UTF-8")
    }

    // M-META-C-07, M-META-C-10
    #[test]
    fn modern_requests_carry_revision_capabilities_and_client() {
        let info = Implementation::new("c", "1");
        let capabilities = ClientCapabilities::default();
        let envelope =
            Envelope::modern(ProtocolVersion::LATEST, &capabilities, Some(&info)).expect("JSON");
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
            Envelope::modern(ProtocolVersion::LATEST, &capabilities, None).expect("JSON");
        assert!(!written(&nameless, "{}").contains("clientInfo"));
    }

    #[test]
    fn the_params_own_meta_is_kept() {
        let merged = written(
            &Envelope::legacy(),
            r#"{"a":1,"_meta":{"x.example/y":true,"progressToken":"mine"}}"#,
        );
        let value: Value = serde_json::from_str(&merged).expect("JSON");
        assert_eq!(
            value,
            json!({"a": 1, "_meta": {"x.example/y": true, "progressToken": 7}})
        );
        // A string that only looks like it is none.
        assert_eq!(
            written(&Envelope::legacy(), r#"{"a":"\"_meta\""}"#),
            r#"{"_meta":{"progressToken":7},"a":"\"_meta\""}"#
        );
    }

    #[test]
    fn params_are_objects() {
        assert_eq!(params_text("m", &()).expect("nothing"), "{}");
        assert!(params_text("m", &[1]).is_err());
    }
}
