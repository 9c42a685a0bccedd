//! Resources and templates.

use mcplink::schema::{CompletionReference, Resource, ResourceTemplate};
use mcplink::server::{CompletionRequest, Context, ResourceRead, ServerBuilder};
use serde_json::json;

use crate::tools::PIXEL;

const ITEM: &str = "fixture://item/{id}";

fn item(read: &ResourceRead, _: &Context) -> Option<String> {
    let id = read.variable("id")?;
    Some(format!("item {id}"))
}

fn complete_id(typed: &CompletionRequest, _: &Context) -> Vec<&'static str> {
    let known = ["7", "42", "700"].into_iter();
    known.filter(|id| id.starts_with(typed.value())).collect()
}

fn data(read: &ResourceRead, _: &Context) -> Option<String> {
    let id = read.variable("id")?;
    let data = json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
    Some(data.to_string())
}

fn text(uri: &str, name: &str) -> Resource {
    Resource::new(uri, name).mime_type("text/plain")
}

/// Adds the resources and templates. The first resource must be text.
pub(crate) fn add(server: ServerBuilder) -> ServerBuilder {
    server
        .resource(
            text("test://static-text", "static-text"),
            |_, _| "This is the content of the static text resource.",
        )
        .resource(
            Resource::new("test://static-binary", "static-binary").mime_type("image/png"),
            |_, _| PIXEL.to_vec(),
        )
        .resource(
            text("test://watched-resource", "watched-resource"),
            |_, _| "Subscribe to me, and call touch.",
        )
        .resource(text("fixture://hello", "hello"), |_, _| "hello, resource")
        .resource(
            Resource::new("fixture://blob", "blob").mime_type("application/octet-stream"),
            |_, _| (0..=u8::MAX).collect::<Vec<u8>>(),
        )
        .resource(
            text("fixture://unicode", "unicode"),
            |_, _| "Grüße, 世界 🌍\u{2028} end",
        )
        .template(
            ResourceTemplate::new("test://template/{id}/data", "data")
                .mime_type("application/json"),
            data,
        )
        .template(
            ResourceTemplate::new(ITEM, "item").mime_type("text/plain"),
            item,
        )
        .completer(&CompletionReference::resource(ITEM), "id", complete_id)
}
