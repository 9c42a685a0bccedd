//! The JSON reader: reads arguments, results and events without another JSON library.

use std::ffi::c_char;
use std::fmt;
use std::ops::Deref;
use std::sync::OnceLock;

use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap as _, Serializer};

use serde_json::Value;

use super::arg;
use super::arg::invalid;
use super::entry::{Outcome, disown, get, giving};
use super::error::mcplink_error_t;
use super::handle::Tagged;
use super::status::mcplink_status_t;
use super::text::{ArenaText, Text, Texts, mcplink_str_t, name, payload};
use crate::error::{Error, ErrorKind, Result};

/// A JSON value: a document that the caller owns, or a node of a document.
///
/// Every reading function accepts NULL and a node of another type, and then returns a neutral
/// value. So a chain of calls needs no checks between the calls. A node is valid as long as its
/// document. Many threads may read a document at once.
pub struct mcplink_json_t {
    content: Content,
    /// The node as JSON text. The text is made on first use.
    text: OnceLock<Text>,
}

object!(mcplink_json_t is Json);

enum Content {
    Null,
    Boolean(bool),
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    String(ArenaText),
    Array(Box<[JsonNode]>),
    /// An object, as members in their original order. If several members have the same name, the
    /// last member counts.
    Object(Box<[(ArenaText, JsonNode)]>),
}

use mcplink_json_t as Node;

/// A node that C may borrow.
pub(super) type JsonNode = Tagged<Node>;

/// A JSON document: its root node, and the texts of all its nodes.
// The root comes first, so that a pointer to the document is also a pointer to its root node.
#[repr(C)]
pub(super) struct Document {
    root: JsonNode,
    /// The texts of all nodes. The field is dropped after the nodes, which point into the texts.
    _texts: Texts,
}

/// The type of a JSON value.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mcplink_json_type {
    /// No value: the node is NULL.
    #[allow(dead_code, reason = "getters return 0")]
    MCPLINK_JSON_MISSING = 0,
    /// The value null.
    MCPLINK_JSON_NULL = 801,
    /// The value true or false.
    MCPLINK_JSON_BOOLEAN = 802,
    /// A number.
    MCPLINK_JSON_NUMBER = 803,
    /// A string.
    MCPLINK_JSON_STRING = 804,
    /// An array.
    MCPLINK_JSON_ARRAY = 805,
    /// An object.
    MCPLINK_JSON_OBJECT = 806,
}

impl Document {
    pub(super) fn parse(text: &str) -> Result<Self> {
        // Each decoded string is at least one byte shorter than its source with the quotes, so
        // `text.len()` bytes have room for all strings and their NULs.
        let mut reading = Reading {
            texts: Texts::with_room(text.len()),
            // Enough for an ordinary result without reallocation.
            members: Vec::with_capacity(16),
        };
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let root = reading.deserialize(&mut deserializer);
        let root = root.and_then(|root| deserializer.end().map(|()| root));
        let root = root.map_err(|error| {
            let text = format!("this is not JSON: {error}");
            Error::new(ErrorKind::Invalid, text)
        })?;
        let _texts = reading.texts;
        Ok(Self { root, _texts })
    }

    /// Makes a document of a value, as a pointer that the host owns.
    pub(super) fn of(value: &Value) -> Result<*mut mcplink_json_t> {
        Ok(Self::parse(&value.to_string())?.into_raw())
    }

    /// Converts the document into a pointer that the host owns.
    pub(super) fn into_raw(self) -> *mut mcplink_json_t {
        self.root.own();
        Box::into_raw(Box::new(self)).cast()
    }
}

impl Deref for Document {
    type Target = JsonNode;

    fn deref(&self) -> &JsonNode {
        &self.root
    }
}

impl Node {
    fn new(content: Content) -> JsonNode {
        Tagged::new(Self {
            content,
            text: OnceLock::new(),
        })
    }

