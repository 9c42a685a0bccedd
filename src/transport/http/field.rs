//! Header fields that repeat values of the request body: their encoding, the tool parameters that
//! are repeated, and the values of these parameters.
//!
//! All functions are pure, and both sides use them. A client writes the fields of a request. A
//! server reads the fields and compares them with the body.
//!
//! Spec: Transports, Streamable HTTP, "Custom Headers from Tool Parameters" and "Value Encoding"
//! (2026-07-28).

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::jsonrpc::raw_object::RawObject;
use crate::schema::json::MAX_INTEGER;
use crate::schema::tree::{self, Tree};

/// The prefix of a parameter's field name. The name from the tool's schema follows the prefix.
pub(crate) const PARAM_PREFIX: &str = "Mcp-Param-";

/// The member of a property's schema that contains the name of the header field.
const KEYWORD: &str = "x-mcp-header";

/// The marks before and after an encoded value. Between the marks is the base64 of the value's
/// UTF-8 text.
const MARKS: (&str, &str) = ("=?base64?", "?=");

/// Encodes a text as the value of a header field. A text that a field can contain is returned
/// unchanged. Any other text is encoded in base64.
pub(crate) fn encode(text: &str) -> Cow<'_, str> {
    let plain = is_plain(text) && marked(text).is_none();
    if plain {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{}{}{}", MARKS.0, STANDARD.encode(text), MARKS.1))
}

/// Decodes the value of a header field. White space around the value is ignored. Returns `None` if
/// the value has bytes that are not allowed in a field. Also returns `None` if its base64 is
/// malformed or not UTF-8.
pub(crate) fn decode(value: &[u8]) -> Option<Cow<'_, str>> {
    let text = std::str::from_utf8(value).ok()?;
    let text = text.trim_matches([' ', '\t']);
    if !is_plain(text) {
        return None;
    }
    match marked(text) {
        None => Some(Cow::Borrowed(text)),
        Some(coded) => {
            let bytes = STANDARD.decode(coded).ok()?;
            String::from_utf8(bytes).ok().map(Cow::Owned)
        }
    }
}

/// Whether a header field can contain a text unchanged. Such a text is empty or visible ASCII. It
/// may contain spaces and tabs, except at its ends.
// AMB-09, AMB-10
fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    let inside = |byte: &u8| matches!(byte, 0x20..=0x7E | b'\t');
    let at_end = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_graphic);
    bytes.iter().all(inside) && at_end(bytes.first()) && at_end(bytes.last())
}

/// Returns the base64 text between the two marks of an encoded value. Returns `None` if the value
/// has no marks.
fn marked(text: &str) -> Option<&str> {
    text.strip_prefix(MARKS.0)?.strip_suffix(MARKS.1)
}

/// Whether a text can be the name of a header field, or a part of a name (RFC 9110, section 5.6.2).
pub(crate) fn is_token(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(allowed)
}

/// A parameter of a tool that is repeated in a header field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mirrored {
    /// The name of the header field after [`PARAM_PREFIX`], as the schema spells it.
    pub(crate) field: String,
    /// The path of the parameter in the arguments, from the outermost property to the innermost.
    path: Vec<String>,
}

/// The value of a tool parameter in its header field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Mirror {
    /// No value: the parameter is absent or `null`, so the request has no header field for it.
    Absent,
    /// The text that the field contains, before the text is encoded.
    Text(String),
    /// The integer that the field contains.
    Integer(i64),
    /// The reason why a header field can't contain the value of the tool's parameter.
    Impossible(&'static str),
}

impl Mirrored {
    /// Returns all parameters that the schema of a tool's arguments maps to header fields.
    ///
    /// # Errors
    ///
    /// The error is a text about the fault of the schema. A tool with a faulty schema can't be used
    /// over HTTP.
    pub(crate) fn in_schema(schema: &str) -> Result<Vec<Self>, String> {
        // The text search avoids parsing for most tools. A keyword may be written with escapes.
        if !schema.contains(KEYWORD) && !schema.contains("\\u") {
            return Ok(Vec::new());
        }
        let Tree(schema) = tree::read(schema).map_err(|error| error.to_string())?;
        let mut all = Vec::new();
        collect(&schema, Some(&mut Vec::new()), &mut all)?;
        Ok(all)
    }

