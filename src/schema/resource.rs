//! Resources: their list, their templates and their contents.
//!
//! Spec: Server Features, "Resources" (every revision).

use std::cell::RefCell;
use std::collections::BTreeSet;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::annotations::Annotations;
use super::base64::{self, Base64};
use super::icon::Icon;
use super::input::InputResponses;
use super::json::{Count, Extra};
use super::meta::{MetaObject, NotificationMetaObject, RequestMetaObject, ResultMetaObject};
use super::misfit::Misfits;
use super::object::OrNull;
use super::result::{CacheScope, ResultType, fit_result_type};
use super::uri_template;
use super::version::{FitTo, ProtocolVersion, keep_since};
use crate::error::{Error, ErrorKind, Excerpt, Result};

/// A resource of a server.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Resource {
    /// The URI of the resource.
    pub uri: String,
    /// The name of the resource, for programs.
    pub name: String,
    /// The display name of the resource. Since 2025-06-18.
    pub title: Option<String>,
    /// The description of the resource, for models.
    pub description: Option<String>,
    /// The MIME type of the resource.
    pub mime_type: Option<String>,
    /// The size of the resource in bytes.
    pub size: Option<u64>,
    /// Icons to show for the resource. Since 2025-11-25.
    pub icons: Option<Vec<Icon>>,
    /// Hints about the audience, priority and last change of the resource.
    pub annotations: Option<Annotations>,
    /// Metadata of the resource (`_meta`). Since 2025-06-18.
    pub meta: Option<MetaObject>,
    /// Members that this library doesn't know.
    pub extra: Extra,
}

members!(Resource {
    uri,
    name,
    title,
    description,
    mime_type = "mimeType",
    size as Count,
    icons,
    annotations,
    meta = "_meta",
    ..extra
});

impl Resource {
    /// Makes a resource with this URI and name.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            name: name.into(),
            title: None,
            description: None,
            mime_type: None,
            size: None,
            icons: None,
            annotations: None,
            meta: None,
            extra: Extra::new(),
        }
    }

    setters! {
        /// Sets the display name of the resource. Since 2025-06-18.
        title: String,
        /// Sets the description of the resource.
        description: String,
        /// Sets the MIME type of the resource.
        mime_type: String,
        /// Sets the size of the resource in bytes.
        size: u64,
        /// Sets icons to show for the resource. Since 2025-11-25.
        icons: Vec<Icon>,
        /// Sets the annotations of the resource.
        annotations: Annotations,
        /// Sets the metadata of the resource (`_meta`). Since 2025-06-18.
        meta: MetaObject,
    }

    /// Returns the display name: the title, or the name if there is no title.
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

impl FitTo for Resource {
    fn fit_to(&mut self, revision: ProtocolVersion) {
        use ProtocolVersion::{V2025_06_18, V2025_11_25};
        keep_since(&mut self.title, V2025_06_18, revision);
        keep_since(&mut self.icons, V2025_11_25, revision);
        keep_since(&mut self.meta, V2025_06_18, revision);
        self.annotations.fit_to(revision);
    }
}

/// A template for resources whose URIs follow a pattern.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ResourceTemplate {
    /// The URI template (RFC 6570).
    pub uri_template: String,
    /// The name of the resource template, for programs.
    pub name: String,
    /// The display name of the resource template. Since 2025-06-18.
    pub title: Option<String>,
    /// The description of the resource template, for models.
    pub description: Option<String>,
    /// The MIME type of the resources, if all resources of the template have the same MIME type.
    pub mime_type: Option<String>,
    /// Icons to show for the resource template. Since 2025-11-25.
    pub icons: Option<Vec<Icon>>,
    /// Hints about the audience, priority and last change of the resource template.
    pub annotations: Option<Annotations>,
    /// Metadata of the resource template (`_meta`). Since 2025-06-18.
    pub meta: Option<MetaObject>,
    /// Members that this library doesn't know.
    pub extra: Extra,
}

members!(ResourceTemplate {
    uri_template = "uriTemplate",
    name,
    title,
    description,
    mime_type = "mimeType",
    icons,
    annotations,
    meta = "_meta",
    ..extra
});

