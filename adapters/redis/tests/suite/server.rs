//! Redis servers of tests, each with a folder of its own.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use redis::{Client, Connection, FromRedisValue};

use crate::DEADLINE;

/// A Redis server, which ends with the value.
pub(crate) struct RedisServer {
    folder: PathBuf,
    /// The arguments of the program after those of every server.
    arguments: Vec<String>,
    process: Option<Child>,
}

impl RedisServer {
    /// Starts a server on a Unix socket.
    pub(crate) fn start() -> Self {
        let mut server = Self::stopped(&[]);
        server.restart();
        server
    }

    /// Returns a server that does not run yet.
    pub(crate) fn stopped(arguments: &[&str]) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("mcplink-redis-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir(&folder).unwrap();
        Self {
            folder,
            arguments: arguments.iter().map(ToString::to_string).collect(),
            process: None,
        }
    }

    /// Starts a server on a TCP port of the system's choice, with arguments that may depend on it.
    /// Returns the port, too.
    pub(crate) fn on_tcp(arguments: impl Fn(&Self) -> Vec<String>) -> (Self, u16) {
        Self::on_port("--port", arguments)
    }

    /// The same over TLS.
    #[cfg(feature = "tls")]
    pub(crate) fn on_tls(arguments: impl Fn(&Self) -> Vec<String>) -> (Self, u16) {
        Self::on_port("--tls-port", arguments)
    }

    fn on_port(option: &str, arguments: impl Fn(&Self) -> Vec<String>) -> (Self, u16) {
        let mut server = Self::stopped(&[]);
        for _ in 0..20 {
            // Another program may take the port in the meantime.
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let port = listener.local_addr().unwrap().port();
            drop(listener);
            server.arguments = arguments(&server);
            let words = [option, &port.to_string(), "--bind", "127.0.0.1"];
            server.arguments.extend(words.map(str::to_owned));
            if server.run() {
                return (server, port);
            }
        }
        panic!("no port is free");
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(crate) fn url(&self) -> String {
        format!("unix://{}", self.path("socket").display())
    }

    /// Starts the server, without any data.
    pub(crate) fn restart(&mut self) {
        assert!(self.run(), "redis-server did not start");
    }

    /// Starts the server. Returns whether it is ready.
    fn run(&mut self) -> bool {
        self.kill();
        let mut command = Command::new("redis-server");
        // A file with settings stands before all options.
        let (files, options): (Vec<&String>, Vec<_>) = self
            .arguments
            .iter()
            .partition(|argument| argument.ends_with(".conf"));
        let mut process = command
            .args(files)
            .args(["--port", "0", "--save", "", "--appendonly", "no"])
            .args(["--daemonize", "no", "--loglevel", "notice"])
            .arg("--dir")
            .arg(&self.folder)
            .arg("--unixsocket")
            .arg(self.path("socket"))
            .args(options)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the tests need the program redis-server (package redis-server)");
        let output = BufReader::new(process.stdout.take().unwrap());
        self.process = Some(process);
        let (ready, is_ready) = mpsc::channel();
        // Reads to the end, so that the server never waits for a full pipe.
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if line.contains("ready to accept connections at") || line.contains("+monitor") {
                    _ = ready.send(());
                }
            }
        });
        is_ready.recv_timeout(DEADLINE).is_ok()
    }

    /// Ends the server as a crash would.
    pub(crate) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    /// Sends a signal, for example "STOP": the server then accepts connections, and is silent.
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.process.as_ref().unwrap().id().to_string();
        let status = Command::new("kill").args(["-s", name, &pid]).status();
        assert!(status.unwrap().success());
    }

    /// Returns a connection of the test itself.
    pub(crate) fn admin(&self) -> Admin {
        let client = Client::open(self.url()).unwrap();
        let connection = client.get_connection_with_timeout(DEADLINE).unwrap();
        connection.set_read_timeout(Some(DEADLINE)).unwrap();
        Admin(connection)
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.kill();
        _ = fs::remove_dir_all(&self.folder);
    }
}

pub(crate) struct Admin(Connection);

impl Admin {
    /// Runs a command, whose words are separated by spaces.
    pub(crate) fn run<T: FromRedisValue>(&mut self, command: &str) -> T {
        let mut words = command.split(' ');
        let mut of = redis::cmd(words.next().unwrap());
        words.for_each(|word| _ = of.arg(word));
        of.query(&mut self.0).unwrap()
    }
}
