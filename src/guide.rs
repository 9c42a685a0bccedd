//! Guides: the pages of the folder `docs` for users of the Rust library.
//!
//! | guide | contents |
//! |---|---|
//! | [`tools`] | checks of tools and their results, schemas, tasks |
//! | [`asking`] | questions to the user and the model during a call, roots |
//! | [`attach`] | servers in programs that are already running, such as an editor |
//! | [`publishing_skills`] | folders with instructions for models |
//! | [`hosts`] | duties of a host to its user, access control, several servers, child processes |
//! | [`compatibility`] | malformed input that is accepted, and how to refuse it |
//! | [`http`] | servers over HTTP: listener, own web server, sessions, long calls |
//! | [`http_client`] | clients over HTTP: sessions, redirects, proxies, TLS, your own HTTP client |
//! | [`authorization`] | logins of clients, access tokens and scopes of servers |
//! | [`limits`] | each limit of a server, and how clients share it |
//! | [`performance`] | the cost of a message, measuring and tuning |
//! | [`scale`] | several processes behind one address |
//!
//! This module exists only in the documentation. A program can't use it.
// The pages write links to files as reference links, whose definitions are at the end of the page.
// Markdown takes the first definition of a label. So the definitions above an `include_str!` take
// precedence: they name items, and rustdoc checks them. A test compares the two lists.
//
// A page whose examples need a feature is empty in doc tests without that feature. Its module
// remains, because other pages link to it.

/// [`HandlerError`]: crate::server::HandlerError
/// [scale]: crate::guide::scale
#[cfg_attr(any(not(doctest), feature = "schemars"), doc = include_str!("../docs/tools.md"))]
pub mod tools {}

#[cfg_attr(any(not(doctest), feature = "schemars"), doc = include_str!("../docs/asking.md"))]
pub mod asking {}

/// [c]: https://docs.rs/crate/mcplink/latest/source/docs/c.md
/// [tool]: https://docs.rs/crate/mcplink/latest/source/docs/tool.md#a-program-that-is-running
#[cfg_attr(any(not(doctest), feature = "schemars"), doc = include_str!("../docs/attach.md"))]
pub mod attach {}

/// [mcplink-skills]: https://docs.rs/mcplink-skills
#[doc = include_str!("../docs/publishing-skills.md")]
pub mod publishing_skills {}

/// [`Requester`]: crate::client::Requester
/// [`ServerBuilder::guard`]: crate::server::ServerBuilder::guard
/// [`RateLimit`]: crate::server::RateLimit
/// [`Folder`]: crate::server::Folder
/// [`Icon`]: crate::schema::Icon
/// [tool]: https://docs.rs/crate/mcplink/latest/source/docs/tool.md
/// [http-client]: crate::guide::http_client#an-http-client-of-your-own
#[doc = include_str!("../docs/hosts.md")]
pub mod hosts {}

/// [logins]: crate::guide::authorization#what-is-accepted-beyond-the-letter
/// [http-client]: crate::guide::http_client
#[doc = include_str!("../docs/compatibility.md")]
pub mod compatibility {}

/// [client]: crate#a-client
/// [authorization]: crate::guide::authorization
/// [limits]: crate::guide::limits
/// [scale]: crate::guide::scale
#[cfg_attr(any(not(doctest), feature = "http-server"), doc = include_str!("../docs/http.md"))]
pub mod http {}

/// [authorization]: crate::guide::authorization
/// [c]: https://docs.rs/crate/mcplink/latest/source/docs/c.md
#[cfg_attr(any(not(doctest), feature = "auth"), doc = include_str!("../docs/http-client.md"))]
pub mod http_client {}

/// [c]: https://docs.rs/crate/mcplink/latest/source/docs/c.md
/// [http-client]: crate::guide::http_client#an-http-client-of-your-own
#[cfg_attr(any(not(doctest), feature = "jwt"), doc = include_str!("../docs/authorization.md"))]
pub mod authorization {}

#[cfg_attr(any(not(doctest), feature = "http-server"), doc = include_str!("../docs/limits.md"))]
pub mod limits {}

/// [`Limits::max_workers`]: crate::transport::Limits::max_workers
/// [`ServerBuilder::deferred_tool`]: crate::server::ServerBuilder::deferred_tool
/// [`HttpOptions::max_requests`]: crate::server::http::HttpOptions::max_requests
/// [`HttpLimits::max_body_bytes`]: crate::transport::http::HttpLimits::max_body_bytes
/// [limits]: crate::guide::limits
/// [`ServerBuilder`]: crate::server::ServerBuilder
/// [manifest]: https://docs.rs/crate/mcplink/latest/source/Cargo.toml
#[doc = include_str!("../docs/performance.md")]
pub mod performance {}

/// [redis]: https://docs.rs/mcplink-redis
#[doc = include_str!("../docs/scale.md")]
pub mod scale {}