    /// Returns the value of this parameter in the arguments of a call. `arguments` is JSON text.
    pub(crate) fn of(&self, arguments: &str) -> Mirror {
        // If a member is repeated, the last one counts.
        let found = self.path.iter().try_fold(arguments, |object, name| {
            let members = RawObject::of(object).filter(|(key, _)| key == name);
            members.map(|(_, value)| value).last()
        });
        let Some(text) = found else {
            return Mirror::Absent;
        };
        if text.starts_with(['{', '[']) {
            return Mirror::Impossible("it is neither a string nor an integer nor a boolean");
        }
        let no_integer = Mirror::Impossible("it is no integer within ±(2^53−1)");
        let no_text = Mirror::Impossible("it has half of a character in it");
        match serde_json::from_str(text) {
            Ok(Value::String(text)) => Mirror::Text(text),
            Ok(Value::Bool(flag)) => Mirror::Text(flag.to_string()),
            Ok(Value::Number(number)) => match integer(&number) {
                Some(integer) if integer.unsigned_abs() <= MAX_INTEGER => Mirror::Integer(integer),
                _ => no_integer,
            },
            Ok(_) => Mirror::Absent,
            Err(_) if text.starts_with('"') => no_text,
            Err(_) => no_integer,
        }
    }

    /// Returns the path of the parameter, for messages.
    pub(crate) fn place(&self) -> String {
        self.path.join(".")
    }
}

impl Mirror {
    /// Whether a decoded header field equals the value of the parameter. Integers are compared as
    /// numbers, other values as text.
    pub(crate) fn is_said_by(&self, decoded: &str) -> bool {
        match self {
            Self::Text(text) => text == decoded,
            Self::Integer(integer) => {
                let number = serde_json::from_str::<serde_json::Number>(decoded);
                number.is_ok_and(|number| self::integer(&number) == Some(*integer))
            }
            Self::Absent | Self::Impossible(_) => false,
        }
    }
}

/// Returns the value of a JSON number that is an integer. The number may also be written with a
/// fraction or an exponent.
fn integer(number: &serde_json::Number) -> Option<i64> {
    number.as_i64().or_else(|| {
        let float = number.as_f64()?;
        let exact = float.fract() == 0.0 && float.abs() < 9.3e18;
        exact.then_some(float as i64)
    })
}