impl ResourceTemplate {
    /// Makes a resource template from a URI template (RFC 6570).
    pub fn new(uri_template: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            uri_template: uri_template.into(),
            name: name.into(),
            title: None,
            description: None,
            mime_type: None,
            icons: None,
            annotations: None,
            meta: None,
            extra: Extra::new(),
        }
    }

    setters! {
        /// Sets the display name of the resource template. Since 2025-06-18.
        title: String,
        /// Sets the description of the resource template.
        description: String,
        /// Sets the MIME type of the resource template.
        mime_type: String,
        /// Sets icons to show for the resource template. Since 2025-11-25.
        icons: Vec<Icon>,
        /// Sets the annotations of the resource template.
        annotations: Annotations,
        /// Sets the metadata of the resource template (`_meta`). Since 2025-06-18.
        meta: MetaObject,
    }

    /// Expands the URI template with values of its variables, and returns the URI of a resource.
    ///
    /// The values are plain text: this function percent-encodes them as RFC 6570 requires. A
    /// variable without a value is omitted from its expression.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when the template is not a valid URI
    /// template, or when the template has no variable with the name of a value.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::ResourceTemplate;
    ///
    /// let template = ResourceTemplate::new("users://{name}/posts{?tag}", "posts");
    /// let uri = template.expand(&[("name", "Ada Lovelace"), ("tag", "maths")])?;
    /// assert_eq!(uri, "users://Ada%20Lovelace/posts?tag=maths");
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    pub fn expand(&self, values: &[(&str, &str)]) -> Result<String> {
        let unused = RefCell::new(BTreeSet::from_iter(values.iter().map(|(name, _)| *name)));
        let value_of = |wanted: &str| {
            unused.borrow_mut().remove(wanted);
            let found = values.iter().find(|(name, _)| *name == wanted);
            found.map(|(_, value)| *value)
        };
        let invalid = |problem: &str| {
            let text = format!("URI template '{}': {problem}", Excerpt(&self.uri_template));
            Error::new(ErrorKind::Invalid, text)
        };
        let uri =
            uri_template::expand(&self.uri_template, value_of).map_err(|why| invalid(&why))?;
        match unused.borrow().first() {
            None => Ok(uri),
            Some(name) => Err(invalid(&format!("it has no variable '{}'", Excerpt(name)))),
        }
    }

    /// Returns the display name: the title, or the name if there is no title.
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

impl FitTo for ResourceTemplate {
    fn fit_to(&mut self, revision: ProtocolVersion) {
        use ProtocolVersion::{V2025_06_18, V2025_11_25};
        keep_since(&mut self.title, V2025_06_18, revision);
        keep_since(&mut self.icons, V2025_11_25, revision);
        keep_since(&mut self.meta, V2025_06_18, revision);
        self.annotations.fit_to(revision);
    }
}

/// The contents of a resource: text or bytes, distinguished by the key `text` or `blob`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ResourceContents {
    /// The contents are text.
    Text(TextResourceContents),
    /// The contents are bytes.
    Blob(BlobResourceContents),
}

required!(ResourceContents);

impl ResourceContents {
    /// Makes the contents of a text resource.
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Text(TextResourceContents::new(uri, text))
    }

    /// Makes the contents of a resource from its bytes.
    pub fn blob(uri: impl Into<String>, bytes: &[u8]) -> Self {
        Self::Blob(BlobResourceContents::new(uri, bytes))
    }

    /// Makes the contents of a resource from its bytes. The contents are text if the bytes are
    /// UTF-8 without NUL, otherwise a blob.
    pub fn of_bytes(uri: impl Into<String>, bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Self::text(uri, text),
            Ok(text) => Self::blob(uri, text.as_bytes()),
            Err(error) => Self::blob(uri, error.as_bytes()),
        }
    }

    /// Sets the MIME type of the resource.
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        let field = match &mut self {
            Self::Text(contents) => &mut contents.mime_type,
            Self::Blob(contents) => &mut contents.mime_type,
        };
        *field = Some(mime_type.into());
        self
    }

    /// Returns the URI of the resource.
    pub fn uri(&self) -> &str {
        match self {
            Self::Text(contents) => &contents.uri,
            Self::Blob(contents) => &contents.uri,
        }
    }

    /// Returns the text, if the contents are text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(contents) => Some(&contents.text),
            Self::Blob(_) => None,
        }
    }
}

