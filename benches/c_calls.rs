//! The Rust counterpart of `c_client.c`: makes equal calls through Rust.
//!
//! `c_calls COUNT SERVER ARGS` prints the median time of COUNT calls, in nanoseconds.
#![allow(clippy::print_stdout, reason = "a program of its own")]
#![allow(missing_docs, reason = "a program of its own")]

use std::error::Error;
use std::time::Instant;

use mcplink::client::Client;
use mcplink::transport::Child;
use serde_json::value::RawValue;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let Some(count) = words.next().and_then(|count| count.parse::<usize>().ok()) else {
        // Started by `cargo bench`, without arguments. Use the script benches/c_calls instead.
        return Ok(());
    };
    let program = words
        .next()
        .ok_or("behind the count comes the command of the server")?;
    let client = Client::connect(Child::new(program).args(words).inherit_env())?;
    let arguments = RawValue::from_string(format!("{{\"message\":\"{}\"}}", "x".repeat(100)))?;
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let start = Instant::now();
        let result = client.call_tool("echo", &arguments)?;
        let text = result.content.first().and_then(|block| block.as_text());
        assert_eq!(text.map(str::len), Some(100));
        drop(result);
        times.push(start.elapsed().as_nanos());
    }
    times.sort_unstable();
    println!("{}", times[count / 2]);
    Ok(())
}
