//! Arguments and structured results of tools, held against their JSON Schemas by the validator that is built in.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use mcplink::schema::{CallToolResult, JsonSchema, ProtocolVersion, Tool};
use mcplink::server::{Context, Server};
use mcplink::validation::{SchemaLimits, Validator};
use mcplink::{Error, ErrorKind};
use serde_json::{Map, Value, json};

use crate::scripted::{ScriptedClient, in_time};

fn schema(value: Value) -> JsonSchema {
    JsonSchema::new(&value).unwrap()
}

fn compile(value: Value) -> Result<mcplink::validation::CompiledSchema, Error> {
    in_time(move || Validator::json_schema().compile(&schema(value)))
}

/// The same for a schema that is one's own.
fn compile_own(value: Value) -> mcplink::validation::CompiledSchema {
    let mut limits = SchemaLimits::default();
    limits.backtracking_patterns = true;
    in_time(move || {
        Validator::json_schema_within(limits)
            .compile(&schema(value))
            .unwrap()
    })
}

// A pattern with a reference back, and a text that is given up: the validator's own error quotes it.
#[test]
fn a_pattern_that_can_not_be_decided_is_an_error_not_a_panic() {
    for pattern in ["^(a|a)*\\1b$", "^(?=(a+)+$)b", "(?<!a)(a*)*b\\1"] {
        let own = compile_own(json!({ "pattern": pattern }));
        for text in ["a".repeat(20), "a".repeat(1000), "a".repeat(100_000)] {
            let own = own.clone();
            let error = in_time(move || own.check(&json!(text).to_string()).unwrap_err());
            let kinds = [ErrorKind::Limit, ErrorKind::Invalid];
            assert!(kinds.contains(&error.kind()), "{pattern}: {error}");
        }
        let refused = compile(json!({ "pattern": pattern })).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Invalid, "{refused}");
    }
}