impl From<TextResourceContents> for ResourceContents {
    fn from(contents: TextResourceContents) -> Self {
        Self::Text(contents)
    }
}

impl From<BlobResourceContents> for ResourceContents {
    fn from(contents: BlobResourceContents) -> Self {
        Self::Blob(contents)
    }
}

impl Serialize for ResourceContents {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(contents) => contents.serialize(serializer),
            Self::Blob(contents) => contents.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ResourceContents {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOrBlobContents {
            uri: String,
            mime_type: Option<String>,
            text: Option<String>,
            blob: Option<String>,
            meta: Option<MetaObject>,
            extra: Extra,
        }
        readable!(TextOrBlobContents { uri, mime_type = "mimeType", text, blob as Base64, meta = "_meta", ..extra });
        let TextOrBlobContents {
            uri,
            mime_type,
            text,
            blob,
            meta,
            extra,
        } = TextOrBlobContents::deserialize(deserializer)?;
        match (text, blob) {
            (Some(text), None) => Ok(Self::Text(TextResourceContents {
                uri,
                mime_type,
                text,
                meta,
                extra,
            })),
            (None, Some(blob)) => Ok(Self::Blob(BlobResourceContents {
                uri,
                mime_type,
                blob,
                meta,
                extra,
            })),
            (Some(_), Some(_)) => Err(de::Error::custom(
                "resource contents have both `text` and `blob`",
            )),
            (None, None) => Err(de::Error::custom(
                "resource contents have neither `text` nor `blob`",
            )),
        }
    }
}

impl FitTo for ResourceContents {
    fn fit_to(&mut self, revision: ProtocolVersion) {
        let meta = match self {
            Self::Text(contents) => &mut contents.meta,
            Self::Blob(contents) => &mut contents.meta,
        };
        keep_since(meta, ProtocolVersion::V2025_06_18, revision);
    }
}

/// The contents of a text resource.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TextResourceContents {
    /// The URI of the resource.
    pub uri: String,
    /// The MIME type of the resource.
    pub mime_type: Option<String>,
    /// The text.
    pub text: String,
    /// Metadata of the contents (`_meta`). Since 2025-06-18.
    pub meta: Option<MetaObject>,
    /// Members that this library doesn't know.
    pub extra: Extra,
}

members!(TextResourceContents { uri, mime_type = "mimeType", text, meta = "_meta", ..extra });

impl TextResourceContents {
    /// Makes the contents of a text resource.
    pub fn new(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            mime_type: None,
            text: text.into(),
            meta: None,
            extra: Extra::new(),
        }
    }

    setters! {
        /// Sets the MIME type of the resource.
        mime_type: String,
        /// Sets the metadata of the contents (`_meta`). Since 2025-06-18.
        meta: MetaObject,
    }
}

/// The contents of a binary resource.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BlobResourceContents {
    /// The URI of the resource.
    pub uri: String,
    /// The MIME type of the resource.
    pub mime_type: Option<String>,
    /// The bytes of the resource, as base64.
    pub blob: String,
    /// Metadata of the contents (`_meta`). Since 2025-06-18.
    pub meta: Option<MetaObject>,
    /// Members that this library doesn't know.
    pub extra: Extra,
}

members!(BlobResourceContents { uri, mime_type = "mimeType", blob as Base64, meta = "_meta", ..extra });

impl BlobResourceContents {
    /// Makes the contents of a resource from its bytes.
    pub fn new(uri: impl Into<String>, bytes: &[u8]) -> Self {
        Self {
            uri: uri.into(),
            mime_type: None,
            blob: base64::encode(bytes),
            meta: None,
            extra: Extra::new(),
        }
    }

