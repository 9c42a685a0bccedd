//! Clients over HTTP: bodies, and events of streams.

use mcplink::ErrorKind;
use mcplink::client::CallOptions;
use mcplink::client::Client;
use mcplink::transport::http::Http;
use serde_json::{Value, json};

use crate::web::{Answer, Asked, Web, json_answer, opening};
use crate::{Alone, LONG, as_host};

/// So long a long text is. A buffer of a connection, which has a size of its own, is shorter than what is large.
const LENGTH: usize = 400_000;
const LARGE: usize = 33 << 10;

/// Answers a tool as its name says.
fn answer(_: &str, asked: &Asked) -> Answer {
    if let Some(answer) = opening(&asked.body) {
        return json_answer(answer.to_string());
    }
    let tool = asked.body["params"]["name"].as_str().unwrap_or_default();
    let text = |len: usize| json!([{ "type": "text", "text": "x".repeat(len) }]).to_string();
    let response = |content: &str| {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{{\"resultType\":\"complete\",\
             \"structuredContent\":{{\"error\":1}},\"content\":{content}}}}}",
            asked.body["id"]
        )
    };
    match tool {
        "body" => json_answer(response(&text(LENGTH))),
        "event" => {
            // A long line, many that make a long event, and an end that is short.
            let lines: Vec<String> = (0..40).map(|_| text(5000) + ",\n").collect();
            let parts = format!("[{},\n{}1]", text(LENGTH), lines.concat());
            let event = response(&parts).replace('\n', "\ndata: ");
            let stream = format!(": begins\n\ndata: {event}\n\n");
            (
                200,
                "content-type: text/event-stream\r\n".to_owned(),
                stream,
            )
        }
        _ => json_answer(response(&text(3))),
    }
}

fn call(client: &Client, tool: &str) -> mcplink::Result<usize> {
    let options = CallOptions::new().timeout(LONG);
    let result = client.call_tool_raw(tool, &json!({}), options)?;
    Ok(result.as_str().len())
}

/// Whichever allocation fails, a call has its result or an error that says for what there was no
/// memory; and the next one has its result.
#[test]
fn a_client_without_memory_for_a_response_says_so() {
    let alone = Alone::begin(LARGE);
    let web = Web::start(answer);
    for tool in ["body", "event"] {
        let connect = || Client::connect(Http::new(&web.url()).unwrap()).unwrap();
        alone.fail_each(
            tool,
            || as_host(connect),
            |client| as_host(|| call(client, tool)),
            |client, outcome, has_failed| {
                match outcome {
                    Ok(length) => assert!(length > LENGTH),
                    Err(error) => {
                        assert!(has_failed, "{error}");
                        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
                        assert!(error.was_sent());
                        let text = error.to_string();
                        assert!(
                            text.contains("no memory for") && text.contains("bytes"),
                            "{text}"
                        );
                    }
                }
                let next = as_host(|| call(&client, "short"));
                assert!(next.unwrap() < 1000);
                client.close();
            },
        );
    }
}

/// A blob of which the text has come, but for whose bytes there is no memory.
#[test]
fn a_blob_without_memory_is_an_error() {
    let alone = Alone::begin(LARGE);
    let contents = |data: String| -> mcplink::schema::ImageContent {
        let image: Value = json!({ "type": "image", "mimeType": "image/png", "data": data });
        serde_json::from_value(image).unwrap()
    };
    let plain = contents("QUJD".repeat(LENGTH / 4));
    let lines = contents("QUJD\n".repeat(LENGTH / 4));
    for image in [&plain, &lines] {
        alone.fail_each(
            "an image",
            || (),
            |()| as_host(|| image.bytes().map(|bytes| bytes.len())),
            |(), outcome, has_failed| match outcome {
                Ok(length) => assert!(!has_failed && length == LENGTH / 4 * 3),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
                    assert!(error.to_string().contains("no memory for image"), "{error}");
                }
            },
        );
    }
}
