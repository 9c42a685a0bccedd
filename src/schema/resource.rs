//! Resources: their list, their templates and their contents.
//!
//! Spec: Server Features, "Resources" (every revision).

use std::cell::RefCell;
use std::collections::BTreeSet;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;

use super::annotations::Annotations;
use super::base64::{self, Base64};
use super::icon::Icon;
use super::input::InputResponses;
use super::json::Count;
use super::meta::{MetaObject, NotificationMetaObject, RequestMetaObject, ResultMetaObject};
use super::object::OrNull;
use super::result::{CacheScope, ResultType};
use super::tree::{Extra, JsonObject};
use super::uri_template;
use super::version::{FitTo, ProtocolVersion};
use crate::error::{Error, ErrorKind, Excerpt, Result};

object! {
    /// A resource of a server.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::Resource;
    /// use mcplink::server::Server;
    /// # use mcplink::client::Client;
    /// # use mcplink::transport::memory;
    ///
    /// let readme = Resource::new("docs://readme", "readme").title("Read me");
    /// let server = Server::builder("docs", "1.0").resource(readme, |_, _| "# Hello").build()?;
    /// # let (here, there) = memory::pair();
    /// # let _connection = server.open(there)?;
    /// # let client = Client::connect(here)?;
    /// assert_eq!(client.list_resources()?[0].display_name(), "Read me");
    /// assert_eq!(client.read_resource("docs://readme")?.contents[0].as_text(), Some("# Hello"));
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct Resource: FitTo {
        /// The URI of the resource.
        pub uri: String,
        /// The name of the resource, for programs.
        pub name: String,
        /// The display name of the resource.
        pub title?: String [since V2025_06_18],
        /// The description of the resource, for models.
        pub description?: String,
        /// The MIME type of the resource.
        pub mime_type?: String = "mimeType",
        /// The size of the resource in bytes.
        pub size?: u64 as Count,
        /// Icons to show for the resource.
        pub icons?: Vec<Icon> [since V2025_11_25],
        /// Hints about the audience, priority and last change of the resource.
        pub annotations?: Annotations [fit],
        /// Metadata of the resource (`_meta`).
        pub meta?: MetaObject = "_meta" [since V2025_06_18],
        ..extra
    }

    /// Makes a resource with this URI and name.
    pub fn new(uri: impl Into<String>, name: impl Into<String>);
}

impl Resource {
    /// Returns the display name: the title, or the name if there is no title.
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

object! {
    /// A template for resources whose URIs follow a pattern.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::ResourceTemplate;
    /// use mcplink::server::Server;
    /// # use mcplink::client::Client;
    /// # use mcplink::transport::memory;
    ///
    /// let template = ResourceTemplate::new("users://{name}", "user").mime_type("text/plain");
    /// let server = Server::builder("users", "1.0")
    ///     .template(template, |read, _| format!("about {}", read.variable("name").unwrap_or("")))
    ///     .build()?;
    /// # let (here, there) = memory::pair();
    /// # let _connection = server.open(there)?;
    /// # let client = Client::connect(here)?;
    /// let result = client.read_resource("users://ada")?;
    /// assert_eq!(result.contents[0].as_text(), Some("about ada"));
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct ResourceTemplate: FitTo {
        /// The URI template (RFC 6570).
        pub uri_template: String = "uriTemplate",
        /// The name of the resource template, for programs.
        pub name: String,
        /// The display name of the resource template.
        pub title?: String [since V2025_06_18],
        /// The description of the resource template, for models.
        pub description?: String,
        /// The MIME type of the resources, if all resources of the template have the same MIME
        /// type.
        pub mime_type?: String = "mimeType",
        /// Icons to show for the resource template.
        pub icons?: Vec<Icon> [since V2025_11_25],
        /// Hints about the audience, priority and last change of the resource template.
        pub annotations?: Annotations [fit],
        /// Metadata of the resource template (`_meta`).
        pub meta?: MetaObject = "_meta" [since V2025_06_18],
        ..extra
    }