    setters! {
        /// Sets the MIME type of the resource.
        mime_type: String,
        /// Sets the metadata of the contents (`_meta`). Since 2025-06-18.
        meta: MetaObject,
    }

    /// Decodes the bytes of the resource.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when the contents are not base64.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        base64::decode("resource", &self.blob)
    }
}

list_result! {
    /// A page of the list of resources: the result of `resources/list`.
    ListResourcesResult { resources: Vec<Resource> }
}

list_result! {
    /// A page of the list of resource templates: the result of `resources/templates/list`.
    ListResourceTemplatesResult { resource_templates = "resourceTemplates": Vec<ResourceTemplate> }
}

/// The params of `resources/read`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReadResourceRequestParams {
    /// The URI of the resource.
    pub uri: String,
    /// The client's answers to the input requests in the server's previous result. Since
    /// 2026-07-28.
    pub input_responses: Option<InputResponses>,
    /// The `requestState` of the server's previous result, unchanged. Since 2026-07-28.
    pub request_state: Option<String>,
    /// Metadata of the request (`_meta`). Required since 2026-07-28.
    pub meta: Option<RequestMetaObject>,
}

members!(ReadResourceRequestParams {
    uri,
    input_responses = "inputResponses",
    request_state = "requestState",
    meta = "_meta",
});

impl ReadResourceRequestParams {
    /// Makes params that read the resource with this URI.
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            input_responses: None,
            request_state: None,
            meta: None,
        }
    }

    setters! {
        /// Sets the answers to the server's input requests. Since 2026-07-28.
        input_responses: InputResponses,
        /// Sets the `requestState`, copied unchanged from the server's previous result. Since
        /// 2026-07-28.
        request_state: String,
        /// Sets the metadata of the request (`_meta`).
        meta: RequestMetaObject,
    }
}

impl FitTo for ReadResourceRequestParams {
    fn fit_to(&mut self, revision: ProtocolVersion) {
        keep_since(
            &mut self.input_responses,
            ProtocolVersion::V2026_07_28,
            revision,
        );
        keep_since(
            &mut self.request_state,
            ProtocolVersion::V2026_07_28,
            revision,
        );
        self.meta.fit_to(revision);
    }
}

/// The contents of a resource: the result of `resources/read`.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ReadResourceResult {
    /// The kind of result. Since 2026-07-28.
    pub result_type: Option<ResultType>,
    /// The contents of the resource. If the resource is a collection, for example a directory,
    /// there are several entries.
    pub contents: Vec<ResourceContents>,
    /// The time for which the result stays fresh, in milliseconds. Since 2026-07-28.
    pub ttl_ms: Option<u64>,
    /// Whether users may share the cached result. Since 2026-07-28.
    pub cache_scope: Option<CacheScope>,
    /// Metadata of the result (`_meta`).
    pub meta: Option<ResultMetaObject>,
    /// Members that this library doesn't know.
    pub extra: Extra,
    misfits: Misfits,
}

members!(ReadResourceResult {
    result_type = "resultType",
    contents as OrNull,
    ttl_ms = "ttlMs" as Count,
    cache_scope = "cacheScope",
    meta = "_meta",
    ..extra;
    misfits
});

impl ReadResourceResult {
    /// Makes a result from the contents of a resource.
    pub fn new(contents: impl Into<Vec<ResourceContents>>) -> Self {
        Self {
            contents: contents.into(),
            ..Self::default()
        }
    }

    cache_hint!();

    misfits!();
}

impl FitTo for ReadResourceResult {
    fn fit_to(&mut self, revision: ProtocolVersion) {
        fit_result_type(&mut self.result_type, revision);
        self.fit_cache_hint(revision);
        self.contents.fit_to(revision);
        self.meta.fit_to(revision);
    }
}

/// The params of `resources/subscribe` and `resources/unsubscribe`. Up to 2025-11-25.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SubscribeRequestParams {
    /// The URI of the resource.
    pub uri: String,
    /// Metadata of the request (`_meta`).
    pub meta: Option<RequestMetaObject>,
}

