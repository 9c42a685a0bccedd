//! Opens connections to Redis, also by the address that sentinels tell.

use std::time::Duration;

use redis::{
    Client, Connection, ConnectionAddr, ConnectionInfo, ErrorKind, RedisError, RedisResult,
};

/// The settings of [`Redis`](crate::Redis).
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) server: ConnectionInfo,
    pub(crate) sentinels: Vec<ConnectionInfo>,
    pub(crate) prefix: String,
    pub(crate) timeout: Duration,
    pub(crate) max_connections: usize,
}

impl Settings {
    /// Opens a connection. May take longer than the timeout: for example, the system resolves the
    /// name of the host.
    pub(crate) fn connect(&self) -> RedisResult<Connection> {
        let mut server = self.server.clone();
        if !self.sentinels.is_empty() {
            server = server.set_addr(self.master()?);
        }
        Client::open(server)?.get_connection_with_timeout(self.timeout)
    }

    /// Returns the address of the master from the first sentinel that knows it.
    fn master(&self) -> RedisResult<ConnectionAddr> {
        let name = match self.server.addr() {
            ConnectionAddr::Tcp(name, _) => name,
            ConnectionAddr::TcpTls { host, .. } => host,
            _ => {
                let text = "with sentinels, the host is the name of the master";
                return Err((ErrorKind::InvalidClientConfig, text).into());
            }
        };
        let unknown = || (ErrorKind::MasterNameNotFoundBySentinel, "unknown").into();
        let mut failure: RedisError = unknown();
        for sentinel in &self.sentinels {
            match self.asked(sentinel, name) {
                Ok(Some((host, port))) => {
                    let mut master = self.server.addr().clone();
                    match &mut master {
                        ConnectionAddr::Tcp(of, at) => (*of, *at) = (host, port),
                        ConnectionAddr::TcpTls {
                            host: of, port: at, ..
                        } => (*of, *at) = (host, port),
                        _ => {}
                    }
                    return Ok(master);
                }
                Ok(None) => failure = unknown(),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    /// Asks a sentinel for the address of a master. Returns `None` if it does not know the master.
    fn asked(&self, sentinel: &ConnectionInfo, name: &str) -> RedisResult<Option<(String, u16)>> {
        let client = Client::open(sentinel.clone())?;
        let mut connection = client.get_connection_with_timeout(self.timeout)?;
        connection.set_read_timeout(Some(self.timeout))?;
        connection.set_write_timeout(Some(self.timeout))?;
        redis::cmd("SENTINEL")
            .arg("GET-MASTER-ADDR-BY-NAME")
            .arg(name)
            .query(&mut connection)
    }
}
