//! The schemas that are derived from Rust types, as hosts and models take them, and the JSON that is
//! read and written as these types.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU8;
use std::time::Duration;

use mcplink::ErrorKind;
use mcplink::schema::{CallToolResult, Prompt, ProtocolVersion};
use mcplink::server::{Context, Json, Server};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::raw::Raw;

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
#[serde(rename_all = "lowercase")]
#[allow(dead_code, reason = "only its schema is looked at")]
enum Shape {
    Nothing,
    Circle(f64),
    Line { from: Point, to: Point },
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

/// A client of a server whose tool `t` has an argument `x` of the type.
fn taking<T: JsonSchema + for<'de> Deserialize<'de> + Send + 'static>() -> Raw {
    #[derive(Deserialize, JsonSchema)]
    struct Arguments<T> {
        #[allow(dead_code, reason = "that it is read is enough")]
        x: T,
    }
    let server = Server::builder("s", "1")
        .tool("t", "", |_: Arguments<T>, _| ())
        .build()
        .unwrap();
    Raw::open(&server, ProtocolVersion::LATEST)
}

macro_rules! types {
    ($($type:ty),+ $(,)?) => {
        [$((stringify!($type), taking::<$type> as fn() -> Raw)),+]
    };
}

/// Without the titles, which name types.
fn untitled(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            members.retain(|name, value| name != "title" || !value.is_string());
            members.values_mut().for_each(untitled);
        }
        Value::Array(values) => values.iter_mut().for_each(untitled),
        _ => {}
    }
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only its schema is looked at")]
struct Formats {
    #[schemars(extend("format" = "partial-time"))]
    own: String,
    #[schemars(extend("format" = "time"))]
    standard: String,
    #[serde(default = "reference")]
    #[schemars(extend("examples" = [{ "$ref": "#" }]))]
    data: Value,
    /// A member of this name is no keyword.
    default: Option<Box<Self>>,
}

fn reference() -> Value {
    json!({ "$ref": "#" })
}

#[test]
fn formats_are_those_of_json_schema_and_data_stays() {
    let tools = taking::<Formats>().result("tools/list", json!({}));
    let schema = &tools["tools"][0]["inputSchema"]["properties"]["x"];
    let schema = match schema.get("$ref") {
        Some(_) => &tools["tools"][0]["inputSchema"]["$defs"]["Formats"],
        None => schema,
    };
    let members = &schema["properties"];
    assert_eq!(members["own"].get("format"), None, "{schema}");
    assert_eq!(members["standard"]["format"], "time");
    assert_eq!(members["data"]["default"], reference());
    assert_eq!(members["data"]["examples"], json!([reference()]));
    assert!(
        members["default"].to_string().contains("#/$defs/"),
        "{schema}"
    );
}

/// `tests/interop/run` holds the same schemas against the validators of TypeScript.
#[test]
fn derived_schemas_have_what_every_reader_takes() {
    let types = types![
        Value, Nothing, (), bool, String, char, u8, u16, u32, u64, usize, i8, i16, i32, i64, i128,
        NonZeroU8, f32, f64, Option<f64>, Option<Point>, IpAddr, Ipv4Addr, Duration, Vec<Value>,
        [u8; 2], HashMap<String, Value>, BTreeMap<String, u8>, BTreeSet<u8>, Colour, Shape, Point,
        Pair, (u8, u8), Tree,
    ];
    let rows = fs::read_to_string("tests/data/derived_schemas.json").unwrap();
    let rows: Vec<Value> = serde_json::from_str(&rows).unwrap();
    assert_eq!(rows.len(), types.len());
    for (row, (name, taking)) in rows.iter().zip(types) {
        assert_eq!(row["type"], name);
        let mut client = taking();
        let mut tools = client.result("tools/list", json!({}));
        let mut schema = tools["tools"][0]["inputSchema"].take();
        untitled(&mut schema);
        assert_eq!(schema["properties"]["x"], row["schema"], "{name}");
        assert_eq!(schema.get("$defs"), row.get("defs"), "{name}");
        assert!(schema.get("$schema").is_none(), "{schema}");

        // What the schema says is what is read.
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        for (values, fits) in [(&row["takes"], true), (&row["refuses"], false)] {
            for x in values.as_array().unwrap() {
                let arguments = json!({ "x": x });
                assert_eq!(validator.is_valid(&arguments), fits, "{name}: {x}");
                let params = json!({"name": "t", "arguments": arguments});
                let result = client.result("tools/call", params);
                assert_eq!(result["isError"] != true, fits, "{name}: {x}: {result}");
            }
        }
    }
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Tree {
    name: Value,
    children: Vec<Self>,
}

#[test]
fn a_recursive_type_is_under_defs() {
    let child = json!({"$ref": "#/$defs/Tree"});
    let server = Server::builder("s", "1")
        .tool("t", "", |tree: Tree, _| Json(tree))
        .build()
        .unwrap();
    let mut client = Raw::open(&server, ProtocolVersion::LATEST);
    let tools = client.result("tools/list", json!({}));
    for schema in ["inputSchema", "outputSchema"] {
        let schema = &tools["tools"][0][schema];
        assert_eq!(schema["type"], "object", "{schema}");
        assert_eq!(schema["properties"]["children"]["items"], child);
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
    // A validator would refuse some of these arguments before they are read as the type.
    let server = Server::builder("s", "1")
        .validator(None)
        .tool("order", "", order)
        .prompt_with_arguments(Prompt::new("p"), |_: Order, _: &Context| "")
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
    assert!(message.contains("/item: invalid value"), "{message}");
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
    let ratio = f64::NAN;
    let refused = CallToolResult::default().structured(&Measured { ratio, other: None });
    let refused = refused.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Invalid);
    assert!(refused.to_string().contains("/ratio is NaN"), "{refused}");
}
