//! Content: text, images, audio and resources in tool results, prompts and sampling.
//!
//! Spec: Server Features, Tools, "Tool Result" (every revision; audio since 2025-03-26, resource
//! links since 2025-06-18).

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::annotations::Annotations;
use super::base64::{self, Base64};
use super::icon::Icon;
use super::json::Count;
use super::member::Form;
use super::meta::MetaObject;
use super::misfit;
use super::object::{OrDefault, OrNothing};
use super::resource::{Resource, ResourceContents};
use super::tagged::{self, Tagged, Unknown};
use super::version::{FitTo, ProtocolVersion};
use crate::error::{Result, without_position};
use crate::jsonrpc::text::write_string;

/// A content block.
///
/// # Examples
///
/// ```
/// use mcplink::schema::{ContentBlock, ResourceContents, ResourceLink};
///
/// let blocks = [
///     ContentBlock::text("a cat"),
///     ContentBlock::image(b"...", "image/png"),
///     ContentBlock::resource_link(ResourceLink::new("file:///cat.png", "cat.png").size(3)),
///     ContentBlock::embedded(ResourceContents::text("file:///cat.txt", "meow")),
/// ];
/// let json = serde_json::to_string(&blocks[0])?;
/// assert_eq!(json, r#"{"type":"text","text":"a cat"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ContentBlock {
    /// A text.
    Text(TextContent),
    /// An image.
    Image(ImageContent),
    /// Audio. Since 2025-03-26.
    Audio(AudioContent),
    /// A link to a resource that can be read. Since 2025-06-18.
    ResourceLink(Box<ResourceLink>),
    /// A resource together with its contents.
    Resource(Box<EmbeddedResource>),
    /// Content of a type that this library doesn't know.
    Other(Box<Unknown>),
}

required!(ContentBlock);

open_enum! {
    /// The `type` of a content block, in tool results and in sampling.
    pub(super) enum ContentType {
        Text = "text",
        Image = "image",
        Audio = "audio",
        ResourceLink = "resource_link",
        Resource = "resource",
        ToolUse = "tool_use",
        ToolResult = "tool_result",
    }
}

impl ContentBlock {
    /// Makes a text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent::new(text))
    }

    /// Makes an image block from the bytes of the image.
    pub fn image(bytes: &[u8], mime_type: impl Into<String>) -> Self {
        Self::Image(ImageContent::new(bytes, mime_type))
    }

    /// Makes an audio block from the bytes of the audio. Since 2025-03-26.
    pub fn audio(bytes: &[u8], mime_type: impl Into<String>) -> Self {
        Self::Audio(AudioContent::new(bytes, mime_type))
    }

    /// Makes a block that links to a resource. Since 2025-06-18.
    pub fn resource_link(resource: impl Into<ResourceLink>) -> Self {
        Self::ResourceLink(Box::new(resource.into()))
    }

    /// Makes a block that embeds a resource with its contents.
    pub fn embedded(contents: impl Into<ResourceContents>) -> Self {
        Self::Resource(Box::new(EmbeddedResource::new(contents)))
    }

    /// Returns the text, if the block is a text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(content) => Some(&content.text),
            _ => None,
        }
    }

    /// Appends the JSON text of the block to `buffer`. The text is equal to the output of
    /// `Serialize`.
    pub(super) fn append_to(&self, buffer: &mut Vec<u8>) -> serde_json::Result<()> {
        match self {
            Self::Text(content) if content.is_plain() => {
                buffer.extend_from_slice(b"{\"type\":\"text\",\"text\":");
                write_string(&content.text, buffer);
            }
            Self::Image(content) if content.is_plain() => {
                buffer.extend_from_slice(b"{\"type\":\"image\",\"data\":");
                write_string(&content.data, buffer);
                buffer.extend_from_slice(b",\"mimeType\":");
                write_string(&content.mime_type, buffer);
            }
            _ => return serde_json::to_writer(buffer, self),
        }
        buffer.push(b'}');
        Ok(())
    }

    /// Returns the `type` of the block, as in the message.
    pub fn kind(&self) -> &str {
        match self {
            Self::Text(_) => "text",
            Self::Image(_) => "image",
            Self::Audio(_) => "audio",
            Self::ResourceLink(_) => "resource_link",
            Self::Resource(_) => "resource",
            Self::Other(content) => content.kind(),
        }
    }
}