members!(SubscribeRequestParams { uri, meta = "_meta" });

/// The params of `resources/unsubscribe`. Up to 2025-11-25.
pub type UnsubscribeRequestParams = SubscribeRequestParams;

impl SubscribeRequestParams {
    /// Makes params for the resource with this URI.
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            meta: None,
        }
    }
}

/// The params of `notifications/resources/updated`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ResourceUpdatedNotificationParams {
    /// The URI of the changed resource: the subscribed resource, or a resource inside the
    /// subscribed resource.
    pub uri: String,
    /// Metadata of the notification (`_meta`).
    pub meta: Option<NotificationMetaObject>,
}

members!(ResourceUpdatedNotificationParams { uri, meta = "_meta" });

impl ResourceUpdatedNotificationParams {
    /// Makes params for the resource that changed.
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            meta: None,
        }
    }

    setters! {
        /// Sets the metadata of the notification (`_meta`).
        meta: NotificationMetaObject,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // M-RES-B-17
    #[test]
    fn contents_are_either_text_or_bytes() {
        fn check(json: &str, is_text: Option<bool>) {
            let contents = serde_json::from_str::<ResourceContents>(json).ok();
            let kind = contents.as_ref().map(|it| it.as_text().is_some());
            assert_eq!(kind, is_text, "{json}");
            if let Some(contents) = contents {
                assert_eq!(serde_json::to_string(&contents).expect("JSON"), json);
            }
        }
        check(
            r#"{"uri":"a:b","mimeType":"text/plain","text":""}"#,
            Some(true),
        );
        check(
            r#"{"uri":"a:b","blob":"","_meta":{"x":1},"y":2}"#,
            Some(false),
        );
        check(r#"{"uri":"a:b","text":"","blob":""}"#, None);
        check(r#"{"uri":"a:b"}"#, None);
    }

    // M-RES-S-20
    #[test]
    fn bytes_become_text_only_if_they_are_text() {
        for text in ["", "Grüße", "a\nb\t\u{7f}"] {
            let contents = ResourceContents::of_bytes("a:b", text.into());
            assert_eq!(contents.as_text(), Some(text));
        }
        for bytes in [&[0xff, 0xfe][..], &[0], b"a\0b", &[0xc3]] {
            match ResourceContents::of_bytes("a:b", bytes.to_vec()) {
                ResourceContents::Blob(contents) => {
                    assert_eq!(contents.bytes().expect("base64"), bytes);
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn a_null_cursor_is_none_and_an_empty_one_is_a_cursor() {
        fn check(json: &str, cursor: Option<&str>) {
            let page: ListResourcesResult = serde_json::from_str(json).expect("decodes");
            assert_eq!(page.next_cursor.as_deref(), cursor, "{json}");
        }
        check(r#"{"resources":[]}"#, None);
        check(r#"{"resources":[],"nextCursor":null}"#, None);
        check(r#"{"resources":[],"nextCursor":""}"#, Some(""));
    }

    #[test]
    fn sizes_may_be_written_as_any_number() {
        for (size, expected) in [("3", 3), ("3.0", 3), ("-1", 0)] {
            let json = format!(r#"{{"uri":"a:b","name":"n","size":{size}}}"#);
            let resource: Resource = serde_json::from_str(&json).expect("decodes");
            assert_eq!(resource.size, Some(expected), "{size}");
        }
    }

    // M-CACHE-S-01
    #[test]
    fn modern_results_always_carry_a_cache_hint() {
        let mut result = ReadResourceResult::new([ResourceContents::text("a:b", "t")]);
        result.fit_to(ProtocolVersion::LATEST);
        assert_eq!(
            serde_json::to_string(&result).expect("JSON"),
            r#"{"resultType":"complete","contents":[{"uri":"a:b","text":"t"}],"ttlMs":0,"cacheScope":"private"}"#
        );
        result.fit_to(ProtocolVersion::V2025_11_25);
        assert_eq!(
            serde_json::to_string(&result).expect("JSON"),
            r#"{"contents":[{"uri":"a:b","text":"t"}]}"#
        );
    }
}
