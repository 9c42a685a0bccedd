//! The schemas that are derived from Rust types, as hosts and models take them, and the JSON that is
//! read and written as these types.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::num::NonZeroU8;
use std::time::Duration;

use mcplink::schema::{Prompt, ProtocolVersion};
use mcplink::server::{Context, Json, Server};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::raw::Raw;

/// The schema that a tool lists whose arguments have a member `x` of the type.
fn schema_of<T: JsonSchema + for<'de> Deserialize<'de> + Send + 'static>() -> Value {
    #[derive(Deserialize, JsonSchema)]
    struct Arguments<T> {
        #[allow(dead_code, reason = "only its schema is looked at")]
        x: T,
    }
    let server = Server::builder("s", "1")
        .tool("t", "", |_: Arguments<T>, _| ())
        .build()
        .unwrap();
    let mut client = Raw::open(&server, ProtocolVersion::LATEST);
    let mut tools = client.result("tools/list", json!({}));
    tools["tools"][0]["inputSchema"].take()
}

/// The schema of the member.
#[track_caller]
fn check<T: JsonSchema + for<'de> Deserialize<'de> + Send + 'static>(expected: &Value) {
    let mut schema = schema_of::<T>();
    let mut member = schema["properties"]["x"].take();
    let members = member.as_object_mut().expect("an object");
    members.remove("title");
    assert_eq!(member, *expected);
    assert!(schema.get("$schema").is_none(), "{schema}");
    assert!(schema.get("$defs").is_none(), "{schema}");
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[allow(dead_code, reason = "only its schema is looked at")]
struct Point {
    x: i32,
    y: Option<f64>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
enum Colour {
    Red,
    Green,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only its schema is looked at")]
struct Pair(u8, String);

/// Never there.
#[derive(Deserialize)]
enum Nothing {}

impl JsonSchema for Nothing {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Nothing".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        false.into()
    }
}

#[test]
fn derived_schemas_have_what_every_reader_takes() {
    let point = json!({
        "type": "object",
        "properties": {
            "x": {"type": "integer", "minimum": i32::MIN, "maximum": i32::MAX},
            "y": {"type": ["number", "null"]},
        },
        "required": ["x"],
    });
    check::<Value>(&json!({}));
    check::<Nothing>(&json!({"not": {}}));
    check::<u8>(&json!({"type": "integer", "minimum": 0, "maximum": 255}));
    check::<u32>(&json!({"type": "integer", "minimum": 0, "maximum": u32::MAX}));
    check::<u64>(&json!({"type": "integer", "minimum": 0}));
    check::<usize>(&json!({"type": "integer", "minimum": 0}));
    check::<i16>(&json!({"type": "integer", "minimum": i16::MIN, "maximum": i16::MAX}));
    check::<i64>(&json!({"type": "integer"}));
    check::<i128>(&json!({"type": "integer"}));
    check::<NonZeroU8>(&json!({"type": "integer", "minimum": 1, "maximum": 255}));
    check::<f32>(&json!({"type": "number"}));
    check::<f64>(&json!({"type": "number"}));
    check::<IpAddr>(&json!({"type": "string"}));
    check::<std::net::Ipv4Addr>(&json!({"type": "string", "format": "ipv4"}));
    check::<Colour>(&json!({"type": "string", "enum": ["Red", "Green"]}));
    check::<Point>(&point);
    check::<Vec<Value>>(&json!({"type": "array", "items": true}));
    check::<HashMap<String, Value>>(&json!({"type": "object", "additionalProperties": true}));
    check::<BTreeMap<String, u8>>(&json!({
        "type": "object",
        "additionalProperties": {"type": "integer", "minimum": 0, "maximum": 255},
    }));
    let (byte, text) = (
        json!({"type": "integer", "minimum": 0, "maximum": 255}),
        json!({"type": "string"}),
    );
    let pair = json!({
        "type": "array", "prefixItems": [byte, text], "items": {"anyOf": [byte, text]},
        "minItems": 2, "maxItems": 2,
    });
    check::<Pair>(&pair);
    check::<(u8, String)>(&pair);
    check::<(u8, u8)>(&json!({
        "type": "array", "prefixItems": [byte, byte], "items": byte, "minItems": 2, "maxItems": 2,
    }));
    check::<Duration>(&json!({
        "type": "object",
        "properties": {
            "secs": {"type": "integer", "minimum": 0},
            "nanos": {"type": "integer", "minimum": 0, "maximum": u32::MAX},
        },
        "required": ["secs", "nanos"],
    }));
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Tree {
    name: Value,
    children: Vec<Self>,
}

#[test]
fn a_recursive_type_is_under_defs() {
    let nested = schema_of::<Tree>();
    let child = &nested["properties"]["x"]["properties"]["children"]["items"];
    assert_eq!(*child, json!({"$ref": "#/$defs/Tree"}));
    let tree = &nested["$defs"]["Tree"]["properties"];
    assert_eq!(tree["children"]["items"], *child);
    assert_eq!(tree["name"], json!({}));

    let server = Server::builder("s", "1")
        .tool("t", "", |tree: Tree, _| Json(tree))
        .build()
        .unwrap();
    let mut client = Raw::open(&server, ProtocolVersion::LATEST);
    let tools = client.result("tools/list", json!({}));
    for schema in ["inputSchema", "outputSchema"] {
        let schema = &tools["tools"][0][schema];
        assert_eq!(schema["type"], "object", "{schema}");
        assert_eq!(schema["properties"]["children"]["items"], *child);
        assert_eq!(schema["$defs"]["Tree"]["properties"], schema["properties"]);
        assert!(!schema.to_string().contains("\"#\""), "{schema}");
    }
}

#[derive(Deserialize, JsonSchema)]
struct Order {
    item: i64,
    #[serde(default)]
    counts: Vec<u32>,
}

fn shop() -> Raw {
    let order = |order: Order, _: &Context| format!("{} {:?}", order.item, order.counts);
    let server = Server::builder("s", "1")
        .tool("order", "", order)
        .prompt(Prompt::new("p"), |_: Order, _: &Context| "")
        .build()
        .unwrap();
    Raw::open(&server, ProtocolVersion::LATEST)
}

fn order(arguments: &Value) -> String {
    let call = format!("{{\"name\":\"order\",\"arguments\":{arguments}}}");
    let call: Value = serde_json::from_str(&call).unwrap();
    let result = shop().result("tools/call", call);
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn a_number_without_fraction_is_an_integer() {
    assert_eq!(order(&json!({"item": 5.0})), "5 []");
    assert_eq!(
        order(&json!({"item": -1.0, "counts": [1, 2.0]})),
        "-1 [1, 2]"
    );
    assert_eq!(
        order(&json!({"item": 9_007_199_254_740_993_i64})),
        "9007199254740993 []"
    );
    for refused in [json!(5.5), json!(-1), json!(4_294_967_296_u64), json!("1")] {
        let text = order(&json!({"item": 1, "counts": [1, refused]}));
        assert!(
            text.starts_with("invalid arguments: /counts/1: invalid "),
            "{text}"
        );
    }
}

#[test]
fn an_argument_that_does_not_fit_is_named() {
    let text = order(&json!({"item": "x"}));
    let expected = "invalid arguments: /item: invalid type: string \"x\", expected i64";
    assert_eq!(text, expected);
    assert_eq!(order(&json!({})), "invalid arguments: missing field `item`");
    let params = json!({"name": "p", "arguments": {"item": "x"}});
    let error = shop().error("prompts/get", params);
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("/item: invalid type"), "{message}");
}

#[derive(Serialize, JsonSchema)]
struct Measured {
    ratio: f64,
    other: Option<f64>,
}

#[test]
fn a_number_that_json_has_not_is_a_failure_of_the_tool() {
    let ask = |ratio, other| {
        let server = Server::builder("s", "1")
            .tool("t", "", move |(), _| Json(Measured { ratio, other }))
            .build()
            .unwrap();
        let mut client = Raw::open(&server, ProtocolVersion::LATEST);
        client.result("tools/call", json!({"name": "t", "arguments": {}}))
    };
    let fine = ask(1.5, None);
    assert_eq!(
        fine["structuredContent"],
        json!({"ratio": 1.5, "other": null})
    );
    for (ratio, other, found) in [
        (f64::NAN, None, "/ratio is NaN"),
        (1.5, Some(f64::NAN), "/other is NaN"),
        (1.5, Some(f64::INFINITY), "/other is inf"),
    ] {
        let failed = ask(ratio, other);
        assert_eq!(failed["isError"], true, "{failed}");
        let text = failed["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(found), "{text}");
        assert!(failed.get("structuredContent").is_none(), "{failed}");
    }
}