impl Serialize for ContentBlock {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(content) => content.serialize(serializer),
            Self::Image(content) => content.serialize(serializer),
            Self::Audio(content) => content.serialize(serializer),
            Self::ResourceLink(content) => content.serialize(serializer),
            Self::Resource(content) => content.serialize(serializer),
            Self::Other(content) => content.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ContentBlock {
    /// Lenient reading also accepts a string, which becomes a text block.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !misfit::drops() {
            return tagged::deserialize(deserializer);
        }
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let text = text.get();
        let read = match text.starts_with('"') {
            true => serde_json::from_str(text).map(|text: String| Self::text(text)),
            false => tagged::deserialize(&mut serde_json::Deserializer::from_str(text)),
        };
        read.map_err(|error| D::Error::custom(without_position(&error)))
    }
}

/// The serialization of the content of a tool's result. Lenient reading also accepts a string in
/// place of the list, and a missing list.
pub(super) struct Blocks;

impl Form<Vec<ContentBlock>> for Blocks {
    fn absent() -> Option<Vec<ContentBlock>> {
        <OrNothing as Form<Vec<ContentBlock>>>::absent()
    }

    fn is_dispensable() -> bool {
        false
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<ContentBlock>, D::Error> {
        type List = OrNothing;
        if !misfit::drops() {
            return List::read(deserializer);
        }
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let read = match text.get().starts_with('"') {
            true => serde_json::from_str(text.get()).map(|block| vec![block]),
            false => List::read(&mut serde_json::Deserializer::from_str(text.get())),
        };
        read.map_err(|error| D::Error::custom(without_position(&error)))
    }
}

impl Tagged for ContentBlock {
    type Kind = ContentType;

    const EXPECTED: &'static str = "a content block";

    fn read<'de, D: Deserializer<'de>>(kind: ContentType, rest: D) -> Result<Self, D::Error> {
        Ok(match kind {
            ContentType::Text => Self::Text(Deserialize::deserialize(rest)?),
            ContentType::Image => Self::Image(Deserialize::deserialize(rest)?),
            ContentType::Audio => Self::Audio(Deserialize::deserialize(rest)?),
            ContentType::ResourceLink => Self::ResourceLink(Deserialize::deserialize(rest)?),
            ContentType::Resource => Self::Resource(Deserialize::deserialize(rest)?),
            ContentType::ToolUse | ContentType::ToolResult | ContentType::Other(_) => {
                Self::Other(Box::new(Unknown::read(kind.as_str().into(), rest)?))
            }
        })
    }
}

/// Adapts the block to a revision. A block that the revision does not support is replaced by a text
/// that describes the block, so that nothing is lost silently.
impl FitTo for ContentBlock {
    fn fit_to(&mut self, revision: ProtocolVersion) {
        match self {
            Self::Audio(content) if revision < ProtocolVersion::V2025_03_26 => {
                *self = Self::Text(content.to_text_content());
            }
            Self::ResourceLink(link) if revision < ProtocolVersion::V2025_06_18 => {
                *self = Self::Text(link.to_text_content());
            }
            _ => {}
        }
        match self {
            Self::Text(content) => content.fit_to(revision),
            Self::Image(content) => content.fit_to(revision),
            Self::Audio(content) => content.fit_to(revision),
            Self::ResourceLink(content) => content.fit_to(revision),
            Self::Resource(content) => content.fit_to(revision),
            Self::Other(_) => {}
        }
    }
}

impl From<TextContent> for ContentBlock {
    fn from(content: TextContent) -> Self {
        Self::Text(content)
    }
}

impl From<ImageContent> for ContentBlock {
    fn from(content: ImageContent) -> Self {
        Self::Image(content)
    }
}

impl From<AudioContent> for ContentBlock {
    fn from(content: AudioContent) -> Self {
        Self::Audio(content)
    }
}

impl From<ResourceLink> for ContentBlock {
    fn from(content: ResourceLink) -> Self {
        Self::ResourceLink(Box::new(content))
    }
}

impl From<EmbeddedResource> for ContentBlock {
    fn from(content: EmbeddedResource) -> Self {
        Self::Resource(Box::new(content))
    }
}

impl From<&str> for ContentBlock {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for ContentBlock {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

literal!(TextType = "text");
literal!(ImageType = "image");
literal!(AudioType = "audio");
literal!(ResourceLinkType = "resource_link");
literal!(ResourceType = "resource");

object! {
    /// A text block.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{Annotations, CallToolResult, Role, TextContent};
    ///
    /// // A remark for the user, beside the text for the model.
    /// let for_the_user = Annotations::default().audience([Role::User]);
    /// let remark = TextContent::new("3 ms").annotations(for_the_user);
    /// let result = CallToolResult::text("42").with(remark);
    /// assert_eq!(result.content[1].as_text(), Some("3 ms"));
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct TextContent: FitTo {
        kind: TextType = "type" as OrDefault,
        /// The text.
        pub text: String,
        /// Hints about the audience, priority and last change of the text.
        pub annotations?: Annotations [fit],
        /// Metadata of the text (`_meta`).
        pub meta?: MetaObject = "_meta" [since V2025_06_18],
        ..extra
    }

