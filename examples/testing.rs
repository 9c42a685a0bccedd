//! How to test a server of your own: client and server in one process, connected in memory.
//!
//! ```text
//! cargo test --example testing
//! ```
//!
//! `server` makes the server, for `main` and for the tests. The tests start no process and open no
//! port. The crate `mcplink-testing` adds recorded connections, and delayed or lost messages.

use mcplink::server::{Context, HandlerError, Server};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Division {
    dividend: i64,
    divisor: i64,
}

fn divide(args: Division, _: &Context) -> Result<String, HandlerError> {
    let quotient = args.dividend.checked_div(args.divisor);
    let quotient = quotient.ok_or_else(|| HandlerError::new("divisor: expected another number"))?;
    Ok(quotient.to_string())
}

fn clear(_: (), context: &Context) -> Result<&'static str, HandlerError> {
    match context.confirm("sure", "Delete all results?")? {
        true => Ok("deleted"),
        false => Ok("kept"),
    }
}

fn server() -> mcplink::Result<Server> {
    Server::builder("calculator", "1.0")
        .tool("divide", "Divides two integers", divide)
        .tool("clear", "Deletes all results", clear)
        .build()
}

fn main() -> mcplink::Result<()> {
    server()?.serve_stdio()
}

#[cfg(test)]
mod tests {
    use mcplink::client::{Client, ClientBuilder};
    use mcplink::schema::{ElicitResult, ProtocolVersion};
    use mcplink::server::Connection;
    use mcplink::transport::memory;
    use serde_json::json;

    use super::server;

    /// Connects a client to a server of its own. The server serves until the connection is dropped.
    fn connect(client: ClientBuilder) -> mcplink::Result<(Client, Connection)> {
        let (for_the_client, for_the_server) = memory::pair();
        let connection = server()?.open(for_the_server)?;
        Ok((client.connect(for_the_client)?, connection))
    }

    #[test]
    fn divide_works_for_clients_of_every_revision() -> mcplink::Result<()> {
        for revision in ProtocolVersion::ALL {
            let client = Client::builder("test", "1.0").revisions(&[*revision]);
            let (client, _connection) = connect(client)?;
            let result = client.call_tool("divide", &json!({ "dividend": 7, "divisor": 2 }))?;
            assert_eq!(result.content[0].as_text(), Some("3"));
        }
        Ok(())
    }

    #[test]
    fn divide_refuses_zero_with_a_text_for_the_model() -> mcplink::Result<()> {
        let (client, _connection) = connect(Client::builder("test", "1.0"))?;
        let result = client.call_tool("divide", &json!({ "dividend": 7, "divisor": 0 }))?;
        assert!(result.is_error());
        let text = result.content[0].as_text();
        assert_eq!(text, Some("divisor: expected another number"));
        Ok(())
    }

    #[test]
    fn clear_keeps_the_results_when_the_user_declines() -> mcplink::Result<()> {
        // The test answers in place of the user.
        let client = Client::builder("test", "1.0").on_elicit(|question, _| {
            assert_eq!(question.message, "Delete all results?");
            ElicitResult::decline()
        });
        let (client, _connection) = connect(client)?;
        let result = client.call_tool("clear", &json!({}))?;
        assert_eq!(result.content[0].as_text(), Some("kept"));
        Ok(())
    }
}