/// Collects the parameters that a schema maps to header fields. `path` is the path of properties to
/// the schema. `path` is `None` if the schema is not reached through `properties` only.
fn collect(
    schema: &Value,
    mut path: Option<&mut Vec<String>>,
    all: &mut Vec<Mirrored>,
) -> Result<(), String> {
    let Value::Object(members) = schema else {
        return Ok(());
    };
    if let Some(name) = members.get(KEYWORD) {
        let path = path.as_ref().map(|path| path.as_slice());
        all.push(check(name, members, path.unwrap_or_default(), all)?);
    }
    for (keyword, value) in members {
        match (keyword.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                for (name, schema) in properties {
                    let Some(path) = path.as_deref_mut() else {
                        collect(schema, None, all)?;
                        continue;
                    };
                    path.push(name.clone());
                    collect(schema, Some(path), all)?;
                    path.pop();
                }
            }
            // These keywords hold data, not schemas.
            ("const" | "enum" | "default" | "examples", _) => {}
            (
                "$defs" | "definitions" | "patternProperties" | "dependentSchemas",
                Value::Object(schemas),
            ) => {
                for schema in schemas.values() {
                    collect(schema, None, all)?;
                }
            }
            (_, Value::Object(_)) => collect(value, None, all)?,
            (_, Value::Array(values)) => {
                for value in values {
                    collect(value, None, all)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Checks one mapping of a parameter to a header field. `path` is empty where such mappings are not
/// allowed.
fn check(
    name: &Value,
    schema: &Map<String, Value>,
    path: &[String],
    others: &[Mirrored],
) -> Result<Mirrored, String> {
    let Value::String(name) = name else {
        return Err(format!("{KEYWORD} is no string"));
    };
    let shown = crate::error::Excerpt(name);
    if name.is_empty() {
        return Err(format!("{KEYWORD} is empty"));
    }
    if !is_token(name) {
        return Err(format!(
            "{KEYWORD} '{shown}' can't be part of a header's name"
        ));
    }
    if path.is_empty() {
        return Err(format!(
            "{KEYWORD} '{shown}' stands where no parameter is: only 'properties' may lead to it from the root"
        ));
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("string" | "integer" | "boolean") => {}
        _ => {
            return Err(format!(
                "{KEYWORD} '{shown}' is on a parameter that is neither of type string, nor integer, nor boolean"
            ));
        }
    }
    if let Some(other) = others
        .iter()
        .find(|other| other.field.eq_ignore_ascii_case(name))
    {
        return Err(format!(
            "{KEYWORD} '{shown}' is on two parameters, of which one is '{}'",
            other.place()
        ));
    }
    Ok(Mirrored {
        field: name.clone(),
        path: path.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // M-HDR-C-08, M-HDR-C-23, M-HDR-C-25, M-HDR-B-26, M-HDR-C-27, AMB-09, AMB-10
    #[test]
    fn values_are_written_so_that_a_field_can_carry_them() {
        fn check(text: &str, expected: &str) {
            assert_eq!(encode(text), expected, "{text:?}");
            assert_eq!(decode(expected.as_bytes()).as_deref(), Some(text));
        }
        for plain in [
            "us-west1",
            "",
            "us west 1",
            "a\tb",
            "=?base64?SGVsbG8=",
            "SGVsbG8=",
            "=?BASE64?SGVsbG8=?=",
            "=?base64?=",
        ] {
            check(plain, plain);
        }
        check("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?=");
        check(" padded ", "=?base64?IHBhZGRlZCA=?=");
        check("\tx", "=?base64?CXg=?=");
        check("line1\nline2", "=?base64?bGluZTEKbGluZTI=?=");
        check("a\r\nX: y", "=?base64?YQ0KWDogeQ==?=");
        check("\u{7f}", "=?base64?fw==?=");
        check("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=");
        check("süd", "=?base64?c8O8ZA==?=");
    }

    // M-HDR-S-38, M-HDR-B-43
    #[test]
    fn values_that_no_field_may_have_are_told() {
        for bad in [
            &b"a\x01b"[..],
            b"a\nb",
            b"\x7f",
            "süd".as_bytes(),
            b"\xff",
            b"=?base64?SGVsbG8?=",
            b"=?base64?SGVs!!!bG8=?=",
            b"=?base64?/w==?=",
        ] {
            assert_eq!(decode(bad), None, "{bad:?}");
        }
        assert_eq!(decode(b" \tpadded \t").as_deref(), Some("padded"));
        assert_eq!(decode(b"=?base64??=").as_deref(), Some(""));
    }

    #[test]
    fn names_are_tokens() {
        for token in ["Region", "x", "a.b_c~1!#$%&'*+-^`|"] {
            assert!(is_token(token), "{token}");
        }
        for other in ["", "a b", "a:b", "ü", "a\r\nX: y", "a\u{0}", "(a)", "a\"b"] {
            assert!(!is_token(other), "{other:?}");
        }
    }

    fn names(schema: &Value) -> Result<Vec<(String, String)>, String> {
        let all = Mirrored::in_schema(&schema.to_string())?;
        Ok(all
            .into_iter()
            .map(|one| (one.place(), one.field))
            .collect())
    }

    fn pair(path: &str, name: &str) -> (String, String) {
        (path.to_owned(), name.to_owned())
    }

    // M-HDR-S-11, M-HDR-S-12, M-HDR-S-13, M-HDR-S-14, M-HDR-S-15, M-HDR-S-17, M-HDR-S-18, AMB-08
    #[test]
    fn a_schema_says_which_parameters_are_repeated() {
        let good = json!({"type": "object", "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "x-mcp-header": {"type": "string"},
            "where": {"type": "object", "properties": {
                "zone": {"type": "integer", "x-mcp-header": "Zone"}
            }},
            "flag": {"type": "boolean", "x-mcp-header": "Flag", "default": {"x-mcp-header": 1}},
        }});
        let mut found = names(&good).expect("good");
        found.sort();
        assert_eq!(
            found,
            [
                pair("flag", "Flag"),
                pair("region", "Region"),
                pair("where.zone", "Zone")
            ]
        );
        let of_type = |kind: Value, name: Value| json!({"type": "object", "properties": {"p": {"type": kind, "x-mcp-header": name}}});
        for name in [
            json!(""),
            json!("a b"),
            json!("a:b"),
            json!("ü"),
            json!("a\r\nX: y"),
            json!(1),
        ] {
            names(&of_type(json!("string"), name.clone())).expect_err(&name.to_string());
        }
        for kind in [
            json!("number"),
            json!("object"),
            json!("array"),
            json!("null"),
            json!(["string", "null"]),
            json!(null),
        ] {
            names(&of_type(kind.clone(), json!("P"))).expect_err(&kind.to_string());
        }
        let annotated = json!({"type": "string", "x-mcp-header": "P"});
        names(&json!({"type": "object", "properties": {"p": {"x-mcp-header": "P"}}}))
            .expect_err("no type");
        names(&json!({"type": "string", "x-mcp-header": "P"})).expect_err("the root");
        for keyword in ["items", "not", "if", "then", "else", "additionalProperties"] {
            let inside = json!({"type": "object", "properties": {"p": {keyword: {"properties": {"q": annotated}}}}});
            names(&inside).expect_err(keyword);
            names(&json!({"type": "object", keyword: annotated})).expect_err(keyword);
        }
        for keyword in ["oneOf", "anyOf", "allOf", "prefixItems"] {
            let inside = json!({"type": "object", keyword: [{"properties": {"q": annotated}}]});
            names(&inside).expect_err(keyword);
        }
        let behind_a_reference = json!({"type": "object",
            "properties": {"p": {"$ref": "#/$defs/d"}}, "$defs": {"d": annotated}});
        names(&behind_a_reference).expect_err("$ref");
        let twice = json!({"type": "object", "properties": {
            "a": {"type": "string", "x-mcp-header": "Region"},
            "b": {"type": "object", "properties": {"c": {"type": "string", "x-mcp-header": "region"}}},
        }});
        assert!(names(&twice).expect_err("twice").contains("two parameters"));
        let escaped = r#"{"properties":{"p":{"type":"number","x\u002dmcp-header":"P"}}}"#;
        Mirrored::in_schema(escaped).expect_err("however it is written");
        assert_eq!(Mirrored::in_schema("true"), Ok(Vec::new()));
    }

    // M-HDR-B-16, M-HDR-C-24, M-HDR-C-31, M-HDR-C-32, M-HDR-C-33, M-HDR-S-44
    #[test]
    fn values_come_from_the_arguments() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "object", "properties": {
            "b": {"type": "integer", "x-mcp-header": "B"}}}}});
        let parameter = &Mirrored::in_schema(&schema.to_string()).expect("good")[0];
        let of = |arguments: Value| parameter.of(&arguments.to_string());
        for absent in [
            json!({}),
            json!({"a": {}}),
            json!({"a": null}),
            json!({"a": 1}),
            json!({"a": {"b": null}}),
        ] {
            assert_eq!(of(absent.clone()), Mirror::Absent, "{absent}");
        }
        assert_eq!(of(json!({"a": {"b": 42}})), Mirror::Integer(42));
        assert_eq!(of(json!({"a": {"b": -7.0}})), Mirror::Integer(-7));
        assert_eq!(
            of(json!({"a": {"b": true}})),
            Mirror::Text("true".to_owned())
        );
        assert_eq!(of(json!({"a": {"b": ""}})), Mirror::Text(String::new()));
        let last = 9_007_199_254_740_991_i64;
        assert_eq!(of(json!({"a": {"b": last}})), Mirror::Integer(last));
        for far in [
            json!(last + 1),
            json!(-last - 1),
            json!(u64::MAX),
            json!(1e300),
            json!(i64::MIN),
            json!(0.5),
        ] {
            let mirror = of(json!({"a": {"b": far}}));
            assert!(matches!(mirror, Mirror::Impossible(_)), "{far}: {mirror:?}");
        }
        // Other arguments do not matter. If a member is repeated, the last one counts.
        let text = r#"{"a":{"b":"x"},"n":1e400,"s":"\ud800", "a" : {"c":[1,{}],"b" : 5 }}"#;
        assert_eq!(parameter.of(text), Mirror::Integer(5));
        let of = |value: &str| parameter.of(&format!(r#"{{"a":{{"b":{value}}}}}"#));
        assert_eq!(
            of(r#""\ud800""#),
            Mirror::Impossible("it has half of a character in it")
        );
        assert!(matches!(of("1e400"), Mirror::Impossible(why) if why.contains("integer")));
        assert!(Mirror::Integer(42).is_said_by("42.0"));
        assert!(Mirror::Integer(42).is_said_by("42"));
        assert!(!Mirror::Integer(42).is_said_by("43"));
        assert!(!Mirror::Integer(42).is_said_by("x"));
        assert!(Mirror::Text("a".to_owned()).is_said_by("a"));
        assert!(!Mirror::Text("a".to_owned()).is_said_by("A"));
    }
}
