//! What stands in front of servers on the Internet: it speaks TLS with clients, and hands on what is in it.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use mcplink::transport::http::Http;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection};

pub(crate) const ROOT: &[u8] = include_bytes!("../../data/tls/root.pem");
pub(crate) const OTHER_ROOT: &[u8] = include_bytes!("../../data/tls/other-root.pem");
pub(crate) const SERVER: &[u8] = include_bytes!("../../data/tls/server.pem");
pub(crate) const EXPIRED: &[u8] = include_bytes!("../../data/tls/expired.pem");
pub(crate) const ELSEWHERE: &[u8] = include_bytes!("../../data/tls/elsewhere.pem");
pub(crate) const CLIENT: &[u8] = include_bytes!("../../data/tls/client.pem");

/// Ends when it is dropped.
pub(crate) struct Front {
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

struct Shared {
    config: Arc<ServerConfig>,
    target: SocketAddr,
    open: Mutex<Vec<TcpStream>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// So many bytes came for the server.
    handed_on: AtomicUsize,
    over: AtomicBool,
}

fn certificates(pem: &[u8]) -> Vec<CertificateDer<'static>> {
    let all = CertificateDer::pem_slice_iter(pem);
    all.map(Result::unwrap).collect()
}

impl Front {
    /// Shows a certificate.
    pub(crate) fn new(identity: &[u8], target: SocketAddr) -> Self {
        Self::with(identity, target, false)
    }

    /// Wants one of its clients, too.
    pub(crate) fn for_known_clients(identity: &[u8], target: SocketAddr) -> Self {
        Self::with(identity, target, true)
    }

    fn with(identity: &[u8], target: SocketAddr, asks: bool) -> Self {
        let provider = Arc::new(ring::default_provider());
        let config = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .unwrap();
        let config = if asks {
            let mut roots = RootCertStore::empty();
            roots.add(certificates(ROOT).remove(0)).unwrap();
            let known = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            config.with_client_cert_verifier(known.build().unwrap())
        } else {
            config.with_no_client_auth()
        };
        let key = PrivateKeyDer::from_pem_slice(identity).unwrap();
        let config = config
            .with_single_cert(certificates(identity), key)
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            config: Arc::new(config),
            target,
            open: Mutex::default(),
            threads: Mutex::default(),
            handed_on: AtomicUsize::new(0),
            over: AtomicBool::new(false),
        });
        let own = Arc::clone(&shared);
        let acceptor = std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if own.over.load(Ordering::SeqCst) {
                    break;
                }
                own.carry(client);
            }
        });
        Self {
            address,
            shared,
            acceptor: Some(acceptor),
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("https://{}/mcp", self.address)
    }

    /// The way to it of a client that trusts its authority.
    pub(crate) fn http(&self) -> Http {
        Http::new(&self.url()).unwrap().root_certificates(ROOT)
    }

    /// How many bytes came for the server.
    pub(crate) fn handed_on(&self) -> usize {
        self.shared.handed_on.load(Ordering::SeqCst)
    }

    /// How many connections there were.
    pub(crate) fn connections(&self) -> usize {
        self.shared.open.lock().unwrap().len() / 2
    }
}

impl Shared {
    /// Two threads for a connection: each reads from one side.
    fn carry(self: &Arc<Self>, client: TcpStream) {
        let server = TcpStream::connect(self.target).unwrap();
        client.set_nodelay(true).unwrap();
        server.set_nodelay(true).unwrap();
        let both = [&client, &server].map(|stream| stream.try_clone().unwrap());
        self.open.lock().unwrap().extend(both);
        let tls = ServerConnection::new(Arc::clone(&self.config)).unwrap();
        let tls = Arc::new(Mutex::new(tls));
        let inward = {
            let (own, tls) = (Arc::clone(self), Arc::clone(&tls));
            let (client, server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn(move || {
                own.hand_in(&client, &server, &tls);
                _ = server.shutdown(Shutdown::Both);
            })
        };
        let outward = std::thread::spawn(move || {
            hand_out(&client, &server, &tls);
            _ = client.shutdown(Shutdown::Write);
        });
        self.threads.lock().unwrap().extend([inward, outward]);
    }

    /// What the client sends, as far as it is TLS. Reads to its end, so that the client hears why nothing comes of it.
    fn hand_in(
        &self,
        mut client: &TcpStream,
        mut server: &TcpStream,
        tls: &Mutex<ServerConnection>,
    ) {
        let (mut buffer, mut text) = (vec![0; 16 << 10], Vec::new());
        while let Ok(len @ 1..) = client.read(&mut buffer) {
            let mut tls = tls.lock().unwrap();
            let mut piece = &buffer[..len];
            while !piece.is_empty() {
                if tls.read_tls(&mut piece).is_err() {
                    return;
                }
                let is_fine = tls.process_new_packets().is_ok();
                while tls.wants_write() && tls.write_tls(&mut client).is_ok() {}
                if !is_fine {
                    drop(tls);
                    _ = client.shutdown(Shutdown::Write);
                    while let Ok(1..) = client.read(&mut buffer) {}
                    return;
                }
            }
            text.clear();
            // It would block: that is all there is.
            _ = tls.reader().read_to_end(&mut text);
            drop(tls);
            self.handed_on.fetch_add(text.len(), Ordering::SeqCst);
            if server.write_all(&text).is_err() {
                return;
            }
        }
    }
}

fn hand_out(mut client: &TcpStream, mut server: &TcpStream, tls: &Mutex<ServerConnection>) {
    let mut buffer = vec![0; 16 << 10];
    loop {
        let read = server.read(&mut buffer).unwrap_or(0);
        let mut tls = tls.lock().unwrap();
        match read {
            0 => tls.send_close_notify(),
            len => tls.writer().write_all(&buffer[..len]).unwrap(),
        }
        while tls.wants_write() {
            if tls.write_tls(&mut client).is_err() {
                return;
            }
        }
        if read == 0 {
            return;
        }
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        _ = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            _ = acceptor.join();
        }
        for stream in self.shared.open.lock().unwrap().drain(..) {
            _ = stream.shutdown(Shutdown::Both);
        }
        let threads = std::mem::take(&mut *self.shared.threads.lock().unwrap());
        for thread in threads {
            let ended = thread.join();
            if !std::thread::panicking() {
                ended.unwrap();
            }
        }
    }
}