    /// Makes a resource template from a URI template (RFC 6570).
    pub fn new(uri_template: impl Into<String>, name: impl Into<String>);
}

impl ResourceTemplate {
    /// Expands the URI template with values of its variables, and returns the URI of a resource.
    ///
    /// `values` is a struct, a map or a `serde_json::Value` with a member for each variable, or a
    /// list of names and values. A value is a text, a number, a `bool`, or a list or an object of
    /// these. This function percent-encodes the values as RFC 6570 requires. A variable without a
    /// value is omitted from its expression. So is a variable whose value is `None`, an empty list
    /// or an empty object.
    ///
    /// All expressions of RFC 6570 (level 4) are expanded. A server of this library matches fewer
    /// of them: see [`ServerBuilder::template`](crate::server::ServerBuilder::template).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when the template is not a valid URI
    /// template, when the template has no variable with the name of a value, or when a value has
    /// another type or can't be written as JSON.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::ResourceTemplate;
    /// use serde_json::json;
    ///
    /// let template = ResourceTemplate::new("users://{name}/posts{?tag}", "posts");
    /// let uri = template.expand(&[("name", "Ada Lovelace"), ("tag", "maths")])?;
    /// assert_eq!(uri, "users://Ada%20Lovelace/posts?tag=maths");
    ///
    /// let template = ResourceTemplate::new("users://{name}/posts{?tags*}", "posts");
    /// let uri = template.expand(&json!({ "name": "Ada", "tags": ["maths", "poetry"] }))?;
    /// assert_eq!(uri, "users://Ada/posts?tags=maths&tags=poetry");
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    ///
    /// Spec: RFC 6570; Server Features, Resources, "Resource Templates" (every revision).
    pub fn expand(&self, values: &(impl Serialize + ?Sized)) -> Result<String> {
        let invalid = |problem: &str| {
            let text = format!("URI template '{}': {problem}", Excerpt(&self.uri_template));
            Error::new(ErrorKind::Invalid, text)
        };
        let values = serde_json::to_value(values).map_err(|why| invalid(&why.to_string()))?;
        let values = values_by_name(values)
            .ok_or_else(|| invalid("its values are an object, or a list of names and values"))?;
        let unused = RefCell::new(BTreeSet::from_iter(values.keys().map(String::as_str)));
        let value_of = |wanted: &str| {
            unused.borrow_mut().remove(wanted);
            values.get(wanted)
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

/// Returns the values of an object, or of a list of names and values.
fn values_by_name(values: Value) -> Option<JsonObject> {
    match values {
        Value::Object(members) => Some(members),
        Value::Null => Some(JsonObject::new()),
        Value::Array(pairs) => {
            let pairs = pairs
                .into_iter()
                .map(|pair| serde_json::from_value::<(String, Value)>(pair).ok());
            pairs.collect()
        }
        _ => None,
    }
}

/// The contents of a resource: text or bytes, distinguished by the key `text` or `blob`.
///
/// # Examples
///
/// ```
/// use mcplink::schema::ResourceContents;
///
/// // Text if the bytes are UTF-8, otherwise a blob.
/// let text = ResourceContents::of_bytes("file:///a.txt", b"hello".to_vec());
/// assert_eq!(text.as_text(), Some("hello"));
/// let bytes = ResourceContents::of_bytes("file:///a.bin", vec![0xff, 0x00]);
/// assert!(matches!(bytes, ResourceContents::Blob(_)));
/// ```
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
        match self {
            Self::Text(contents) => contents.fit_fields(revision),
            Self::Blob(contents) => contents.fit_fields(revision),
        }
    }
}

object! {
    /// The contents of a text resource.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{ReadResourceResult, TextResourceContents};
    /// use serde_json::json;
    ///
    /// let contents = TextResourceContents::new("file:///a.md", "# A").mime_type("text/markdown");
    /// let result = ReadResourceResult::new([contents.into()]);
    /// assert_eq!(
    ///     json!(result.contents),
    ///     json!([{ "uri": "file:///a.md", "mimeType": "text/markdown", "text": "# A" }]),
    /// );
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct TextResourceContents {
        /// The URI of the resource.
        pub uri: String,
        /// The MIME type of the resource.
        pub mime_type?: String = "mimeType",
        /// The text.
        pub text: String,
        /// Metadata of the contents (`_meta`).
        pub meta?: MetaObject = "_meta" [since V2025_06_18],
        ..extra
    }