    /// Makes a text block.
    pub fn new(text: impl Into<String>);
}

impl TextContent {
    /// Whether the block has only the required members.
    fn is_plain(&self) -> bool {
        self.annotations.is_none() && self.meta.is_none() && self.extra.is_empty()
    }
}

object! {
    /// An image block.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{CallToolResult, ImageContent};
    ///
    /// # let png = [1, 2, 3];
    /// let chart = ImageContent::new(&png, "image/png");
    /// assert_eq!(chart.bytes()?, png);
    /// let result = CallToolResult::text("The sales of March:").with(chart);
    /// assert_eq!(result.content[1].kind(), "image");
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct ImageContent: FitTo {
        kind: ImageType = "type" as OrDefault,
        /// The bytes of the image, as base64.
        pub data: String as Base64,
        /// The MIME type of the image.
        pub mime_type: String = "mimeType",
        /// Hints about the audience, priority and last change of the image.
        pub annotations?: Annotations [fit],
        /// Metadata of the image (`_meta`).
        pub meta?: MetaObject = "_meta" [since V2025_06_18],
        ..extra
    }

    fn of_base64(data: String, mime_type: impl Into<String>);
}

impl ImageContent {
    /// Makes an image block from the bytes of the image.
    pub fn new(bytes: &[u8], mime_type: impl Into<String>) -> Self {
        Self::of_base64(base64::encode(bytes), mime_type)
    }

    /// Decodes the bytes of the image.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when the data is not base64.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        base64::decode("image", &self.data)
    }
}

impl ImageContent {
    /// Whether the block has only the required members.
    fn is_plain(&self) -> bool {
        self.annotations.is_none() && self.meta.is_none() && self.extra.is_empty()
    }
}

object! {
    /// An audio block. Since 2025-03-26.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{AudioContent, PromptMessage, Role};
    ///
    /// # let wav = [1, 2, 3];
    /// let recording = AudioContent::new(&wav, "audio/wav");
    /// assert_eq!(recording.bytes()?, wav);
    /// let message = PromptMessage::new(Role::User, recording);
    /// assert_eq!(message.content.kind(), "audio");
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct AudioContent: FitTo {
        kind: AudioType = "type" as OrDefault,
        /// The bytes of the audio, as base64.
        pub data: String as Base64,
        /// The MIME type of the audio.
        pub mime_type: String = "mimeType",
        /// Hints about the audience, priority and last change of the audio.
        pub annotations?: Annotations [fit],
        /// Metadata of the audio (`_meta`).
        pub meta?: MetaObject = "_meta" [since V2025_06_18],
        ..extra
    }

    fn of_base64(data: String, mime_type: impl Into<String>);
}

impl AudioContent {
    /// Makes an audio block from the bytes of the audio.
    pub fn new(bytes: &[u8], mime_type: impl Into<String>) -> Self {
        Self::of_base64(base64::encode(bytes), mime_type)
    }

    /// Decodes the bytes of the audio.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when the data is not base64.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        base64::decode("audio", &self.data)
    }