#[test]
fn all_patterns_of_a_schema_have_one_budget() {
    let many = |count: usize| {
        let properties = (0..count).map(|number| {
            let pattern = json!({ "pattern": format!("^[a-z]{{1,{}}}$", number % 50 + 1) });
            (number.to_string(), pattern)
        });
        json!({ "properties": properties.collect::<Map<_, _>>() })
    };
    assert!(compile(many(100)).is_ok());
    let error = compile(many(3000)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
}

/// Why a value does not fit; empty when it does.
fn complaint(value: Value, instance: Value) -> String {
    let compiled = compile(value).unwrap();
    let checked = in_time(move || compiled.check(&instance.to_string()));
    checked.map_or_else(|error| error.to_string(), |()| String::new())
}

/// What building a server says that has a tool with this input schema.
fn built(input: Value) -> Result<Server, Error> {
    in_time(move || {
        let tool = Tool::new("t").input_schema(schema(input));
        let server = Server::builder("s", "1");
        server.tool_with(tool, |_: Value, _: &Context| ()).build()
    })
}

// M-JSCH-B-01, M-JSCH-B-04, L-JSCH-B-01, L-JSCH-B-04
#[test]
fn a_schema_means_what_its_dialect_says() {
    let draft_07 = "http://json-schema.org/draft-07/schema#";
    let latest = "https://json-schema.org/draft/2020-12/schema";
    let object = |mut rest: Value, dialect: Option<&str>| {
        rest["type"] = json!("object");
        if let Some(dialect) = dialect {
            rest["$schema"] = json!(dialect);
        }
        rest
    };
    let pair = json!({ "properties": { "p": { "prefixItems": [{ "$ref": "#/$defs/n" }] } }, "$defs": { "n": { "type": "number" } } });
    let needs = json!({ "dependentRequired": { "a": ["b"] } });
    let old_pair = json!({ "properties": { "p": { "items": [{ "type": "number" }] } } });
    for (rest, dialect, arguments, fits) in [
        // Without a dialect, and with the latest one, it is 2020-12.
        (&pair, None, json!({ "p": ["x"] }), false),
        (&pair, Some(latest), json!({ "p": ["x"] }), false),
        (&pair, None, json!({ "p": [1, "x"] }), true),
        (&needs, None, json!({ "a": 1 }), false),
        (&needs, None, json!({ "a": 1, "b": 2 }), true),
        // What came later means nothing to draft-07, and the other way round.
        (&pair, Some(draft_07), json!({ "p": ["x"] }), true),
        (&needs, Some(draft_07), json!({ "a": 1 }), true),
        (&old_pair, Some(draft_07), json!({ "p": ["x"] }), false),
        (&old_pair, Some(draft_07), json!({ "p": [1, "x"] }), true),
    ] {
        let server = built(object(rest.clone(), dialect)).unwrap();
        for revision in [ProtocolVersion::LATEST, ProtocolVersion::V2025_11_25] {
            let mut client = ScriptedClient::speaking(&server, revision);
            let result = &client.call("t", arguments.clone())["result"];
            assert_eq!(
                result["isError"] != true,
                fits,
                "{rest} {dialect:?} {arguments}"
            );
        }
    }
    let error = built(object(old_pair, None)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
}

// M-JSCH-B-05, L-JSCH-B-05
#[test]
fn an_unknown_dialect_is_named_when_the_tool_is_added() {
    let strange = json!({ "$schema": "https://example.com/none", "type": "object" });
    let within = json!({ "type": "object", "$defs": { "d": { "$id": "d", "$schema": "https://example.com/none" } } });
    let server = built(json!({ "type": "object" })).unwrap();
    for input in [strange, within] {
        let error = built(input.clone()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        let text = error.to_string();
        assert!(
            text.starts_with(
                "tool 't': inputSchema: dialect \"https://example.com/none\" is not supported"
            ),
            "{text}"
        );
        let tool = Tool::new("late").output_schema(schema(input));
        let error = server
            .add_tool(tool, |_: Value, _: &Context| ())
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.to_string().contains("outputSchema"), "{error}");
    }
    let mut client = ScriptedClient::of(&server);
    let listed = client.ask_modern("tools/list", json!({}));
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 1);
}

// M-JSCH-B-06, L-JSCH-B-06
#[test]
fn what_is_no_schema_is_refused_when_the_tool_is_added() {
    for (part, why) in [
        (json!({ "type": 5 }), "/properties/a/type: "),
        (json!({ "type": "text" }), "/properties/a/type: "),
        (json!({ "minimum": "1" }), "/properties/a/minimum: "),
        (json!({ "pattern": "(" }), "/properties/a/pattern: "),
        (json!({ "$ref": "#/$defs/none" }), "leads nowhere"),
        (json!({ "$ref": "#none" }), "leads nowhere"),
    ] {
        let input = json!({ "type": "object", "properties": { "a": part } });
        let error = built(input.clone()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{input}");
        assert!(error.to_string().contains(why), "{input}: {error}");
        let tool = Tool::new("t").output_schema(schema(input));
        let builder = Server::builder("s", "1").tool_with(tool, |_: Value, _: &Context| ());
        assert!(builder.build().is_err());
    }
}

/// A listener, and whether somebody has knocked.
fn bait() -> (String, impl Fn() -> bool) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    (address, move || listener.accept().is_ok())
}

// M-JSCH-B-07, M-JSCH-B-08, M-JSCH-B-09, M-JSCH-B-10, M-TOOL-C-33: there is no mode that fetches
#[test]
fn what_a_schema_refers_to_is_never_fetched() {
    let (address, somebody_came) = bait();
    for part in [
        json!({ "$ref": format!("{address}/x") }),
        json!({ "$ref": format!("{address}/x#/$defs/y") }),
        json!({ "$id": format!("{address}/base/"), "$ref": "x" }),
        json!({ "$dynamicRef": format!("{address}/x") }),
        json!({ "$ref": "file:///etc/hostname" }),
        json!({ "$ref": "x.json" }),
    ] {
        let input = json!({ "type": "object", "properties": { "a": part } });
        let error = built(input.clone()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{input}: {error}");
        let text = error.to_string();
        assert!(text.contains("nothing is ever fetched"), "{input}: {text}");
        let tool = Tool::new("t").output_schema(schema(input));
        let builder = Server::builder("s", "1").tool_with(tool, |_: Value, _: &Context| ());
        assert!(builder.build().is_err());
    }
    // Neither is a dialect, nor what is only mentioned.
    let strange = json!({ "$schema": format!("{address}/dialect"), "type": "object" });
    built(strange).unwrap_err();
    let mentioned =
        json!({ "type": "object", "$id": format!("{address}/id"), "description": address });
    built(mentioned).unwrap();
    assert!(!somebody_came());
    // What is in the schema, or is the schema of a dialect, needs no fetching.
    for part in [
        json!({ "$ref": "#/$defs/d" }),
        json!({ "$ref": "#d" }),
        json!({ "$ref": "https://example.com/d" }),
        json!({ "$ref": "https://json-schema.org/draft/2020-12/schema" }),
    ] {
        let defs = json!({ "d": { "$id": "https://example.com/d", "type": "boolean" }, "e": { "$anchor": "d" } });
        built(json!({ "type": "object", "properties": { "a": part }, "$defs": defs })).unwrap();
    }
}

/// A schema of `length` definitions, each made from a reference to the next one.
fn chain(length: usize, link: impl Fn(Value) -> Value) -> Value {
    let links = (0..length).map(|number| {
        let next = json!({ "$ref": format!("#/$defs/{}", number + 1) });
        (number.to_string(), link(next))
    });
    let mut defs: Map<String, Value> = links.collect();
    defs.insert(length.to_string(), json!({ "type": "string" }));
    json!({ "type": "object", "$defs": defs, "properties": { "a": { "$ref": "#/$defs/0" } } })
}

// M-JSCH-B-11
#[test]
fn a_schema_that_could_cost_too_much_is_refused() {
    let alike = |next: Value| json!({ "anyOf": [next, next, next, next] });
    let wide = |next: Value| json!({ "properties": { "x": next.clone(), "y": next } });
    let deep = (0..200).fold(json!({}), |inner, _| json!({ "not": inner }));
    for (input, setting) in [
        (chain(6, alike), "max_schemas_per_value (5000)"),
        (
            chain(40, |next| json!({ "allOf": [next] })),
            "stacked more than 16",
        ),
        (chain(5000, wide), "max_schema_bytes (262144)"),
        (json!({ "type": "object", "not": deep }), "64 levels"),
    ] {
        let error = built(input).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
        assert!(error.to_string().contains(setting), "{error}");
    }
    for endless in [
        json!({ "$ref": "#" }),
        json!({ "anyOf": [{ "type": "null" }, { "$ref": "#/$defs/a" }] }),
    ] {
        let defs = json!({ "a": endless, "b": { "not": { "$ref": "#/$defs/a" } } });
        let mut input = json!({ "type": "object", "$defs": defs });
        input["allOf"] = json!([{ "$ref": "#/$defs/a" }]);
        let error = built(input).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains("refers to itself"), "{error}");
    }
    built(chain(12, wide)).unwrap();
    // A tree is no endless one.
    let tree = json!({ "type": "object", "properties": { "left": { "$ref": "#" }, "all": { "items": { "$ref": "#" } } } });
    built(tree).unwrap();
}

/// `{"x":{"x":…}}`.
fn nested(depth: usize) -> Value {
    (0..depth).fold(json!(1), |inner, _| json!({ "x": inner }))
}

// Must not happen: a short schema keeps the host busy for ever, because its parts are named in another spelling or stand
// where no schema is expected.
#[test]
fn neither_encoding_nor_place_hides_the_cost_of_a_schema() {
    let mut definitions = Map::new();
    for number in 0..30 {
        let next = format!("#/%24defs/a{}", number + 1);
        let twice = json!({ "anyOf": [{ "$ref": next }, { "$ref": next }] });
        definitions.insert(format!("a{number}"), twice);
    }
    definitions.insert("a30".to_owned(), json!(false));
    let error = compile(json!({ "$ref": "#/%24defs/a0", "$defs": definitions })).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    // A chain that is spelled like this and leads nowhere deep is as good as any other.
    compile(json!({ "$ref": "#/%24defs/a", "$defs": { "a": { "type": "string" } } })).unwrap();
    // Patterns count wherever a reference may lead.
    let pattern = |number| json!({ "pattern": format!("^a{number}$") });
    let patterns: Vec<Value> = (0..6000).map(pattern).collect();
    for hidden in [
        json!({ "default": patterns, "$ref": "#/default/7" }),
        json!({ "examples": [[patterns]], "$ref": "#/examples/0/0/7" }),
    ] {
        let error = compile(hidden).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
        assert!(error.to_string().contains("6000 patterns"), "{error}");
    }
}

// M-JSCH-B-11
#[test]
fn a_check_ends_in_time_whatever_schema_and_value() {
    // As many ways through the value as it has levels, doubled at each of them.
    let branches = |next: Value| json!({ "anyOf": [{ "properties": { "x": next.clone() } }, { "properties": { "x": next } }] });
    let limits = {
        let mut limits = SchemaLimits::default();
        limits.max_time = Duration::from_millis(50);
        limits
    };
    let validator = Validator::json_schema_within(limits);
    let costly = validator.compile(&schema(chain(50, branches))).unwrap();
    let value = json!({ "a": nested(50) }).to_string();
    let (error, took) = in_time(move || {
        let started = Instant::now();
        (costly.check(&value).unwrap_err(), started.elapsed())
    });
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    assert!(error.to_string().contains("within 50 ms"), "{error}");
    assert!(
        took >= Duration::from_millis(50),
        "it was given up after {took:?}"
    );

    // The same by way of a recursive schema is told at once, if not where the error is.
    let node = json!({ "$ref": "#/$defs/node" });
    let branch =
        |key: &str| json!({ "type": "object", "properties": { "x": node }, "required": [key] });
    let recursive = json!({
        "$defs": { "node": { "anyOf": [{ "type": "string" }, branch("q"), branch("r"), branch("x")] } },
        "$ref": "#/$defs/node",
    });
    assert_eq!(
        complaint(recursive, nested(60)),
        "the value does not fit its schema"
    );

    // A pattern that backtracks, and a text that makes it.
    let text = format!("{}!", "a".repeat(100_000));
    let linear = json!({ "pattern": "^(a+)+$" });
    assert!(complaint(linear, json!(text)).starts_with("expected a text that matches ^(a+)+$"));
    let backtracking = json!({ "pattern": "^(?=(a+)+$)(a|aa)+\\1$" });
    let refused = compile(backtracking.clone()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Invalid, "{refused}");
    let error = compile_own(backtracking).check(&json!(text).to_string());
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Limit);

    // Values as deep as a message may be.
    let error = compile(json!({})).unwrap().check(&nested(100).to_string());
    assert!(error.unwrap_err().to_string().contains("64 levels"));
    let error = compile(json!({})).unwrap().check("[1e400]").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

/// What a thread gets by default; the frames of a debug build are the larger ones.
const STACK: usize = if cfg!(debug_assertions) {
    2 << 20
} else {
    1 << 20
};

// M-JSCH-B-11: a host's threads may have small stacks
#[test]
fn the_deepest_check_needs_little_stack() {
    // Parts stacked as deep as may be, in each level of the value: one that fits, and one whose place has to be looked for.
    let level = json!({ "type": ["object", "number"], "properties": { "x": { "$ref": "#" } } });
    let stacked = (0..14).fold(
        level,
        |inner, _| json!({ "anyOf": [{ "const": 7 }, inner] }),
    );
    let work = move || {
        let compiled = Validator::json_schema().compile(&schema(stacked)).unwrap();
        compiled.check(&nested(63).to_string()).unwrap();
        let wrong = nested(62).to_string().replace('1', "[]");
        compiled.check(&wrong).unwrap_err();
    };
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(work);
    thread.unwrap().join().unwrap();
}

// A question is no result yet.
#[test]
fn a_handler_that_asks_first_has_promised_nothing_yet() {
    use mcplink::schema::{ElicitRequestParams, ElicitResult};
    use mcplink::transport::memory;

    use crate::scripted::{asker, connect};

    let tool =
        Tool::new("ask").output_schema(schema(json!({ "type": "object", "required": ["n"] })));
    let server = Server::builder("s", "1")
        .tool_with(tool, |_: Value, context: &Context| {
            let question = ElicitRequestParams::form(
                "?",
                schema(json!({ "type": "object", "properties": {} })),
            );
            // What it gives when the answer is not there yet is not looked at.
            match context.elicit("k", question) {
                Ok(_) => CallToolResult::default()
                    .structured(&json!({ "n": 1 }))
                    .unwrap(),
                Err(_) => CallToolResult::default(),
            }
        })
        .build()
        .unwrap();
    for revision in [ProtocolVersion::LATEST, ProtocolVersion::V2025_11_25] {
        let (here, there) = memory::pair();
        let _serving = server.open(there).unwrap();
        let client = asker()
            .revisions(&[revision])
            .on_elicit(|_, _| ElicitResult::accept(&json!({})).unwrap());
        let client = connect(client, here).unwrap();
        let result = in_time(move || client.call_tool("ask", &json!({}))).unwrap();
        assert_eq!(result.structured_content.unwrap().get(), r#"{"n":1}"#);
    }
}

// M-JSCH-B-02, L-JSCH-B-02: the dialects that the documentation names are all there
#[test]
fn every_documented_dialect_is_supported() {
    let docs = include_str!("../../docs/tools.md");
    for dialect in [
        "https://json-schema.org/draft/2020-12/schema",
        "https://json-schema.org/draft/2019-09/schema",
        "http://json-schema.org/draft-07/schema#",
        "http://json-schema.org/draft-06/schema#",
        "http://json-schema.org/draft-04/schema#",
    ] {
        assert!(docs.contains(dialect), "{dialect}");
        let named = json!({ "$schema": dialect, "type": "object", "required": ["n"] });
        assert_eq!(
            complaint(named, json!({})),
            "property \"n\" is missing",
            "{dialect}"
        );
    }
}

#[test]
fn a_complaint_names_the_place_what_was_expected_and_what_came() {
    let long = "x".repeat(500);
    let many: Value = (0..1000).collect();
    for (schema, instance, said) in [
        (
            json!({ "type": ["string", "null"] }),
            json!(1),
            "expected null or string, got 1",
        ),
        (
            json!({ "enum": ["a", 2] }),
            json!("b"),
            "expected one of [\"a\",2], got \"b\"",
        ),
        (
            json!({ "const": true }),
            json!([1]),
            "expected true, got [1]",
        ),
        (
            json!({ "exclusiveMinimum": 0 }),
            json!(0),
            "expected more than 0, got 0",
        ),
        (
            json!({ "multipleOf": 5 }),
            json!(7),
            "expected a multiple of 5, got 7",
        ),
        (
            json!({ "maxItems": 2 }),
            many,
            "expected at most 2 items, got an array of 1000",
        ),
        (
            json!({ "uniqueItems": true }),
            json!([1, 1]),
            "expected items that differ from each other, got [1,1]",
        ),
        (
            json!({ "propertyNames": { "maxLength": 2 } }),
            json!({ "abc": 1 }),
            "a property name: expected at most 2 characters",
        ),
        (
            json!({ "properties": { "a/b": { "items": { "anyOf": [{ "type": "string" }, { "properties": { "c": { "type": "null" } } }] } } } }),
            json!({ "a/b": ["x", { "c": 1 }] }),
            "/a~1b/1: fits no alternative (expected string; /c: expected null), got {\"c\":1}",
        ),
        (
            json!({ "oneOf": [true, true] }),
            json!(1),
            "fits more than one alternative of oneOf, got 1",
        ),
        (
            json!({ "not": {} }),
            json!(1),
            "expected what \"not\" says, got 1",
        ),
        (json!(false), json!(null), "expected nothing, got null"),
    ] {
        assert_eq!(complaint(schema.clone(), instance), said, "{schema}");
    }
    let said = complaint(json!({ "maxLength": 3 }), json!(long));
    assert!(said.len() < 150, "{said}");
    let dialect = "http://json-schema.org/draft-07/schema#";
    let date = json!({ "$schema": dialect, "format": "date" });
    assert_eq!(
        complaint(date, json!("today")),
        "expected the format date, got \"today\""
    );
}

/// A client of a server whose tool `t` has this output schema and gives this value.
fn calling(
    validator: Validator,
    output: Value,
    value: Value,
) -> (mcplink::client::Client, crate::scripted::Scripted<()>) {
    use crate::scripted::{asker, connect, script};

    let (transport, server) = script(move |server| {
        server.open_modern();
        let request = server.expect("tools/list");
        let tool =
            json!({ "name": "t", "inputSchema": { "type": "object" }, "outputSchema": output });
        let listed = json!({
            "resultType": "complete", "tools": [tool], "ttlMs": 0, "cacheScope": "private",
        });
        server.answer(&request, listed);
        while let Some(request) = server.next() {
            assert_eq!(request["method"], "tools/call");
            let result = json!({
                "resultType": "complete", "content": [], "structuredContent": value.clone(),
            });
            server.answer(&request, result);
        }
    });
    let client = connect(asker().validator(validator), transport).unwrap();
    client.list_tools().unwrap();
    (client, server)
}

// M-JSCH-B-10: the pattern of a server that no engine can decide ends one call, not the host.
#[test]
fn a_call_whose_output_schema_can_not_be_decided_fails_and_the_next_one_works() {
    let mut limits = SchemaLimits::default();
    limits.backtracking_patterns = true;
    let patient = Validator::json_schema_within(limits);
    for (validator, sent) in [(Validator::json_schema(), false), (patient, true)] {
        let output = json!({
            "type": "object", "properties": { "a": { "pattern": "^(a|a)*\\1b$" } },
        });
        let value = json!({ "a": "a".repeat(20) });
        let (client, server) = calling(validator, output, value);
        let calling = client.clone();
        let error = in_time(move || calling.call_tool("t", &json!({})).unwrap_err());
        let kinds = [ErrorKind::Limit, ErrorKind::Protocol];
        assert!(kinds.contains(&error.kind()), "{error}");
        assert_eq!(error.was_sent(), sent, "{error}");
        let calling = client.clone();
        let other = in_time(move || calling.call_tool("other", &json!({})));
        assert!(other.is_ok(), "{other:?}");
        drop(client);
        server.end();
    }
}

// M-JSCH-B-11
#[test]
fn a_check_ends_with_the_timeout_of_its_call() {
    let branches = |next: Value| json!({ "anyOf": [{ "properties": { "x": next.clone() } }, { "properties": { "x": next } }] });
    let mut limits = SchemaLimits::default();
    limits.max_time = Duration::MAX;
    let value = json!({ "a": nested(50) });
    let validator = Validator::json_schema_within(limits);
    let (client, server) = calling(validator, chain(50, branches), value);
    let calling = client.clone();
    let (error, took) = in_time(move || {
        let options = mcplink::client::CallOptions::new().timeout(Duration::from_millis(200));
        let started = Instant::now();
        let called = calling.call_tool_with("t", &json!({}), options);
        (called.unwrap_err(), started.elapsed())
    });
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert!(error.to_string().contains("the call's timeout"), "{error}");
    assert!(error.was_sent() && error.result().is_some());
    assert!(took >= Duration::from_millis(200), "{took:?}");
    drop(client);
    server.end();
}
