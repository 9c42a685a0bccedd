//! Proxies, and what they are asked for.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;

use crate::common::LONG;

/// Carries what a client of a proxy and its server have to say, until the server has said all.
pub(crate) fn carry(client: &TcpStream, target: SocketAddr) {
    let server = TcpStream::connect(target).unwrap();
    let (up, down) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    std::thread::spawn(move || std::io::copy(&mut &up, &mut &down));
    std::io::copy(&mut &server, &mut &*client).unwrap();
    client.shutdown(Shutdown::Both).unwrap();
}

/// The host and the port that a SOCKS proxy is asked for.
fn socks_request(client: &TcpStream) -> (String, u16) {
    let read = |len: usize| {
        let mut bytes = vec![0; len];
        (&mut &*client).read_exact(&mut bytes).unwrap();
        bytes
    };
    let write = |bytes: &[u8]| (&mut &*client).write_all(bytes).unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let address = |bytes: Vec<u8>| Ipv4Addr::from(<[u8; 4]>::try_from(bytes).unwrap()).to_string();
    let port = || u16::from_be_bytes(read(2).try_into().unwrap());
    let line = || -> Vec<u8> {
        let bytes = std::iter::repeat_with(|| read(1)[0]);
        bytes.take_while(|byte| *byte != 0).collect()
    };
    match read(1)[0] {
        4 => {
            assert_eq!(read(1), [1], "connect");
            let (port, address, _user) = (port(), address(read(4)), line());
            let host = match address.as_str() {
                "0.0.0.1" => text(line()),
                _ => address,
            };
            write(&[0, 0x5a, 0, 0, 0, 0, 0, 0]);
            (host, port)
        }
        version => {
            assert_eq!(version, 5);
            let methods = read(1)[0];
            assert!(read(methods.into()).contains(&0));
            write(&[5, 0]);
            assert_eq!(read(3), [5, 1, 0], "connect");
            let host = match read(1)[0] {
                1 => address(read(4)),
                _ => text(read(read(1)[0].into())),
            };
            let port = port();
            write(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
            (host, port)
        }
    }
}

/// A SOCKS proxy: its URL, and which host and port each connection was for. It connects to where `target` says.
pub(crate) fn socks_proxy(
    scheme: &str,
    target: impl Fn(&str, u16) -> SocketAddr + Send + 'static,
) -> (String, mpsc::Receiver<(String, u16)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("{scheme}://{}", listener.local_addr().unwrap());
    let (asked, was_asked) = mpsc::channel();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let client = client.unwrap();
            client.set_read_timeout(Some(LONG)).unwrap();
            let (host, port) = socks_request(&client);
            let target = target(&host, port);
            if asked.send((host, port)).is_err() {
                return;
            }
            std::thread::spawn(move || carry(&client, target));
        }
    });
    (url, was_asked)
}