    pub(super) fn member(&self, key: &str) -> Option<&JsonNode> {
        let Content::Object(members) = &self.content else {
            return None;
        };
        let found = members.iter().rev().find(|(name, _)| name.as_str() == key);
        found.map(|(_, node)| node)
    }

    pub(super) fn item(&self, index: usize) -> Option<&JsonNode> {
        match &self.content {
            Content::Array(items) => items.get(index),
            Content::Object(members) => members.get(index).map(|(_, node)| node),
            _ => None,
        }
    }

    /// Returns the node at a JSON pointer, relative to this node. Spec: RFC 6901.
    fn pointer<'a>(this: &'a JsonNode, pointer: &str) -> Option<&'a JsonNode> {
        if pointer.is_empty() {
            return Some(this);
        }
        let steps = pointer.strip_prefix('/')?.split('/');
        let mut node = this;
        for step in steps {
            node = match &node.content {
                Content::Array(items) => items.get(index(step)?)?,
                _ => node.member(&step.replace("~1", "/").replace("~0", "~"))?,
            };
        }
        Some(node)
    }

    pub(super) fn string(&self) -> Option<&ArenaText> {
        match &self.content {
            Content::String(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn as_str(&self) -> Option<&str> {
        self.string().map(ArenaText::as_str)
    }

    pub(super) fn is_true(&self) -> bool {
        matches!(self.content, Content::Boolean(true))
    }

    pub(super) fn as_bool(&self) -> Option<bool> {
        match self.content {
            Content::Boolean(value) => Some(value),
            _ => None,
        }
    }

    /// Returns an integer; `None` for other values. 1.0 is an integer.
    pub(super) fn as_i64(&self) -> Option<i64> {
        match self.content {
            Content::Signed(number) => Some(number),
            Content::Unsigned(number) => i64::try_from(number).ok(),
            // A double represents integers up to 2^53 exactly.
            Content::Float(number) if number.trunc() == number && number.abs() <= 9e15 => {
                Some(number as i64)
            }
            _ => None,
        }
    }

    /// Returns a number, rounded to a double; `None` for other values.
    pub(super) fn as_f64(&self) -> Option<f64> {
        match self.content {
            Content::Signed(number) => Some(number as f64),
            Content::Unsigned(number) => Some(number as f64),
            Content::Float(number) => Some(number),
            _ => None,
        }
    }

    pub(super) fn is_array(&self) -> bool {
        matches!(self.content, Content::Array(_))
    }

    /// Returns the node as JSON text.
    pub(super) fn text(&self) -> &Text {
        self.text.get_or_init(|| {
            let text = serde_json::to_string(self);
            text.expect("what was read can be written").into()
        })
    }

    pub(super) fn len(&self) -> usize {
        match &self.content {
            Content::String(text) => text.as_str().len(),
            Content::Array(items) => items.len(),
            Content::Object(members) => members.len(),
            _ => 0,
        }
    }
}

/// Parses an array index of a JSON pointer. Such an index has no sign and no leading zeros.
fn index(step: &str) -> Option<usize> {
    let plain = step == "0" || !step.starts_with(['0', '+']);
    step.parse().ok().filter(|_| plain)
}

/// The state of the JSON parser. Members of open objects are collected at the end of `members`.
/// When an object is complete, its members are moved from `members` into the object.
struct Reading {
    texts: Texts,
    members: Vec<(ArenaText, JsonNode)>,
}

impl<'de> DeserializeSeed<'de> for &mut Reading {
    type Value = JsonNode;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self).map(Node::new)
    }
}

