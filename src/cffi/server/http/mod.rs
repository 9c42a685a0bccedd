//! Servers over HTTP: settings, listeners, and the endpoint in a web server of the host.

mod channel;
mod exchange;
mod head;
mod listener;
mod mount;
mod options;
mod request;
mod resource_server;
