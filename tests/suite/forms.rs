//! What a user filled in, held against the form that was shown.

use mcplink::ErrorKind;
use mcplink::schema::{
    CreateMessageRequestParams, ElicitAction, ElicitRequestParams, ElicitResult, JsonSchema,
};
use serde_json::{Value, json};

/// Why content does not fit a form; empty when it does.
fn complaint(properties: Value, required: Value, content: &Value) -> String {
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    let answer = ElicitResult::accept(content).unwrap();
    said(&schema, &answer)
}

fn said(schema: &Value, answer: &ElicitResult) -> String {
    let schema = JsonSchema::new(schema).unwrap();
    let ElicitRequestParams::Form(question) = ElicitRequestParams::form("?", schema) else {
        panic!("it is a form");
    };
    question.check_answer(answer).map_or_else(
        |error| {
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
            error.to_string()
        },
        |()| String::new(),
    )
}

#[test]
fn each_kind_of_field_takes_what_it_says() {
    let text = json!({ "type": "string", "minLength": 2, "maxLength": 3 });
    let number = json!({ "type": "number", "minimum": -1.5, "maximum": 10 });
    let integer = json!({ "type": "integer" });
    let choice = json!({ "type": "string", "enum": ["a", "b"] });
    let titled = json!({ "type": "string", "oneOf": [{ "const": "a", "title": "A" }, { "const": "b", "title": "B" }] });
    let old = json!({ "type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"] });
    let several = json!({ "type": "array", "items": { "type": "string", "enum": ["a", "b"] }, "minItems": 1, "maxItems": 2 });
    let titles = json!({ "type": "array", "items": { "anyOf": [{ "const": "a", "title": "A" }] } });
    let of = |format: &str| json!({ "type": "string", "format": format });
    for (field, good, bad, expected) in [
        (
            &text,
            json!("äß"),
            json!("ä"),
            "at least 2 characters, got \"ä\"",
        ),
        (
            &text,
            json!("abc"),
            json!("abcd"),
            "at most 3 characters, got \"abcd\"",
        ),
        (&text, json!("abc"), json!(7), "a text, got 7"),
        (&text, json!("abc"), json!(null), "a text, got null"),
        (&number, json!(-1.5), json!(-1.6), "at least -1.5, got -1.6"),
        (&number, json!(10), json!(11), "at most 10, got 11"),
        (&number, json!(1e1), json!("1"), "a number, got \"1\""),
        (
            &integer,
            json!(2.0),
            json!(2.5),
            "a number without a fraction, got 2.5",
        ),
        (
            &json!({ "type": "boolean" }),
            json!(false),
            json!("false"),
            "true or false, got \"false\"",
        ),
        (
            &choice,
            json!("b"),
            json!("c"),
            "one of [\"a\",\"b\"], got \"c\"",
        ),
        (
            &titled,
            json!("b"),
            json!("B"),
            "one of [\"a\",\"b\"], got \"B\"",
        ),
        (
            &old,
            json!("b"),
            json!(["b"]),
            "one of [\"a\",\"b\"], got [\"b\"]",
        ),
        (
            &several,
            json!(["b", "a"]),
            json!([]),
            "at least 1 choices, got []",
        ),
        (
            &several,
            json!(["b"]),
            json!("b"),
            "a list of texts, got \"b\"",
        ),
        (
            &several,
            json!(["a"]),
            json!(["a", "a", "a"]),
            "at most 2 choices",
        ),
        (
            &several,
            json!(["a"]),
            json!(["a", "c"]),
            "each choice to be one of [\"a\",\"b\"]",
        ),
        (
            &titles,
            json!([]),
            json!([1]),
            "each choice to be one of [\"a\"]",
        ),
        (
            &of("email"),
            json!("a@b.c"),
            json!("a.b.c"),
            "an address of mail",
        ),
        (&of("uri"), json!("https://a.b"), json!("a.b"), "a URI"),
        (
            &of("date"),
            json!("2024-02-29"),
            json!("2023-02-29"),
            "a date like",
        ),
        (
            &of("date-time"),
            json!("2024-02-29T10:00:00Z"),
            json!("2024-02-29"),
            "a date and time like",
        ),
    ] {
        let form = json!({ "f": field });
        assert_eq!(
            complaint(form.clone(), json!([]), &json!({ "f": good })),
            "",
            "{field}"
        );
        let said = complaint(form, json!([]), &json!({ "f": bad }));
        assert!(
            said.starts_with(&format!("field 'f': expected {expected}")),
            "{said}"
        );
    }
    // What only the server and its user understand is not looked at.
    assert_eq!(
        complaint(json!({ "f": of("phone") }), json!([]), &json!({ "f": "?" })),
        ""
    );
}

