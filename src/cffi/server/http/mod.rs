//! HTTP servers: options, listeners, and an endpoint to mount in a web server of the host.

mod channel;
mod event_store;
mod exchange;
mod head;
mod listener;
mod mount;
mod options;
mod request;
mod resource_server;
mod token;