    /// Returns the text block that replaces the audio for peers without support for audio. The text
    /// does not include the bytes.
    pub(super) fn to_text_content(&self) -> TextContent {
        TextContent {
            annotations: self.annotations.clone(),
            ..TextContent::new(format!("[audio content of type {}]", self.mime_type))
        }
    }
}

object! {
    /// A link to a resource that can be read. Since 2025-06-18.
    ///
    /// The link has the members of a [`Resource`]. The resource may be missing from the list of
    /// resources.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{CallToolResult, ResourceLink};
    /// use serde_json::json;
    ///
    /// let link = ResourceLink::new("file:///app.log", "app.log").mime_type("text/plain");
    /// let result = CallToolResult::text("1 file matches").with(link);
    /// assert_eq!(result.content[1].kind(), "resource_link");
    /// assert_eq!(json!(result.content[1])["uri"], "file:///app.log");
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct ResourceLink: FitTo {
        kind: ResourceLinkType = "type" as OrDefault,
        /// The URI of the linked resource.
        pub uri: String,
        /// The name of the linked resource, for programs.
        pub name: String,
        /// The display name of the linked resource.
        pub title?: String,
        /// The description of the linked resource, for models.
        pub description?: String,
        /// The MIME type of the linked resource.
        pub mime_type?: String = "mimeType",
        /// The size of the linked resource in bytes.
        pub size?: u64 as Count,
        /// Icons to show for the linked resource.
        pub icons?: Vec<Icon> [since V2025_11_25],
        /// Hints about the audience, priority and last change of the linked resource.
        pub annotations?: Annotations [fit],
        /// Metadata of the linked resource (`_meta`).
        pub meta?: MetaObject = "_meta",
        ..extra
    }
}

impl ResourceLink {
    /// Makes a link to a resource.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Resource::new(uri, name).into()
    }

    /// Returns the text block that replaces the link for peers that do not support resource links.
    fn to_text_content(&self) -> TextContent {
        let label = self.title.as_ref().unwrap_or(&self.name);
        let mut text = format!("[resource {label}: {}]", self.uri);
        if let Some(description) = &self.description {
            text.push('\n');
            text.push_str(description);
        }
        TextContent {
            annotations: self.annotations.clone(),
            ..TextContent::new(text)
        }
    }
}

impl From<Resource> for ResourceLink {
    fn from(resource: Resource) -> Self {
        let Resource {
            uri,
            name,
            title,
            description,
            mime_type,
            size,
            icons,
            annotations,
            meta,
            extra,
        } = resource;
        Self {
            kind: ResourceLinkType,
            uri,
            name,
            title,
            description,
            mime_type,
            size,
            icons,
            annotations,
            meta,
            extra,
        }
    }
}

object! {
    /// A resource together with its contents.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{Annotations, CallToolResult, EmbeddedResource, ResourceContents};
    ///
    /// let contents = ResourceContents::text("file:///notes.txt", "Buy milk.");
    /// let important = Annotations::default().priority(0.9);
    /// let notes = EmbeddedResource::new(contents).annotations(important);
    /// let result = CallToolResult::new([notes.into()]);
    /// assert_eq!(result.content[0].kind(), "resource");
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct EmbeddedResource: FitTo {
        kind: ResourceType = "type" as OrDefault,
        /// The contents of the resource.
        pub resource: ResourceContents [fit],
        /// Hints about the audience, priority and last change of the block.
        pub annotations?: Annotations [fit],
        /// Metadata of the block (`_meta`).
        pub meta?: MetaObject = "_meta" [since V2025_06_18],
        ..extra
    }

    /// Makes a block that embeds a resource.
    pub fn new(resource: impl Into<ResourceContents>);
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(json: &str) -> ContentBlock {
        serde_json::from_str(json).expect(json)
    }

    fn value(json: &str) -> Value {
        serde_json::from_str(json).expect(json)
    }

