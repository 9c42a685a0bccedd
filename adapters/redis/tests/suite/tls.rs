//! A Redis that is reached over TLS. Needs the program `openssl`.

use std::env;
use std::process::{Command, Stdio};
use std::time::Duration;

use mcplink::server::StateStore as _;
use mcplink_redis::{Redis, RedisStateStore};

use crate::server::RedisServer;
use crate::{DEADLINE, patient};

const URL: &str = "MCPLINK_REDIS_TEST_TLS_URL";

/// Makes a certificate for `localhost` that signs itself, and may sign no other.
const CERTIFICATE: &str = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
    -subj /CN=localhost -addext subjectAltName=DNS:localhost \
    -addext basicConstraints=critical,CA:FALSE -keyout key.pem -out cert.pem";

fn claim(url: &str) -> mcplink::Result<bool> {
    RedisStateStore::new(&patient(url)).claim("a", Duration::from_secs(60))
}

/// The other process, which trusts the certificate.
#[test]
fn the_other_process() {
    if let Ok(url) = env::var(URL) {
        assert!(claim(&url).unwrap());
        let wrong = url.replace("localhost", "127.0.0.1");
        let error = claim(&wrong).unwrap_err();
        assert!(error.to_string().contains("certificate"), "{error}");
    }
}

#[test]
fn redis_is_verified_with_the_certificates_of_the_system() {
    let (server, port) = RedisServer::on_tls(|server| {
        let made = Command::new("openssl")
            .args(CERTIFICATE.split_whitespace())
            .current_dir(server.path(""))
            .stderr(Stdio::null())
            .status();
        assert!(made.expect("the test needs the program openssl").success());
        let words = "--tls-cert-file cert.pem --tls-key-file key.pem --tls-auth-clients no";
        words.split(' ').map(str::to_owned).collect()
    });
    let url = format!("rediss://localhost:{port}");
    let error = claim(&url).unwrap_err();
    assert!(error.to_string().contains("certificate"), "{error}");
    let status = Command::new(env::current_exe().unwrap())
        .args(["--exact", "tls::the_other_process"])
        .env("SSL_CERT_FILE", server.path("cert.pem"))
        .env(URL, url)
        .stdout(Stdio::null())
        .status();
    assert!(status.unwrap().success());
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let redis = Redis::new(&format!("rediss://localhost:{port}")).unwrap();
    let store = RedisStateStore::new(&redis.timeout(Duration::from_millis(50)));
    store.claim("a", DEADLINE).unwrap_err();
}