// M-ELIC-B-54
#[test]
fn content_is_an_object_of_plain_values_with_all_that_is_required() {
    let form = || json!({ "a": { "type": "string" }, "b": { "type": "boolean" } });
    let check = |content: Value| complaint(form(), json!(["a"]), &content);
    assert_eq!(check(json!({ "a": "x" })), "");
    assert_eq!(
        check(json!({ "a": "x", "b": true, "more": 1, "list": ["x"] })),
        ""
    );
    assert_eq!(check(json!({ "b": true })), "field 'a' is missing");
    for content in [json!(["x"]), json!("x"), json!(null)] {
        assert!(check(content).starts_with("expected an object"));
    }
    for value in [json!({}), json!(null), json!([1]), json!([["x"]])] {
        let said = check(json!({ "a": "x", "more": value }));
        assert!(
            said.starts_with("field 'more': expected a text, a number"),
            "{said}"
        );
    }
}

// M-ELIC-B-53
#[test]
fn content_comes_with_acceptance_and_with_nothing_else() {
    let form = json!({ "type": "object", "properties": {} });
    let mut declined = ElicitResult::confirm();
    assert!(declined.is_accepted());
    assert_eq!(said(&form, &declined), "");
    declined.action = ElicitAction::Decline;
    assert!(said(&form, &declined).contains("does not accept"));
    for answer in [ElicitResult::decline(), ElicitResult::cancel()] {
        assert_eq!(said(&form, &answer), "");
    }
    let bare = ElicitResult::new(ElicitAction::Accept);
    assert!(said(&form, &bare).contains("has no content"));
    // A question that is no form has no answer that fits.
    let nested = json!({ "type": "object", "properties": { "a": { "type": "object" } } });
    let answer = ElicitResult::accept(&json!({ "a": {} })).unwrap();
    assert!(said(&nested, &answer).contains("not one of a form"));
}

// To JSON Schema `3.0` is an integer.
#[test]
fn bounds_may_be_written_with_a_point() {
    let text = json!({ "type": "string", "minLength": 2.0, "maxLength": 3e0 });
    let several = json!({ "type": "array", "items": { "type": "string", "enum": ["a"] }, "minItems": 1.0, "maxItems": null });
    let form = json!({ "a": text, "b": several });
    let check = |content: Value| complaint(form.clone(), json!([]), &content);
    assert_eq!(check(json!({ "a": "ab", "b": ["a"] })), "");
    assert!(check(json!({ "a": "abcd" })).contains("at most 3 characters"));
    assert!(check(json!({ "b": [] })).contains("at least 1 choices"));
    for odd in [json!(1.5), json!(-1), json!(-1.0), json!(1e300), json!("1")] {
        let form = json!({ "a": { "type": "string", "minLength": odd } });
        let said = complaint(form, json!([]), &json!({ "a": "ab" }));
        assert!(said.contains("a whole number"), "{odd}: {said}");
    }
    let params = |max_tokens: Value| {
        let params = json!({ "messages": [], "maxTokens": max_tokens });
        serde_json::from_str::<CreateMessageRequestParams>(&params.to_string())
    };
    assert_eq!(params(json!(100.0)).unwrap().max_tokens, 100);
    for odd in [json!(0.5), json!(-1), json!(null), json!("1")] {
        assert!(params(odd).is_err());
    }
}