    #[test]
    fn the_type_may_stand_anywhere() {
        fn check(json: &str, kind: &str) {
            let block = read(json);
            assert_eq!(block.kind(), kind);
            assert_eq!(serde_json::to_value(&block).expect("JSON"), value(json));
        }
        check(r#"{"type":"text","text":"a\"é"}"#, "text");
        check(r#"{"text":"a\"é","type":"text"}"#, "text");
        check(r#"{"text":"a","type":"text","z":{"y":1}}"#, "text");
        check(
            r#"{"_meta":{"a":1},"data":"AA==","mimeType":"a/b","type":"image"}"#,
            "image",
        );
        check(
            r#"{"resource":{"text":"x","uri":"a:b"},"type":"resource"}"#,
            "resource",
        );
        check(
            r#"{"uri":"a:b","type":"resource_link","name":"n","size":3}"#,
            "resource_link",
        );
        check(
            r#"{"t\"":1,"type":"hologram","depth":[1,2,{"type":"x"}]}"#,
            "hologram",
        );
    }

    #[test]
    fn what_is_not_known_survives() {
        for json in [
            r#"{"type":"text","text":"a","annotations":{"audience":["user"],"color":"red"},"_meta":{"a/b":[null]},"x":null}"#,
            r#"{"type":"resource","resource":{"uri":"a:b","text":"t","annotations":{"priority":1}},"y":1.5}"#,
            r#"{"type":"audio","data":"AA","mimeType":"audio/wav","x":{"type":"text"}}"#,
        ] {
            assert_eq!(
                serde_json::to_value(read(json)).expect("JSON"),
                value(json),
                "{json}"
            );
        }
        let unknown = r#"{"type":"hologram","big":123456789012345678901234567890,"e":1e400}"#;
        assert_eq!(
            serde_json::to_string(&read(unknown)).expect("JSON"),
            unknown
        );
    }

    #[test]
    fn a_known_type_with_the_wrong_members_is_refused() {
        for json in [
            "{}",
            r#"{"text":"a"}"#,
            r#"{"type":"text"}"#,
            r#"{"type":1,"text":"a"}"#,
            r#"{"text":"a","type":"text","type":"image"}"#,
            r#"{"type":"image","data":"AA=="}"#,
            r#"{"type":"text","text":"a","annotations":{"audience":"user"}}"#,
            "[]",
            "null",
        ] {
            assert!(
                serde_json::from_str::<ContentBlock>(json).is_err(),
                "{json}"
            );
        }
        assert!(serde_json::from_str::<TextContent>(r#"{"type":"image","text":"a"}"#).is_err());
    }

    // L-TOOL-S-22
    #[test]
    fn older_peers_get_text_for_what_they_do_not_know() {
        fn check(block: ContentBlock, revision: ProtocolVersion, expected: Value) {
            let mut fitted = block;
            fitted.fit_to(revision);
            assert_eq!(serde_json::to_value(&fitted).expect("JSON"), expected);
        }
        use ProtocolVersion::*;
        let audio = ContentBlock::audio(b"x", "audio/wav");
        check(
            audio.clone(),
            V2024_11_05,
            json!({"type":"text","text":"[audio content of type audio/wav]"}),
        );
        check(
            audio,
            V2025_03_26,
            json!({"type":"audio","data":"eA==","mimeType":"audio/wav"}),
        );
        let link = ResourceLink::new("file:///a", "a")
            .icons([Icon::new("data:,")])
            .annotations(Annotations::default().last_modified("2025-01-01"));
        check(
            link.clone().into(),
            V2025_03_26,
            json!({"type":"text","text":"[resource a: file:///a]","annotations":{}}),
        );
        check(
            link.into(),
            V2025_06_18,
            json!({"type":"resource_link","uri":"file:///a","name":"a","annotations":{"lastModified":"2025-01-01"}}),
        );
        let meta = json!({"a":1}).as_object().expect("object").clone();
        check(
            TextContent::new("t").meta(meta).into(),
            V2025_03_26,
            json!({"type":"text","text":"t"}),
        );
    }

    #[test]
    fn bytes_travel_as_base64() {
        let image = ImageContent::new(&[0, 255, 62], "image/png");
        assert_eq!(image.data, "AP8+");
        assert_eq!(image.bytes().expect("base64"), [0, 255, 62]);
        let unpadded = AudioContent {
            data: "eA".into(),
            ..AudioContent::new(b"", "a/b")
        };
        assert_eq!(unpadded.bytes().expect("base64"), b"x");
        let broken = ImageContent {
            data: "*".into(),
            ..ImageContent::new(b"", "a/b")
        };
        assert!(broken.bytes().is_err());
    }
}