    /// Makes the contents of a text resource.
    pub fn new(uri: impl Into<String>, text: impl Into<String>);
}

object! {
    /// The contents of a binary resource.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{BlobResourceContents, ReadResourceResult, ResourceContents};
    ///
    /// let contents = BlobResourceContents::new("file:///a.png", b"png").mime_type("image/png");
    /// let result = ReadResourceResult::new([contents.into()]);
    /// let ResourceContents::Blob(blob) = &result.contents[0] else { panic!("it is text") };
    /// assert_eq!(blob.bytes()?, b"png");
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct BlobResourceContents {
        /// The URI of the resource.
        pub uri: String,
        /// The MIME type of the resource.
        pub mime_type?: String = "mimeType",
        /// The bytes of the resource, as base64.
        pub blob: String as Base64,
        /// Metadata of the contents (`_meta`).
        pub meta?: MetaObject = "_meta" [since V2025_06_18],
        ..extra
    }

    fn of_base64(uri: impl Into<String>, blob: String);
}

impl BlobResourceContents {
    /// Makes the contents of a resource from its bytes.
    pub fn new(uri: impl Into<String>, bytes: &[u8]) -> Self {
        Self::of_base64(uri, base64::encode(bytes))
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
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::client::{CallOptions, Client};
    /// use mcplink::schema::{ListResourcesResult, Resource};
    ///
    /// // The function requests no page after the page that has the resource.
    /// fn find(client: &Client, name: &str) -> mcplink::Result<Option<Resource>> {
    ///     let mut pages = client.resource_pages(CallOptions::new());
    ///     let in_page =
    ///         |page: ListResourcesResult| page.resources.into_iter().find(|it| it.name == name);
    ///     pages.find_map(|page| page.map(in_page).transpose()).transpose()
    /// }
    /// ```
    ListResourcesResult { resources: Vec<Resource> }
}

list_result! {
    /// A page of the list of resource templates: the result of `resources/templates/list`.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{ListResourceTemplatesResult, ResourceTemplate};
    ///
    /// // The last page: it has no cursor.
    /// let users = ResourceTemplate::new("users://{name}", "user");
    /// let page = ListResourceTemplatesResult::new([users]);
    /// assert_eq!(page.next_cursor, None);
    /// assert_eq!(page.resource_templates[0].uri_template, "users://{name}");
    /// ```
    ListResourceTemplatesResult { resource_templates = "resourceTemplates": Vec<ResourceTemplate> }
}

object! {
    /// The params of `resources/read`.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::client::{CallOptions, Client};
    /// use mcplink::schema::ReadResourceRequestParams;
    ///
    /// // The result as raw JSON, for example for a relay.
    /// fn read(client: &Client, uri: &str) -> mcplink::Result<String> {
    ///     let params = ReadResourceRequestParams::new(uri);
    ///     let result = client.request("resources/read", &params, CallOptions::new())?;
    ///     Ok(result.as_str().to_owned())
    /// }
    /// ```
    #[derive(Clone, Debug)]
    pub struct ReadResourceRequestParams: FitTo {
        /// The URI of the resource.
        pub uri: String,
        /// The client's answers to the input requests in the server's previous result.
        pub input_responses?: InputResponses = "inputResponses" [since V2026_07_28],
        /// The `requestState` of the server's previous result, unchanged.
        pub request_state?: String = "requestState" [since V2026_07_28],
        /// Metadata of the request (`_meta`). Required since 2026-07-28.
        pub meta?: RequestMetaObject = "_meta" [fit],
    }

