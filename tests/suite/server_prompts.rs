//! Prompts, given to clients of every revision.

use std::collections::HashMap;

use mcplink::schema::{
    ContentBlock, GetPromptResult, ImageContent, Prompt, PromptArgument, PromptMessage,
    ProtocolVersion, ResourceContents, Role,
};
use mcplink::server::{Context, HandlerError, Server};
use mcplink::{ErrorKind, RpcError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::raw::Raw;

#[derive(Deserialize, JsonSchema)]
struct Review {
    code: String,
    style: Option<String>,
}

fn server() -> Server {
    let review = Prompt::new("review")
        .title("Review")
        .description("Reviews code")
        .argument(PromptArgument::new("code").title("Code").required(true))
        .argument(PromptArgument::new("style"));
    Server::builder("prompts", "1")
        .prompt(review, |args: Review, _: &Context| {
            format!("{} ({})", args.code, args.style.as_deref().unwrap_or("any"))
        })
        .prompt(Prompt::new("talk"), |(): (), _: &Context| {
            vec![
                PromptMessage::new(Role::User, ContentBlock::text("hello")),
                PromptMessage::new(Role::Assistant, ImageContent::new(b"i", "image/png")),
            ]
        })
        .prompt(
            Prompt::new("any"),
            |args: HashMap<String, String>, _: &Context| {
                GetPromptResult::user(args.len().to_string()).description("counts")
            },
        )
        .prompt(Prompt::new("broken"), |(): (), _: &Context| {
            Ok("x".parse::<i32>()?.to_string())
        })
        .prompt(
            Prompt::new("refused"),
            |(): (), _: &Context| -> Result<String, HandlerError> {
                Err(RpcError::invalid_params("not today"))?
            },
        )
        .build()
        .unwrap()
}

// M-PROM-S-01, M-PROM-S-02, M-CACHE-S-01, L-PROM-S-01
#[test]
fn prompts_are_listed_in_every_revision() {
    let server = server();
    for &revision in ProtocolVersion::ALL {
        let mut client = Raw::open(&server, revision);
        assert!(client.capabilities()["prompts"].is_object());
        let list = client.result("prompts/list", json!({}));
        let prompts = list["prompts"].as_array().unwrap();
        assert_eq!(prompts.len(), 5);
        assert_eq!(prompts[0]["arguments"][0]["required"], true);
        assert_eq!(list.get("ttlMs").is_some(), revision.is_modern());
    }
}

// M-PROM-S-05
#[test]
fn prompts_become_messages_in_every_revision() {
    let server = server();
    for &revision in ProtocolVersion::ALL {
        let mut client = Raw::open(&server, revision);
        let arguments = json!({ "code": "1+1", "style": "terse" });
        let given = client.result(
            "prompts/get",
            json!({ "name": "review", "arguments": arguments }),
        );
        assert_eq!(given["description"], "Reviews code");
        let message =
            json!({ "role": "user", "content": { "type": "text", "text": "1+1 (terse)" } });
        assert_eq!(given["messages"], json!([message]));
        let talk = client.result("prompts/get", json!({ "name": "talk" }));
        assert_eq!(talk["messages"][1]["content"]["mimeType"], "image/png");
        let any = client.result(
            "prompts/get",
            json!({ "name": "any", "arguments": { "a": "", "b": "" } }),
        );
        assert_eq!(any["messages"][0]["content"]["text"], "2");
        assert_eq!(any["description"], "counts");
    }
}

// M-PROM-S-08, M-PROM-S-09, M-PROM-S-10, M-PROM-S-11, M-PROM-B-15, L-PROM-S-06, L-PROM-S-07
#[test]
fn what_is_wrong_with_a_request_is_told_before_the_handler_runs() {
    let server = server();
    for &revision in ProtocolVersion::ALL {
        let mut client = Raw::open(&server, revision);
        for (name, arguments, code, word) in [
            ("other", json!({}), -32602, "other"),
            ("review", json!({}), -32602, "'code'"),
            (
                "review",
                json!({ "code": "1", "lang": "c" }),
                -32602,
                "'lang'",
            ),
            ("review", json!({ "code": 1 }), -32602, "/arguments/code: "),
            ("talk", json!({ "a": "1" }), -32602, "arguments"),
            ("broken", json!({}), -32603, "internal error"),
            ("refused", json!({}), -32602, "not today"),
        ] {
            let error = client.error(
                "prompts/get",
                json!({ "name": name, "arguments": arguments }),
            );
            assert_eq!(error["code"], code, "{name}: {error}");
            assert!(
                error["message"].as_str().unwrap().contains(word),
                "{name}: {error}"
            );
        }
        assert_eq!(client.code("prompts/get", json!({})), -32602);
    }
}

// M-PROM-B-14, L-PROM-B-10: the handler is where inputs are judged, and they get there as texts of declared names only
#[test]
fn a_handler_judges_what_goes_into_its_prompt() {
    #[derive(Deserialize, JsonSchema)]
    struct File {
        path: String,
    }
    let prompt = Prompt::new("explain").argument(PromptArgument::new("path").required(true));
    let server = Server::builder("prompts", "1")
        .prompt(
            prompt,
            |file: File, _: &Context| -> Result<String, HandlerError> {
                if file.path.contains("..") {
                    Err(RpcError::invalid_params("path has to stay in the project"))?;
                }
                Ok(format!("Please explain {}", file.path))
            },
        )
        .build()
        .unwrap();
    for &revision in ProtocolVersion::ALL {
        let mut client = Raw::open(&server, revision);
        let mut ask = |path: serde_json::Value| {
            let params = json!({ "name": "explain", "arguments": { "path": path } });
            client.error("prompts/get", params)["message"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        assert_eq!(ask(json!("../secret")), "path has to stay in the project");
        for no_text in [json!(["a"]), json!({ "a": "b" }), json!(7), json!(true)] {
            assert!(
                ask(no_text.clone()).contains("prompts/get: /arguments/path"),
                "{no_text}"
            );
        }
        let good = json!({ "name": "explain", "arguments": { "path": "main.rs" } });
        let given = client.result("prompts/get", good);
        let text = &given["messages"][0]["content"]["text"];
        assert_eq!(text, "Please explain main.rs");
    }
}

// M-PROM-S-02, M-PROM-B-13
#[test]
fn prompts_come_and_go_while_serving() {
    let server = Server::builder("s", "1").build().unwrap();
    let mut client = Raw::open(&server, ProtocolVersion::LATEST);
    assert_eq!(client.code("prompts/list", json!({})), -32601);
    assert_eq!(client.code("prompts/get", json!({ "name": "p" })), -32601);
    server
        .add_prompt(Prompt::new("p"), |(): (), _: &Context| "p")
        .unwrap();
    client.result("prompts/get", json!({ "name": "p" }));
    assert!(server.remove_prompt("p"));
    assert_eq!(
        client.result("prompts/list", json!({}))["prompts"],
        json!([])
    );
    assert_eq!(client.code("prompts/get", json!({ "name": "p" })), -32602);
}

fn giving(content: impl Into<ContentBlock>) -> Server {
    let message = PromptMessage::new(Role::User, content);
    Server::builder("s", "1")
        .prompt(Prompt::new("p"), move |(): (), _: &Context| message.clone())
        .build()
        .unwrap()
}

// M-PROM-S-05, M-PROM-S-06, L-PROM-S-03, L-PROM-S-04
#[test]
fn images_and_sound_are_sent_in_base64_with_a_mime_type() {
    let bytes: Vec<u8> = (0..=255).collect();
    let as_image = |mime_type: &str| ContentBlock::image(&bytes, mime_type);
    let as_audio = |mime_type: &str| ContentBlock::audio(&bytes, mime_type);
    for &revision in ProtocolVersion::ALL {
        for (content, kind) in [
            (as_image("image/png"), "image"),
            (as_audio("audio/wav; r=8"), "audio"),
        ] {
            if kind == "audio" && revision == ProtocolVersion::V2024_11_05 {
                continue;
            }
            let mut client = Raw::open(&giving(content), revision);
            let given = client.result("prompts/get", json!({ "name": "p" }));
            let content = &given["messages"][0]["content"];
            assert_eq!(content["type"], kind);
            let read: ContentBlock = serde_json::from_value(content.clone()).unwrap();
            let (data, mime_type) = match &read {
                ContentBlock::Image(image) => (image.bytes(), &image.mime_type),
                ContentBlock::Audio(audio) => (audio.bytes(), &audio.mime_type),
                other => panic!("{other:?}"),
            };
            assert_eq!(data.unwrap(), bytes);
            assert!(mime_type.contains('/'));
        }
        for mime_type in ["", "png", "/png", "image/", "image png/x", "image/p ng"] {
            for content in [as_image(mime_type), as_audio(mime_type)] {
                let mut client = Raw::open(&giving(content), revision);
                let error = client.error("prompts/get", json!({ "name": "p" }));
                assert_eq!(error["code"], -32603, "{mime_type}");
            }
        }
    }
}

// M-PROM-S-07, L-PROM-S-05
#[test]
fn an_embedded_resource_has_an_address_a_mime_type_and_text_or_bytes() {
    let text = |uri: &str| ResourceContents::text(uri, "t");
    for &revision in ProtocolVersion::ALL {
        for (contents, mime_type, member, expected) in [
            (text("a:b"), "text/plain", "text", "t"),
            (text("a:b").mime_type("text/x"), "text/x", "text", "t"),
            (
                ResourceContents::blob("a:b", b"bytes"),
                "application/octet-stream",
                "blob",
                "Ynl0ZXM=",
            ),
        ] {
            let mut client = Raw::open(&giving(ContentBlock::embedded(contents)), revision);
            let given = client.result("prompts/get", json!({ "name": "p" }));
            let resource = json!({ "uri": "a:b", "mimeType": mime_type, member: expected });
            assert_eq!(given["messages"][0]["content"]["resource"], resource);
        }
        for contents in [text(""), text("no address"), text("a:b").mime_type("text")] {
            let mut client = Raw::open(&giving(ContentBlock::embedded(contents)), revision);
            let error = client.error("prompts/get", json!({ "name": "p" }));
            assert_eq!(
                error,
                json!({ "code": -32603, "message": "internal error" })
            );
        }
    }
}

// M-PROM-S-03
#[test]
fn the_list_of_prompts_is_the_same_for_everybody_and_after_every_call() {
    let server = server();
    for &revision in ProtocolVersion::ALL {
        let mut client = Raw::open(&server, revision);
        let before = client.result("prompts/list", json!({}));
        for name in ["talk", "any", "broken", "refused", "unknown"] {
            client.request(json!(name), "prompts/get", json!({ "name": name }));
            client.answer_to(&json!(name), None);
        }
        assert_eq!(client.result("prompts/list", json!({})), before);
        let mut other = Raw::open(&server, revision);
        assert_eq!(other.result("prompts/list", json!({})), before);
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Tone {
    Friendly,
    Strict,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Depth {
    /// The lines that changed
    Lines,
    /// The whole file
    File,
}

#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
struct Remarks(u8);

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Wanted {
    /// The code to review.
    code: String,
    most_remarks: Remarks,
    tone: Tone,
    depth: Option<Depth>,
    ratio: Option<f64>,
    #[serde(default)]
    all: bool,
}

fn typed() -> Server {
    Server::builder("prompts", "1")
        .prompt(Prompt::new("typed"), |wanted: Wanted, _: &Context| {
            let Remarks(most) = wanted.most_remarks;
            let Wanted { code, tone, .. } = wanted;
            let others = (wanted.depth, wanted.ratio, wanted.all);
            format!("{code:?}, {most} {tone:?} remarks, {others:?}")
        })
        .build()
        .unwrap()
}

// M-PROM-S-01, L-PROM-S-01
#[test]
fn arguments_are_derived_from_a_struct() {
    for &revision in ProtocolVersion::ALL {
        let mut client = Raw::open(&typed(), revision);
        let list = client.result("prompts/list", json!({}));
        let arguments = json!([
            { "name": "code", "description": "The code to review.", "required": true },
            { "name": "mostRemarks", "required": true },
            { "name": "tone", "required": true },
            { "name": "all" },
            { "name": "depth" },
            { "name": "ratio" },
        ]);
        assert_eq!(list["prompts"][0]["arguments"], arguments, "{list}");
    }
}

#[test]
fn arguments_are_parsed_from_texts() {
    let mut client = Raw::open(&typed(), ProtocolVersion::LATEST);
    for (arguments, text) in [
        (
            json!({ "code": "1", "mostRemarks": "3", "tone": "strict" }),
            "\"1\", 3 Strict remarks, (None, None, false)",
        ),
        (
            json!({
                "code": "", "mostRemarks": "0", "tone": "friendly",
                "depth": "file", "ratio": "0.5", "all": "true",
            }),
            "\"\", 0 Friendly remarks, (Some(File), Some(0.5), true)",
        ),
    ] {
        let params = json!({ "name": "typed", "arguments": arguments });
        let given = client.result("prompts/get", params);
        assert_eq!(given["messages"][0]["content"]["text"], text);
    }
    for (name, value, text) in [
        (
            "mostRemarks",
            "many",
            "invalid value: string \"many\", expected u8",
        ),
        (
            "mostRemarks",
            "300",
            "invalid value: string \"300\", expected u8",
        ),
        (
            "ratio",
            "NaN",
            "invalid value: string \"NaN\", expected f64",
        ),
        (
            "all",
            "yes",
            "invalid value: string \"yes\", expected a boolean",
        ),
        (
            "tone",
            "rude",
            "unknown variant `rude`, expected `friendly` or `strict`",
        ),
    ] {
        let mut arguments = json!({ "code": "1", "mostRemarks": "3", "tone": "strict" });
        arguments[name] = value.into();
        let params = json!({ "name": "typed", "arguments": arguments });
        let error = client.error("prompts/get", params);
        assert_eq!(error["code"], -32602);
        assert_eq!(error["message"], format!("arguments: /{name}: {text}"));
    }
}

#[test]
fn a_struct_that_no_texts_can_make_is_refused_when_the_server_is_built() {
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "no handler runs")]
    struct Tagged {
        name: String,
        tags: Vec<String>,
    }
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "no handler runs")]
    enum Either {
        Left { name: String },
        Right(u8),
    }
    let builder = || Server::builder("s", "1");
    let style = || Prompt::new("p").argument(PromptArgument::new("style"));
    let code = || PromptArgument::new("code");
    for (builder, why) in [
        (
            builder().prompt(Prompt::new("p"), |_: Tagged, _: &Context| ""),
            "the argument 'tags' can't be parsed from a text: use a String, a number, a bool, \
             an enum without data, or an Option of these",
        ),
        (
            builder().prompt(Prompt::new("p"), |_: Either, _: &Context| ""),
            "'Either' is not a struct with fields",
        ),
        (
            builder().prompt(Prompt::new("p"), |_: String, _: &Context| ""),
            "'string' is not a struct with fields",
        ),
        (
            builder().prompt(style(), |_: Review, _: &Context| ""),
            "its handler takes the argument 'code', which the prompt does not declare",
        ),
        (
            builder().prompt(style().argument(code()), |_: Review, _: &Context| ""),
            "its handler takes the argument 'code', which the prompt does not declare as required",
        ),
    ] {
        let error = builder.build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert_eq!(error.to_string(), format!("prompt 'p': {why}"));
    }
    // These arguments are not derived.
    let given = Prompt::new("p").argument(PromptArgument::new("name"));
    let server = builder().prompt_with_arguments(given, |_: Tagged, _: &Context| "");
    let server = server.build().unwrap();
    let later = |_: Tagged, _: &Context| "";
    assert!(server.add_prompt(Prompt::new("later"), later).is_err());
    let review = |_: Review, _: &Context| "";
    server.add_prompt(Prompt::new("later"), review).unwrap();
}
