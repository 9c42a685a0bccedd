//! A login that ends at a small server on this machine, and the program that opens the browser.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
#[cfg(unix)]
use std::os::unix::fs::PermissionsExt as _;
use std::sync::mpsc;

use mcplink::ErrorKind;
use mcplink::auth::{Browser, Login, OAuth};

use crate::authworld::{World, follow, get};
use crate::common::LONG;
#[cfg(unix)]
use crate::common::wait_until;
use crate::stub::call;

/// Shows the test where to log in.
fn shown() -> (Browser, mpsc::Receiver<String>) {
    let (show, urls) = mpsc::channel();
    let browser = Browser::new()
        .without_opening()
        .show(move |login: &Login<'_>| show.send(login.url().to_owned()).unwrap());
    (browser, urls)
}

/// Place and target of a URL on this machine.
fn apart(url: &str) -> (&str, &str) {
    let rest = url.strip_prefix("http://").unwrap();
    rest.split_at(rest.find('/').unwrap())
}

// M-ASEC-C-08, M-ASEC-C-19
#[test]
fn the_answer_to_a_login_is_taken_and_nothing_else() {
    let world = World::start();
    let (browser, urls) = shown();
    let oauth = OAuth::login(browser).build().unwrap();
    std::thread::scope(|scope| {
        let connecting = scope.spawn(|| world.connect_to(&oauth));
        let answer = follow(&urls.recv_timeout(LONG).unwrap());
        let (place, target) = apart(&answer);
        // Browsers open connections on suspicion, and ask for icons; other pages may try their luck.
        let mut idle = TcpStream::connect(place).unwrap();
        let mut half = TcpStream::connect(place).unwrap();
        half.write_all(b"GET /callback").unwrap();
        for (stray, status) in [
            ("/favicon.ico", "404"),
            ("/callback", "400"),
            ("/callback?code=x&state=y", "400"),
            ("/callbacks?code=x", "404"),
        ] {
            let answer = get(place, stray);
            assert!(
                answer.starts_with(&format!("HTTP/1.1 {status}")),
                "{answer}"
            );
        }
        let page = get(place, target);
        assert!(page.starts_with("HTTP/1.1 200"), "{page}");
        assert!(page.contains("You can close this page"), "{page}");
        assert!(page.contains("cache-control: no-store"), "{page}");
        assert!(!page.contains("s3cret"), "{page}");
        let client = connecting.join().unwrap().unwrap();
        assert_eq!(call(&client, "x").unwrap(), "done");
        // It has gone.
        assert_eq!(idle.read(&mut [0; 8]).unwrap_or(0), 0);
        assert!(TcpStream::connect(place).is_err());
    });
}

#[test]
fn what_else_a_browser_sends_along_does_not_keep_the_answer_from_being_read() {
    let world = World::start();
    let (browser, urls) = shown();
    let oauth = OAuth::login(browser).build().unwrap();
    std::thread::scope(|scope| {
        let connecting = scope.spawn(|| world.connect_to(&oauth));
        let answer = follow(&urls.recv_timeout(LONG).unwrap());
        let (place, target) = apart(&answer);
        // A cookie of another application on this machine: ports don't keep them apart, and not all are UTF-8.
        let head = format!("GET {target} HTTP/1.1\r\nhost: {place}\r\ncookie: name=");
        let mut stream = TcpStream::connect(place).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(b"J\xf6rg\r\n\r\n").unwrap();
        let mut page = String::new();
        let read = stream.read_to_string(&mut page);
        if read.is_err() {
            // So that the login ends in any case.
            get(place, target);
        }
        connecting.join().unwrap().unwrap();
        assert!(page.starts_with("HTTP/1.1 200"), "{page} {read:?}");
    });
}

#[test]
fn a_refusal_is_shown_as_one() {
    let world = World::with(|rules| {
        rules.redirect = vec![("error", Some("access_denied".to_owned())), ("code", None)];
    });
    let (browser, urls) = shown();
    let oauth = OAuth::login(browser.page("<p>mine</p>")).build().unwrap();
    std::thread::scope(|scope| {
        let connecting = scope.spawn(|| world.connect_to(&oauth));
        let answer = follow(&urls.recv_timeout(LONG).unwrap());
        let (place, target) = apart(&answer);
        let page = get(place, target);
        assert!(
            page.contains("Not allowed") && !page.contains("mine"),
            "{page}"
        );
        let error = connecting.join().unwrap().unwrap_err();
        assert!(error.to_string().contains("access_denied"), "{error}");
    });
}

// M-ASEC-C-17
#[test]
fn the_next_login_comes_back_to_where_the_client_is_registered() {
    let world = World::start();
    let (browser, urls) = shown();
    let oauth = OAuth::login(browser.page("<p>mine</p>")).build().unwrap();
    let log_in = |again: bool| {
        std::thread::scope(|scope| {
            let connecting = scope.spawn(|| world.connect_to(&oauth));
            let answer = follow(&urls.recv_timeout(LONG).unwrap());
            let (place, target) = apart(&answer);
            assert!(get(place, target).contains("mine"), "{again}");
            connecting.join().unwrap().unwrap();
            place.to_owned()
        })
    };
    let first = log_in(false);
    world.revoke_all();
    assert_eq!(log_in(true), first);
    assert_eq!(world.record().registrations.len(), 1);
    // Where that place is taken, another one is registered.
    world.revoke_all();
    let _taken = std::net::TcpListener::bind(&first).unwrap();
    assert_ne!(log_in(true), first);
    assert_eq!(world.record().registrations.len(), 2);
}

// M-ASEC-C-08, M-ASEC-C-17: some authorization servers take only one spelling.
#[test]
fn host_port_and_path_of_where_a_login_leads_can_be_chosen() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    for (host, port, path) in [
        ("localhost", 0, "/callback"),
        ("127.0.0.1", 0, "/oauth/done"),
        ("localhost", port, "/"),
        ("localhost", 0, ""),
    ] {
        let world = World::start();
        let (browser, urls) = shown();
        let browser = browser.port(port).host(host).unwrap().path(path).unwrap();
        let oauth = OAuth::login(browser).build().unwrap();
        let log_in = || {
            std::thread::scope(|scope| {
                let connecting = scope.spawn(|| world.connect_to(&oauth));
                let answer = follow(&urls.recv_timeout(LONG).unwrap());
                let (address, query) = answer.split_once('?').unwrap();
                let rest = address.strip_prefix(&format!("http://{host}:")).unwrap();
                let own = rest.strip_suffix(path).unwrap().parse::<u16>().unwrap();
                assert!(port == 0 || own == port, "{address}");
                // Another path is none of it; browsers put a slash where there is no path.
                let target = if path.is_empty() { "/" } else { path };
                let place = format!("127.0.0.1:{own}");
                let page = get(&place, &format!("/other?{query}"));
                assert!(page.starts_with("HTTP/1.1 404"), "{page}");
                // Those that look the name up may come to either kind of address.
                if let ("localhost", Ok(_)) = (host, TcpStream::connect(("::1", own))) {
                    get(&format!("[::1]:{own}"), &format!("{target}?{query}"));
                } else {
                    get(&place, &format!("{target}?{query}"));
                }
                connecting.join().unwrap().unwrap();
                assert!(TcpStream::connect(&*place).is_err());
                own
            })
        };
        let first = log_in();
        let asked = world.record().registrations[0]["redirect_uris"].clone();
        assert_eq!(
            asked,
            serde_json::json!([format!("http://{host}:{first}{path}")])
        );
        // The next one comes back to where the client is registered.
        world.revoke_all();
        assert_eq!(log_in(), first);
        assert_eq!(world.record().registrations.len(), 1);
    }
    for host in ["0.0.0.0", "example.com", "LOCALHOST", ""] {
        let error = Browser::new().host(host).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    }
    for path in ["callback", "/x?y", "/x#y", "/x y"] {
        let error = Browser::new().path(path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    }
}

// The port at one kind of address is of no use where another program has it at the other.
#[test]
fn a_name_needs_its_port_at_both_kinds_of_addresses() {
    let Ok(taken) = std::net::TcpListener::bind("[::1]:0") else {
        return;
    };
    let port = taken.local_addr().unwrap().port();
    let world = World::start();
    let (browser, _urls) = shown();
    let browser = browser.port(port).host("localhost").unwrap();
    let error = world.connect(OAuth::login(browser)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    assert!(error.to_string().contains("localhost"), "{error}");
}

// M-SEC-C-26, M-SEC-C-27, M-SEC-C-28, L-SEC-C-09, L-SEC-C-10, L-SEC-C-11
#[cfg(unix)] // The program is a script.
#[test]
fn no_shell_reads_the_url() {
    let world = World::start();
    let odd = "/authorize?x=$(touch%20y)&z=`id`;'|a".replace('`', "%60");
    let endpoint = format!("{}{odd}", world.issuer());
    world.set(|rules| {
        rules.metadata = serde_json::json!({ "authorization_endpoint": endpoint });
    });
    let folder = std::env::temp_dir().join(format!("mcplink-opener-{}", std::process::id()));
    _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir(&folder).unwrap();
    let (program, seen) = (folder.join("open it"), folder.join("seen"));
    let script = format!(
        "#!/bin/sh\nfor one in \"$@\"; do printf '%s\\n' \"$one\"; done > '{0}.new'\nmv '{0}.new' '{0}'\n",
        seen.display()
    );
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let (show, urls) = mpsc::channel();
    let browser = Browser::new()
        .program(program.display().to_string())
        .show(move |login: &Login<'_>| show.send(login.url().to_owned()).unwrap());
    let oauth = OAuth::login(browser).login_timeout(LONG).build().unwrap();
    std::thread::scope(|scope| {
        let connecting = scope.spawn(|| world.connect_to(&oauth));
        let url = urls.recv_timeout(LONG).unwrap();
        wait_until("the program was run", || seen.exists());
        let arguments = std::fs::read_to_string(&seen).unwrap();
        assert_eq!(arguments, format!("{url}\n"), "one argument, as it is");
        assert!(url.contains("$(touch%20y)&z="), "{url}");
        let answer = follow(&url);
        let (place, target) = apart(&answer);
        get(place, target);
        connecting.join().unwrap().unwrap();
    });
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_browser_that_can_not_be_opened_is_an_error_unless_the_host_shows_the_way() {
    let world = World::start();
    let browser = Browser::new().program("/nowhere/no-browser");
    let error = world.connect(OAuth::login(browser)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    assert!(error.to_string().contains("Browser::show"), "{error}");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let browser = Browser::new().without_opening().port(port);
    let error = world.connect(OAuth::login(browser)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
}

/// Where the system says what a process has open, and what time it takes.
#[cfg(target_os = "linux")]
mod few {
    use std::fs::File;
    use std::io::Seek as _;
    use std::process::Command;
    use std::time::Duration;

    use super::*;

    /// How much of a processor's time this process has had, by the file `/proc/self/stat`, which is open: ticks of a hundredth of a second.
    fn ticks(stat: &mut File) -> u64 {
        let mut text = String::new();
        stat.rewind().unwrap();
        stat.read_to_string(&mut text).unwrap();
        // Behind the name, which may have blanks in it.
        let fields: Vec<&str> = text
            .rsplit_once(')')
            .unwrap()
            .1
            .split_whitespace()
            .collect();
        fields[11..13]
            .iter()
            .map(|field| field.parse::<u64>().unwrap())
            .sum()
    }

    #[test]
    #[ignore = "uses up the descriptors of its process: run by the test below"]
    fn with_few_descriptors() {
        let world = World::start();
        let (browser, urls) = shown();
        let oauth = OAuth::login(browser).login_timeout(LONG).build().unwrap();
        let mut stat = File::open("/proc/self/stat").unwrap();
        std::thread::scope(|scope| {
            let connecting = scope.spawn(|| world.connect_to(&oauth));
            let answer = follow(&urls.recv_timeout(LONG).unwrap());
            let (place, target) = apart(&answer);
            let mut idle = TcpStream::connect(place).unwrap();
            idle.write_all(b"GET /callback").unwrap();
            let use_up = |hoard: &mut Vec<File>| {
                hoard.extend(std::iter::from_fn(|| File::open("/dev/null").ok()));
            };
            // Connections of what came before are still being closed.
            let (mut count, mut same) = (0, 0);
            wait_until("nothing is opened or closed any more", || {
                let now = std::fs::read_dir("/proc/self/fd").unwrap().count();
                same = if now == count { same + 1 } else { 0 };
                count = now;
                same > 50
            });
            let mut hoard = Vec::new();
            use_up(&mut hoard);
            // With the last one somebody comes, who takes the place of the one who says nothing.
            hoard.pop();
            let mut stream = TcpStream::connect(place).unwrap();
            stream.set_read_timeout(Some(LONG)).unwrap();
            write!(stream, "GET /favicon.ico HTTP/1.1\r\n\r\n").unwrap();
            let mut page = String::new();
            stream.read_to_string(&mut page).unwrap();
            assert!(page.starts_with("HTTP/1.1 404"), "{page}");
            // There is nobody left who could give way.
            drop(stream);
            use_up(&mut hoard);
            hoard.pop();
            let mut stream = TcpStream::connect(place).unwrap();
            stream.set_read_timeout(Some(LONG)).unwrap();
            write!(stream, "GET {target} HTTP/1.1\r\n\r\n").unwrap();
            let before = ticks(&mut stat);
            std::thread::sleep(Duration::from_secs(1));
            let spent = ticks(&mut stat) - before;
            drop(hoard);
            stream.read_to_string(&mut page).unwrap();
            assert!(page.contains("You can close this page"), "{page}");
            connecting.join().unwrap().unwrap();
            assert!(
                spent < 20,
                "{spent} of 100 ticks were spent on asking in vain"
            );
        });
    }

    #[test]
    fn a_login_waits_quietly_for_descriptors() {
        let ended = Command::new("/bin/sh")
            .args(["-c", "ulimit -n 128 && exec \"$@\"", "sh"])
            .arg(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "auth_browser::few::with_few_descriptors",
                "--ignored",
            ])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ended.stdout);
        assert!(
            ended.status.success() && said.contains("1 passed"),
            "{said}"
        );
    }
}