    /// Makes params that read the resource with this URI.
    pub fn new(uri: impl Into<String>);
}

object! {
    /// The contents of a resource: the result of `resources/read`.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use mcplink::schema::{CacheHint, CacheScope, ReadResourceResult, ResourceContents};
    /// use mcplink::server::ResourceRead;
    ///
    /// // A handler whose result all clients may cache for an hour.
    /// fn terms(read: &ResourceRead) -> ReadResourceResult {
    ///     ReadResourceResult::new([ResourceContents::text(read.uri(), "Be kind.")])
    ///         .cached(CacheHint::new(Duration::from_secs(3600), CacheScope::Public))
    /// }
    /// ```
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct ReadResourceResult: FitTo {
        /// The kind of result.
        pub result_type: Option<ResultType>
            = "resultType" [since V2026_07_28 or ResultType::Complete],
        /// The contents of the resource. If the resource is a collection, for example a directory,
        /// there are several entries.
        pub contents: Vec<ResourceContents> as OrNull [fit],
        /// The time for which the result stays fresh, in milliseconds.
        pub ttl_ms: Option<u64> = "ttlMs" as Count [since V2026_07_28 or 0],
        /// Whether users may share the cached result.
        pub cache_scope: Option<CacheScope>
            = "cacheScope" [since V2026_07_28 or CacheScope::Private],
        /// Metadata of the result (`_meta`).
        pub meta: Option<ResultMetaObject> = "_meta" [fit],
        ..extra; misfits
    }

    /// Makes a result from the contents of a resource.
    pub fn new(contents: impl Into<Vec<ResourceContents>>);
}

impl ReadResourceResult {
    cache_hint!();
}

object! {
    /// The params of `resources/subscribe` and `resources/unsubscribe`. Up to 2025-11-25.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::protocol::{Peer, RequestOptions};
    /// use mcplink::schema::SubscribeRequestParams;
    ///
    /// // By hand, for legacy servers. `Client::subscribe` does this in every revision.
    /// fn subscribe(peer: &Peer, uri: &str) -> mcplink::Result<()> {
    ///     let params = SubscribeRequestParams::new(uri);
    ///     peer.request("resources/subscribe", &params, RequestOptions::new())?;
    ///     Ok(())
    /// }
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct SubscribeRequestParams {
        /// The URI of the resource.
        pub uri: String,
        /// Metadata of the request (`_meta`).
        pub meta: Option<RequestMetaObject> = "_meta",
    }

    /// Makes params for the resource with this URI.
    pub fn new(uri: impl Into<String>);
}

/// The params of `resources/unsubscribe`. Up to 2025-11-25.
pub type UnsubscribeRequestParams = SubscribeRequestParams;

object! {
    /// The params of `notifications/resources/updated`.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::protocol::Peer;
    /// use mcplink::schema::ResourceUpdatedNotificationParams;
    ///
    /// // By hand. `Server::resource_updated` notifies all subscribers.
    /// fn updated(peer: &Peer, uri: &str) -> mcplink::Result<()> {
    ///     let params = ResourceUpdatedNotificationParams::new(uri);
    ///     peer.notify("notifications/resources/updated", &params)
    /// }
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct ResourceUpdatedNotificationParams {
        /// The URI of the changed resource: the subscribed resource, or a resource inside the
        /// subscribed resource.
        pub uri: String,
        /// Metadata of the notification (`_meta`).
        pub meta?: NotificationMetaObject = "_meta",
    }

    /// Makes params for the resource that changed.
    pub fn new(uri: impl Into<String>);
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
