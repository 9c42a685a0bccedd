//! A complete server: a SQLite database for models, over standard input and output, or over HTTP.
//!
//! ```text
//! cargo run -p sqlite_server -- FILE          # a host starts this command
//! cargo run -p sqlite_server -- FILE 8080     # http://127.0.0.1:8080/mcp
//! ```

use std::error::Error;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcplink::schema::{Prompt, ResourceTemplate, Tool};
use mcplink::server::http::HttpOptions;
use mcplink::server::{Context, HandlerError, Json, Server};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Deserialize, JsonSchema)]
struct Statement {
    /// One SQL statement.
    sql: String,
}

#[derive(Deserialize, JsonSchema)]
struct Explained {
    /// The name of the table.
    table: String,
}

#[derive(Serialize, JsonSchema)]
struct Rows {
    columns: Vec<String>,
    /// At most 1000 rows.
    rows: Vec<Vec<Value>>,
}

struct Database(Mutex<Connection>);

impl Database {
    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn query(&self, asked: Statement, context: &Context) -> Result<Json<Rows>, HandlerError> {
        let database = self.lock();
        let mut statement = database.prepare(&asked.sql)?;
        if !statement.readonly() {
            return Err("this statement changes the database: use execute".into());
        }
        // The cancellation of the call ends a long query.
        let (handle, cancel) = (database.get_interrupt_handle(), context.cancel_token());
        let _interrupt = cancel.on_trigger(move || handle.interrupt());
        let columns: Vec<_> = statement.column_names().map(str::to_owned).collect();
        let cells = |row: &Row<'_>| (0..columns.len()).map(|at| cell(row, at)).collect();
        let rows = statement.query_map([], cells)?.take(1000);
        let rows = rows.collect::<rusqlite::Result<_>>()?;
        Ok(Json(Rows { columns, rows }))
    }

    fn execute(&self, asked: Statement, context: &Context) -> Result<String, HandlerError> {
        if !context.confirm("sure", format!("Change the database? {}", asked.sql))? {
            return Err("the user did not agree".into());
        }
        let changed = self.lock().execute(&asked.sql, [])?;
        Ok(format!("{changed} rows changed"))
    }

    /// Returns the statement that made a table.
    fn schema(&self, table: &str) -> Option<String> {
        let sql = "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?";
        let found = self.lock().query_one(sql, [table], |row| row.get(0));
        found.ok()
    }
}

fn cell(row: &Row<'_>, at: usize) -> rusqlite::Result<Value> {
    Ok(match row.get_ref(at)? {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into(),
        ValueRef::Blob(bytes) => format!("{} bytes", bytes.len()).into(),
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("usage: sqlite_server FILE [PORT]")?;
    let database = Arc::new(Database(Connection::open(file)?.into()));
    // Each handler owns what its closure captures: here a pointer to the one database.
    let (reader, writer, tables) = (database.clone(), database.clone(), database.clone());
    let query = Tool::new("query").description("Reads rows").read_only();
    let execute = Tool::new("execute")
        .description("Changes the database")
        .destructive();
    let table = ResourceTemplate::new("table://{name}", "table");
    let server = Server::builder("sqlite", "1.0")
        .tool_with(query, move |asked, context| reader.query(asked, context))
        .tool_with(execute, move |asked, context| {
            writer.execute(asked, context)
        })
        .template(table, move |read, _| tables.schema(read.variable("name")?))
        .prompt(Prompt::new("explain"), move |asked: Explained, _| {
            let sql = database.schema(&asked.table);
            let sql = sql.ok_or_else(|| HandlerError::from("no such table"))?;
            Ok(format!("Explain this table: {sql}"))
        })
        .build()?;
    match arguments.next() {
        None => server.serve_stdio()?,
        Some(port) => server.listen_http(&port, HttpOptions::new())?.wait(),
    }
    Ok(())
}
