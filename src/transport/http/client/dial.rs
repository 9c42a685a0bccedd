//! Opens connections: resolves names, and connects directly or through a proxy.

use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, OnceLock, Weak};
use std::time;

use ureq::config::Config;
use ureq::http::Uri;
use ureq::http::uri::Scheme;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
#[cfg(feature = "tls")]
use ureq::unversioned::transport::RustlsConnector;
use ureq::unversioned::transport::time::{Duration, Instant};
use ureq::unversioned::transport::{
    ConnectProxyConnector, ConnectionDetails, Connector, Either, NextTimeout, ShutdownHandle,
    SocksConnector, Transport,
};
use ureq::{Error, ProxyProtocol, Timeout};

use super::tcp::{Socket, TcpTransport};

/// A callback that gets the shutdown handle of a connection. The callback is called before any
/// bytes are sent on the connection.
pub(super) type RegisterShutdown =
    dyn Fn(Weak<dyn ShutdownHandle>) -> Result<(), Error> + Send + Sync;

/// The name resolver and the connectors.
pub(super) struct Dialing<R = DefaultResolver> {
    config: Config,
    /// The path of the server's Unix socket, if it has one. Then no name is resolved.
    unix_socket: Option<Arc<Path>>,
    names: R,
    socks: SocksConnector,
    connect_proxy: ConnectProxyConnector,
    /// All connections share the connector, so that they can resume TLS sessions.
    #[cfg(feature = "tls")]
    tls: RustlsConnector,
}

/// A new connection to a server.
pub(super) struct Dialed {
    pub(super) transport: Box<dyn Transport>,
    /// The socket of the connection. `None` behind a SOCKS proxy, because `ureq` connects to those.
    pub(super) socket: Option<Socket>,
}

impl Dialing {
    pub(super) fn new(config: Config, unix_socket: Option<Arc<Path>>) -> Self {
        Self {
            unix_socket,
            ..Self::with_names(config, DefaultResolver::default())
        }
    }
}

impl<R: Resolver> Dialing<R> {
    fn with_names(config: Config, names: R) -> Self {
        Self {
            config,
            unix_socket: None,
            names,
            socks: SocksConnector::default(),
            connect_proxy: ConnectProxyConnector::default(),
            #[cfg(feature = "tls")]
            tls: RustlsConnector::default(),
        }
    }

    /// Whether the connections lead through a SOCKS proxy.
    pub(super) fn uses_socks(&self) -> bool {
        let proxy = self.config.proxy();
        proxy.is_some_and(|proxy| {
            !matches!(proxy.protocol(), ProxyProtocol::Http | ProxyProtocol::Https)
        })
    }

    /// Connects to the server of a URL, through a proxy if one is set. Blocks for at most `within`.
    pub(super) fn dial(
        self: &Arc<Self>,
        uri: &Uri,
        within: time::Duration,
        hold: Arc<RegisterShutdown>,
    ) -> Result<Dialed, Error> {
        let socket = Arc::new(OnceLock::new());
        // Connects to a proxy, if there is one.
        let (dialing, of_proxy) = (Arc::clone(self), Arc::clone(&socket));
        let run_connector =
            Arc::new(move |details: &ConnectionDetails<'_>| dialing.connect(details, &of_proxy));
        let details = ConnectionDetails {
            uri,
            addrs: self.names.empty(),
            config: &self.config,
            request_level: false,
            resolver: &self.names,
            now: Instant::now(),
            timeout: NextTimeout {
                after: within.into(),
                reason: Timeout::Connect,
                ..NextTimeout::default()
            },
            current_time: Arc::new(Instant::now),
            run_connector,
            register_shutdown: hold,
        };
        let transport = self.connect(&details, &socket)?;
        if uri.scheme() == Some(&Scheme::HTTPS) && !transport.is_tls() {
            return Err(Error::TlsRequired);
        }
        let socket = socket.get().cloned();
        Ok(Dialed { transport, socket })
    }

    /// Connects to a server or proxy, and stores the socket of the connection.
    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        socket: &OnceLock<Socket>,
    ) -> Result<Box<dyn Transport>, Error> {
        if let Some(path) = &self.unix_socket {
            let transport = TcpTransport::open_unix(path, details)?;
            socket.get_or_init(|| transport.socket.clone());
            return Ok(Box::new(transport));
        }
        // A proxy mostly resolves the server's name itself. The connection to the proxy is made by
        // this function, too, and needs the address of the proxy.
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
            resolver: details.resolver,
            current_time: details.current_time.clone(),
            run_connector: details.run_connector.clone(),
            register_shutdown: details.register_shutdown.clone(),
        };
        let proxied = self.socks.connect(&details, None::<()>)?;
        let transport: Box<dyn Transport> = match self.connect_proxy.connect(&details, proxied)? {
            Some(Either::B(proxied)) => proxied,
            Some(proxied) => Box::new(proxied),
            None => {
                let transport = TcpTransport::open(&details)?;
                socket.get_or_init(|| transport.socket.clone());
                Box::new(transport)
            }
        };
        #[cfg(feature = "tls")]
        let transport = match self.tls.connect(&details, Some(transport))? {
            Some(Either::A(transport)) => transport,
            Some(Either::B(transport)) => Box::new(transport),
            None => return Err(Error::ConnectionFailed),
        };
        Ok(transport)
    }

    fn look_up(&self, details: &ConnectionDetails<'_>) -> Result<ResolvedSocketAddrs, Error> {
        let host = details.uri.host().unwrap_or_default();
        let is_name = host.trim_matches(['[', ']']).parse::<IpAddr>().is_err();
        // An IP address needs no resolution, and so no thread.
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
    use std::net::{SocketAddr, TcpListener};
    use std::sync::atomic::{AtomicUsize, Ordering};

    use ureq::Agent;

    use super::*;

    /// A resolver that returns one address for all names. It counts its calls, and checks
    /// whether a timeout is set as expected.
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

    /// Connects to a listener through a URL whose host name resolves to the listener.
    fn check(url: impl FnOnce(SocketAddr) -> String, hurries: bool) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        let asked = Arc::new(AtomicUsize::new(0));
        let names = One {
            address,
            asked: Arc::clone(&asked),
            hurries,
        };
        let config = Agent::config_builder().proxy(None).build();
        let dialing = Arc::new(Dialing::with_names(config, names));
        let uri = url(address).parse().expect("a URL");
        let held = Arc::new(AtomicUsize::new(0));
        let holds = Arc::clone(&held);
        let hold = Arc::new(move |_| {
            holds.fetch_add(1, Ordering::SeqCst);
            Ok(())
        });
        let connection = dialing.dial(&uri, time::Duration::from_secs(30), hold);
        assert!(connection.expect("connected").transport.is_open());
        listener.accept().expect("somebody came");
        let times = |count: &AtomicUsize| count.load(Ordering::SeqCst);
        assert_eq!((times(&asked), times(&held)), (1, 1));
    }

    #[test]
    fn a_name_is_looked_up_in_time() {
        check(|_| "http://some.where.test/".to_owned(), true);
    }

    #[test]
    fn looking_up_an_address_takes_no_time() {
        check(|address| format!("http://{address}/"), false);
    }
}
