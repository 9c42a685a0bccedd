//! HTTP clients of a host: one over the crate `ureq` that writes down what it sends, and one made from a function.

use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use mcplink::transport::http::{HttpClient, HttpClientRequest, HttpClientResponse};
use mcplink::{Error, ErrorKind, Result};
use ureq::config::Config;
use ureq::http::{Request, Uri};
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};

/// Sends requests, and resolves names by a table. It has no TLS: a request for `https` is sent without.
#[derive(Clone, Default)]
pub(crate) struct HostClient(Arc<Inner>);

#[derive(Default)]
struct Inner {
    names: Vec<(&'static str, IpAddr, SocketAddr)>,
    sent: Mutex<Vec<String>>,
    cancelled: Arc<AtomicUsize>,
}

impl HostClient {
    /// Knows names: the address for which the policy is asked, and where the request goes in truth.
    pub(crate) fn knowing(names: &[(&'static str, &str, SocketAddr)]) -> Self {
        let names = names.iter();
        let names = names.map(|(name, address, target)| (*name, address.parse().unwrap(), *target));
        Self(Arc::new(Inner {
            names: names.collect(),
            ..Inner::default()
        }))
    }

    /// Method and URL of each request so far.
    pub(crate) fn sent(&self) -> Vec<String> {
        self.0.sent.lock().unwrap().clone()
    }

    /// How many requests were cancelled.
    pub(crate) fn cancelled(&self) -> usize {
        self.0.cancelled.load(Ordering::SeqCst)
    }
}

/// Checks what a request shows of itself.
fn check_shown(request: &HttpClientRequest<'_>) {
    let shown = format!("{request:?}");
    let values = request.headers().map(|(_, value)| value);
    for secret in values.filter(|value| value.contains("s3cret")) {
        assert!(!shown.contains(secret), "{shown}");
    }
    assert!(shown.contains(request.method()), "{shown}");
    for (name, value) in request.headers() {
        assert!(shown.contains(name), "{shown}");
        assert!(name != "content-length" && name != "host", "{name}");
        assert!(name != "accept-encoding" || value == "identity", "{value}");
    }
}

impl HttpClient for HostClient {
    fn send(&self, request: &HttpClientRequest<'_>) -> Result<HttpClientResponse> {
        check_shown(request);
        let line = format!("{} {}", request.method(), request.url());
        self.0.sent.lock().unwrap().push(line);
        let config = Config::builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .build();
        let resolver = Names {
            known: Arc::clone(&self.0),
            filter: Box::new(request.address_filter()),
        };
        // One agent for each request, because `shutdown` ends all requests of an agent.
        let agent = ureq::Agent::with_parts(config, DefaultConnector::default(), resolver);
        let (running, cancelled) = (agent.clone(), Arc::clone(&self.0.cancelled));
        request.on_cancel(move || {
            cancelled.fetch_add(1, Ordering::SeqCst);
            running.shutdown();
        });
        let url = request.url().replacen("https://", "http://", 1);
        let mut builder = Request::builder().method(request.method()).uri(url);
        for (name, value) in request.headers() {
            builder = builder.header(name, value);
        }
        let sent = match request.body() {
            [] => agent.run(builder.body(()).unwrap()),
            body => agent.run(builder.body(body).unwrap()),
        };
        let sent = sent.map_err(|error| Error::new(ErrorKind::Io, error.to_string()));
        let (head, body) = sent?.into_parts();
        let mut response = HttpClientResponse::new(head.status.as_u16(), body.into_reader());
        for (name, value) in &head.headers {
            response = response.header(name.as_str(), value)?;
        }
        Ok(response)
    }
}

/// The names that a client knows; addresses are themselves.
struct Names {
    known: Arc<Inner>,
    filter: Box<dyn Fn(IpAddr) -> bool + Send + Sync>,
}

impl std::fmt::Debug for Names {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Names")
    }
}

impl Resolver for Names {
    fn resolve(
        &self,
        uri: &Uri,
        _: &Config,
        _: NextTimeout,
    ) -> std::result::Result<ResolvedSocketAddrs, ureq::Error> {
        let host = uri.host().unwrap();
        let mut known = self.known.names.iter().filter(|(name, ..)| *name == host);
        let (asked, target) = match known.next() {
            Some((_, address, target)) => (*address, *target),
            None => {
                let address: IpAddr = host.parse().expect("a name that the client knows");
                (address, SocketAddr::new(address, uri.port_u16().unwrap()))
            }
        };
        if !(self.filter)(asked) {
            return Err(ureq::Error::HostNotFound);
        }
        let mut found = self.empty();
        found.push(target);
        Ok(found)
    }
}

struct ByFunction<F>(F);

impl<F> HttpClient for ByFunction<F>
where
    F: Fn(&HttpClientRequest<'_>) -> Result<HttpClientResponse> + Send + Sync,
{
    fn send(&self, request: &HttpClientRequest<'_>) -> Result<HttpClientResponse> {
        (self.0)(request)
    }
}

/// A client that is a function.
pub(crate) fn by_function(
    send: impl Fn(&HttpClientRequest<'_>) -> Result<HttpClientResponse> + Send + Sync + 'static,
) -> impl HttpClient + 'static {
    ByFunction(send)
}

struct ReadWith<F>(F);

impl<F: FnMut(&mut [u8]) -> std::io::Result<usize>> Read for ReadWith<F> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        (self.0)(into)
    }
}

/// A body that is a function.
pub(crate) fn read_with(
    read: impl FnMut(&mut [u8]) -> std::io::Result<usize> + Send + 'static,
) -> impl Read + Send + 'static {
    ReadWith(read)
}