impl<'de> Visitor<'de> for &mut Reading {
    type Value = Content;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Content, E> {
        Ok(Content::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Content, E> {
        Ok(Content::Boolean(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Content, E> {
        Ok(Content::Signed(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Content, E> {
        Ok(Content::Unsigned(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Content, E> {
        Ok(Content::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Content, E> {
        Ok(Content::String(self.texts.keep(value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Content, A::Error> {
        // Most results have one content block.
        let mut items = Vec::with_capacity(1);
        while let Some(item) = seq.next_element_seed(&mut *self)? {
            items.push(item);
        }
        Ok(Content::Array(items.into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Content, A::Error> {
        let start = self.members.len();
        while let Some(name) = map.next_key_seed(Name(&mut self.texts))? {
            let node = map.next_value_seed(&mut *self)?;
            self.members.push((name, node));
        }
        Ok(Content::Object(self.members.drain(start..).collect()))
    }
}

/// A deserializer that reads the name of a member and adds the name to the texts.
struct Name<'a>(&'a mut Texts);

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = ArenaText;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<ArenaText, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = ArenaText;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<ArenaText, E> {
        Ok(self.0.keep(name))
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.content {
            Content::Null => serializer.serialize_unit(),
            Content::Boolean(value) => serializer.serialize_bool(*value),
            Content::Signed(value) => serializer.serialize_i64(*value),
            Content::Unsigned(value) => serializer.serialize_u64(*value),
            Content::Float(value) => serializer.serialize_f64(*value),
            Content::String(text) => serializer.serialize_str(text.as_str()),
            Content::Array(items) => serializer.collect_seq(items.iter().map(|item| &**item)),
            Content::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (name, node) in members {
                    map.serialize_entry(name.as_str(), &**node)?;
                }
                map.end()
            }
        }
    }
}

/// Parses a JSON document.
///
/// text, len: the text, which is copied; len may be MCPLINK_NUL for text that ends in NUL.
/// out: receives the document, NULL on failure. The caller owns it and frees it with
/// mcplink_json_free.
/// err: receives the error on failure, with line and column; the caller frees it. May be NULL.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Integers from -2^63 to 2^64-1 stay exact; documents
/// may be nested 127 levels deep.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_json_parse(
    text: *const c_char,
    len: usize,
    out: *mut *mut mcplink_json_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires that `out` and `err` are NULL or can be written to, and that the
    // text has its length.
    unsafe {
        giving(out, err, || {
            let document = Document::parse(payload(text, len, "text")?)?;
            Ok(document.into_raw())
        })
    }
}

/// Frees a document that the caller owns, such as a document that mcplink_json_parse or
/// mcplink_client_stats returned. All its nodes are invalid afterwards.
///
/// document: the document; may be NULL. Do not pass a node of a document, such as the node that
/// mcplink_json_get returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_json_free(document: *mut mcplink_json_t) {
    // SAFETY: the header requires a node of this library; a document is freed once. If C owned the
    // node, it is the root of a document that `into_raw` made.
    unsafe {
        disown(document, || {
            drop(Box::from_raw(document.cast::<Document>()))
        })
    }
}

getters! {
    get(node: mcplink_json_t);

    /// Returns the type of a value.
    fn mcplink_json_type_of() -> arg::mcplink_json_type {
        use mcplink_json_type as Type;
        let kind = match node.content {
            Content::Null => Type::MCPLINK_JSON_NULL,
            Content::Boolean(_) => Type::MCPLINK_JSON_BOOLEAN,
            Content::Signed(_) | Content::Unsigned(_) | Content::Float(_) => {
                Type::MCPLINK_JSON_NUMBER
            }
            Content::String(_) => Type::MCPLINK_JSON_STRING,
            Content::Array(_) => Type::MCPLINK_JSON_ARRAY,
            Content::Object(_) => Type::MCPLINK_JSON_OBJECT,
        };
        kind as i32
    }

    /// Returns the length of a value: the number of items of an array, members of an object, or
    /// bytes of a string.
    ///
    /// Returns: the length; 0 for values of other types.
    fn mcplink_json_len() -> usize {
        node.len()
    }

    /// Returns the value at a JSON pointer (RFC 6901), for example "/content/0/text".
    ///
    /// node: a node or NULL; the pointer is relative to it.
    /// pointer: the JSON pointer; "" for the node itself.
    /// Returns: a node of the same document; NULL when the document has no value there.
    fn mcplink_json_pointer(pointer: *const c_char) -> *const mcplink_json_t {
        Node::pointer(node, name(pointer, "pointer").ok()?)?.as_ptr()
    }

    /// Returns the text of a string.
    ///
    /// Returns: text that is valid as long as the document; empty for values of other types.
    fn mcplink_json_str() -> mcplink_str_t {
        node.string()?.view()
    }

    /// Reads an integer value.
    ///
    /// out: receives the integer. It stays unchanged when the function returns false, so that it
    /// can hold a default value. May be NULL.
    /// Returns: true for an integer from -2^63 to 2^63-1; the numbers 1.0 and -0.0 count as
    /// integers.
    fn mcplink_json_i64(out: *mut i64) -> bool {
        let number = node.as_i64()?;
        if !out.is_null() {
            out.write(number);
        }
        true
    }

    /// Returns the value of a number, rounded to a double.
    ///
    /// Returns: the number; 0 for values of other types.
    fn mcplink_json_f64() -> f64 {
        node.as_f64()?
    }

    /// Checks whether a value is the JSON value true.
    ///
    /// Returns: true for the value true; false for all other values.
    fn mcplink_json_boolean() -> bool {
        node.is_true()
    }

    /// Returns a value as compact JSON text: without white space outside of strings.
    ///
    /// Returns: text that is valid as long as the document; empty for NULL.
    fn mcplink_json_text() -> mcplink_str_t {
        node.text().view()
    }

    /// Returns a member of an object.
    ///
    /// key: the name of the member. If several members have this name, the function returns the
    /// value of the last member.
    /// Returns: a node of the same document; NULL when the object has no such member.
    fn mcplink_json_get(key: *const c_char) -> *const mcplink_json_t {
        node.member(name(key, "key").ok()?)?.as_ptr()
    }

    /// Returns the name of a member of an object, by index. Members keep their original order.
    ///
    /// index: from 0.
    /// Returns: text that is valid as long as the document; empty when the index is out of range.
    fn mcplink_json_key_at(index: usize) -> mcplink_str_t {
        match &node.content {
            Content::Object(members) => members.get(index)?.0.view(),
            _ => mcplink_str_t::EMPTY,
        }
    }

    /// Returns an item of an array, or the value of a member of an object, by index.
    ///
    /// index: from 0.
    /// Returns: a node of the same document; NULL when the index is out of range.
    fn mcplink_json_at(index: usize) -> *const mcplink_json_t {
        node.item(index)?.as_ptr()
    }
}

/// Checks whether a value is missing. A missing value is not the JSON value null.
///
/// Returns: true if node is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_json_is_missing(node: *const mcplink_json_t) -> bool {
    // SAFETY: the header requires a node of this library.
    unsafe { get(node, "mcplink_json_is_missing") }.is_none()
}

pub(super) fn shown(node: Option<&JsonNode>) -> *const mcplink_json_t {
    node.map_or(std::ptr::null(), Tagged::as_ptr)
}

/// Reads JSON text that the host passes, and checks that it is valid JSON.
///
/// # Safety
///
/// The requirements of [`payload`] apply.
pub(super) unsafe fn json_payload<'a>(
    ptr: *const c_char,
    len: usize,
    what: &str,
) -> Outcome<&'a serde_json::value::RawValue> {
    // SAFETY: the safety contract of this function.
    let text = unsafe { payload(ptr, len, what) }?;
    let raw = serde_json::from_str(text)
        .map_err(|error| Error::new(ErrorKind::Invalid, format!("{what} is not JSON: {error}")))?;
    Ok(raw)
}

/// Reads JSON text that the host passes, as a value.
///
/// # Safety
///
/// The requirements of [`payload`] apply.
pub(super) unsafe fn json_value(ptr: *const c_char, len: usize, what: &str) -> Outcome<Value> {
    // SAFETY: the safety contract of this function.
    let json = unsafe { json_payload(ptr, len, what) }?;
    // Valid JSON may hold a number or a depth that no value can have.
    let value = serde_json::from_str(json.get());
    Ok(value.map_err(|error| invalid(format!("{what}: {error}")))?)
}

/// Reads optional JSON text; `None` for NULL and for a length of 0.
///
/// # Safety
///
/// The requirements of [`payload`] apply.
pub(super) unsafe fn optional_json<'a>(
    ptr: *const c_char,
    len: usize,
    what: &str,
) -> Outcome<Option<&'a serde_json::value::RawValue>> {
    if ptr.is_null() || len == 0 {
        return Ok(None);
    }
    // SAFETY: the safety contract of this function.
    unsafe { json_payload(ptr, len, what) }.map(Some)
}

/// Parses optional JSON text as a type of the protocol. Returns `None` for NULL.
///
/// # Safety
///
/// The requirements of [`optional_json`] apply.
pub(super) unsafe fn typed<T: DeserializeOwned>(
    ptr: *const c_char,
    len: usize,
    what: &str,
) -> Outcome<Option<T>> {
    // SAFETY: the safety contract of this function.
    let Some(json) = (unsafe { optional_json(ptr, len, what) })? else {
        return Ok(None);
    };
    let read = serde_json::from_str(json.get()).map_err(|error| {
        let text = format!("{what} is not what the protocol has there: {error}");
        Error::new(ErrorKind::Invalid, text)
    })?;
    Ok(Some(read))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Document {
        Document::parse(text).expect("JSON")
    }

    #[test]
    fn values_are_what_they_were() {
        let text = r#"{"a":[1,-2,18446744073709551615,1.5,true,null,"x\u0000y"],"b":{"a/b":{"~":1}},"a2":{}}"#;
        let node = parse(text);
        assert_eq!(
            node.text().as_str(),
            text,
            "order, integers and escapes stay"
        );
        assert_eq!(
            Node::pointer(&node, "/b/a~1b/~0").map(|node| node.len()),
            Some(0)
        );
        assert!(Node::pointer(&node, "/a/00").is_none());
        assert!(Node::pointer(&node, "a").is_none());
        assert_eq!(
            Node::pointer(&node, "/a/6").and_then(|node| node.as_str()),
            Some("x\0y")
        );
    }

    #[test]
    fn there_is_room_for_every_text() {
        for text in [
            r#""""#,
            r#""abc""#,
            r#"["","",{"":""}]"#,
            r#"{"é":"\u0000","b":["c","d"]}"#,
        ] {
            let node = parse(text);
            assert_eq!(node.text().as_str(), text);
        }
    }

    #[test]
    fn the_last_member_of_a_name_counts() {
        let node = parse(r#"{"a":1,"a":"x"}"#);
        assert_eq!(node.member("a").and_then(|node| node.as_str()), Some("x"));
    }

    #[test]
    fn integers_are_exact_or_none() {
        // SAFETY: the node is live, and `out` can be written to.
        let read = |text: &str| unsafe {
            let mut out = 7;
            let is = mcplink_json_i64(parse(text).as_ptr(), &mut out);
            (is, out)
        };
        assert_eq!(read("9007199254740993"), (true, 9007199254740993));
        assert_eq!(read("-9223372036854775808"), (true, i64::MIN));
        assert_eq!(read("9223372036854775808"), (false, 7));
        assert_eq!(read("2.0"), (true, 2));
        assert_eq!(read("2.5"), (false, 7));
        assert_eq!(read("1e300"), (false, 7));
        assert_eq!(read("\"2\""), (false, 7));
    }

    #[test]
    fn deep_documents_are_refused() {
        let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(Document::parse(&deep(127)).is_ok());
        assert!(Document::parse(&deep(200)).is_err());
        assert!(Document::parse("{").is_err());
        assert!(Document::parse("1 2").is_err());
        assert!(Document::parse("").is_err());
    }
}
