//! Names are looked up when a connection is made.
//!
//! The agent asks its resolver for each request, also for one that goes by a connection that is kept. For a name that would be a question to the
//! system each time, and a thread, since only so it can be given up. So the resolver knows nothing, and what connects asks.

use std::net::IpAddr;
use std::sync::Arc;

use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::time::{Duration, Instant};
use ureq::unversioned::transport::{
    ConnectionDetails, Connector, DefaultConnector, NextTimeout, Transport,
};
use ureq::{Error, Timeout};

/// The agent's resolver.
#[derive(Debug)]
pub(super) struct Later;

impl Resolver for Later {
    fn resolve(&self, _: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        Ok(self.empty())
    }
}

/// Looks up whom to connect to, and connects. The first one of a chain.
#[derive(Debug)]
pub(super) struct Dialing<R = DefaultResolver> {
    names: R,
    /// For all lanes of a client: they share what they know for encryption, such as a session to go on with.
    connector: Arc<DefaultConnector>,
}

impl Dialing {
    pub(super) fn new(connector: &Arc<DefaultConnector>) -> Self {
        Self {
            names: DefaultResolver::default(),
            connector: Arc::clone(connector),
        }
    }
}

impl<R: Resolver> Connector for Dialing<R> {
    type Out = Box<dyn Transport>;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<()>,
    ) -> Result<Option<Self::Out>, Error> {
        // Behind a proxy names are its business, mostly. The way to it is made by the same chain, once its own name was looked up.
        let is_ours = details
            .config
            .proxy()
            .is_none_or(|proxy| proxy.is_no_proxy(details.uri) || proxy.resolve_target());
        let addrs = if is_ours && details.addrs.is_empty() {
            self.look_up(details)?
        } else {
            details.addrs.clone()
        };
        let now = (details.current_time)();
        let mut timeout = details.timeout;
        if let (Duration::Exact(span), Instant::Exact(since), Instant::Exact(now)) =
            (timeout.after, details.now, now)
        {
            let left = span.saturating_sub(now.saturating_duration_since(since));
            if left.is_zero() {
                return Err(Error::Timeout(Timeout::Connect));
            }
            timeout.after = left.into();
        }
        let details = ConnectionDetails {
            addrs,
            now,
            timeout,
            uri: details.uri,
            config: details.config,
            request_level: details.request_level,
            resolver: &self.names,
            current_time: details.current_time.clone(),
            run_connector: details.run_connector.clone(),
            register_shutdown: details.register_shutdown.clone(),
        };
        self.connector.connect(&details, chained)
    }
}

impl<R: Resolver> Dialing<R> {
    fn look_up(&self, details: &ConnectionDetails<'_>) -> Result<ResolvedSocketAddrs, Error> {
        let host = details.uri.host().unwrap_or_default();
        let is_name = host.trim_matches(['[', ']']).parse::<IpAddr>().is_err();
        // For an address nothing is looked up, and it needs no thread.
        let after = if is_name {
            details.timeout.after
        } else {
            Duration::NotHappening
        };
        let timeout = NextTimeout {
            after,
            reason: Timeout::Resolve,
            ..details.timeout
        };
        self.names.resolve(details.uri, details.config, timeout)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpListener};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time;

    use ureq::Agent;

    use super::*;

    /// Knows one address for all names, and when it was asked whether it had to hurry.
    #[derive(Debug)]
    struct One {
        address: SocketAddr,
        asked: Arc<AtomicUsize>,
        hurries: bool,
    }

    impl Resolver for One {
        fn resolve(
            &self,
            _: &Uri,
            _: &Config,
            timeout: NextTimeout,
        ) -> Result<ResolvedSocketAddrs, Error> {
            self.asked.fetch_add(1, Ordering::SeqCst);
            assert_eq!(!timeout.after.is_not_happening(), self.hurries);
            let mut addresses = self.empty();
            addresses.push(self.address);
            Ok(addresses)
        }
    }

    /// An agent whose names lead to a server that answers `requests` of them on one connection, and how often it asks for one.
    fn agent(requests: usize, hurries: bool) -> (Agent, Arc<AtomicUsize>, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            let mut buffer = [0; 4096];
            for _ in 0..requests {
                assert_ne!(stream.read(&mut buffer).expect("a request"), 0);
                let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
                stream.write_all(answer).expect("it listens");
            }
        });
        let asked = Arc::new(AtomicUsize::new(0));
        let names = One {
            address,
            asked: Arc::clone(&asked),
            hurries,
        };
        let dialing = Dialing {
            names,
            connector: Arc::default(),
        };
        let config = Agent::config_builder()
            .proxy(None)
            .timeout_connect(Some(time::Duration::from_secs(30)))
            .build();
        (Agent::with_parts(config, dialing, Later), asked, address)
    }

    #[test]
    fn a_name_is_looked_up_once_for_a_connection() {
        let (agent, asked, _) = agent(3, true);
        for _ in 0..3 {
            let answer = agent.get("http://some.where.test/").call();
            let text = answer.expect("answered").body_mut().read_to_string();
            assert_eq!(text.expect("a text"), "ok");
        }
        assert_eq!(asked.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn looking_up_an_address_takes_no_time() {
        let (agent, asked, address) = agent(1, false);
        agent
            .get(format!("http://{address}/"))
            .call()
            .expect("answered");
        assert_eq!(asked.load(Ordering::SeqCst), 1);
    }
}
