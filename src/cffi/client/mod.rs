//! Clients for C.
//!
//! ```text
//!  shared   the state of a client, and its callbacks
//!  options  the options of a client;      endpoint  the server to connect to
//!  opening  connect, close and free;      info      information about the server
//!  events   events outside of calls;      questions requests from the server
//!  calling  how a call runs;  call_options  options of a call;  call  started calls
//!  config   the configuration files of hosts; instances  servers that other programs publish
//!  calls, lists, tasks, notifications  the calls and notifications themselves
//!  memory   what clients share: caches and eras;      group   several servers used as one
//! ```
//!
//! **Threads.** A client has the threads that a client in Rust has. A client for C also has a
//! dispatcher thread, unless the client has a pump. Each started call in progress uses one more
//! thread, and so does closing the connection. Freeing the client joins all these threads.

#[macro_use]
mod call_table;

mod call;
mod call_options;
mod calling;
mod calls;
mod config;
mod endpoint;
mod endpoint_options;
mod events;
mod group;
mod info;
mod instances;
mod limits;
mod lists;
mod memory;
mod notifications;
mod opening;
mod options;
mod questions;
mod shared;
mod tasks;
