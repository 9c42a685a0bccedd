//! Logins as a client that was registered by hand.

use std::fs;
use std::io::Read as _;
use std::net::TcpListener;
use std::process::Stdio;

use crate::authworld::{Pairs, World, basic, follow, get};
use crate::failures::{Folder, run};
use crate::runs::{LinesInTime, program};

const SECRET: &str = "s3cret-of-the-client";

/// Runs `tools` with a login, with these options, and returns what was asked of the authorization
/// server for the code.
fn log_in(world: &World, folder: &Folder, options: &[&str], secret: Option<&str>) -> Pairs {
    let mut command = program();
    command
        .args(["tools", "--login", "--tokens", "tokens"])
        .args(options)
        .args(["--url", &world.mcp.url()])
        .current_dir(&folder.0)
        // No browser is to come up.
        .env("PATH", "/nowhere")
        .env_remove("MCPLINK_CLIENT_SECRET")
        .envs(secret.map(|secret| ("MCPLINK_CLIENT_SECRET", secret)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = LinesInTime::of(child.stderr.take().unwrap());
    let mut shown = String::new();
    let place = lines.find_map(|line| {
        let line = line.unwrap();
        shown.push_str(&line);
        line.split_once("open ").map(|(_, place)| place.to_owned())
    });
    let place = place.unwrap_or_else(|| panic!("no page to open: {shown}"));
    let answer = follow(&place);
    let (place, target) = answer["http://".len()..].split_once('/').unwrap();
    get(place, &format!("/{target}"));
    shown.extend(lines.map(Result::unwrap));
    let mut out = String::new();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_to_string(&mut out).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{out}{shown}");
    assert!(!shown.contains(SECRET), "{shown}");
    world.record().authorizations[0].clone()
}

#[test]
fn a_registered_client_logs_in_with_its_secret() {
    let file = format!("{SECRET}\n");
    let in_file = ["--client-secret", "@secret"];
    let in_words = ["--client-secret", SECRET];
    for (options, variable) in [
        (&in_words[..], None),
        (&in_file, None),
        // The command line counts more.
        (&in_file, Some("another")),
        (&[], Some(SECRET)),
    ] {
        let world = World::start();
        let folder = Folder::new("client-secret");
        fs::write(folder.0.join("secret"), &file).unwrap();
        let options = [&["--client-id", "me"], options].concat();
        let asked = log_in(&world, &folder, &options, variable);
        assert_eq!(asked["client_id"], "me");
        assert!(world.record().registrations.is_empty());
        let mut sent = world.issuer.seen_by("POST");
        let proof = basic(&sent.remove(0));
        assert_eq!(proof, Some(("me".to_owned(), SECRET.to_owned())));
    }
}

#[test]
fn a_registered_client_needs_no_secret() {
    for variable in [None, Some("")] {
        let world = World::start();
        let folder = Folder::new("client-id");
        let asked = log_in(&world, &folder, &["--client-id", "me"], variable);
        assert_eq!(asked["client_id"], "me");
        let record = world.record();
        assert_eq!(record.tokens[0]["client_id"], "me");
        assert!(record.registrations.is_empty());
        assert_eq!(basic(&world.issuer.seen_by("POST")[0]), None);
    }
}

#[test]
fn scopes_and_the_port_of_a_login_can_be_chosen() {
    let world = World::with(|rules| {
        rules.resource = serde_json::json!({ "scopes_supported": ["all", "read", "write"] });
    });
    let folder = Folder::new("scopes");
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port().to_string();
    drop(free);
    let options = [
        "--scope",
        "read",
        "--scope=write list",
        "--callback-port",
        &port,
    ];
    let asked = log_in(&world, &folder, &options, None);
    assert_eq!(asked["scope"], "list read write");
    let redirect = format!("http://127.0.0.1:{port}/callback");
    assert_eq!(asked["redirect_uri"], redirect);
    // The environment says nothing of a client that the program registers itself.
    assert_eq!(world.record().registrations.len(), 1);
}

#[test]
fn options_of_logins_are_checked() {
    let folder = Folder::new("login-options");
    for (options, said) in [
        ("--client-id me", "--client-id is for logins"),
        ("--client-secret x", "--client-secret is for logins"),
        ("--scope x", "--scope is for logins"),
        ("--callback-port 8080", "--callback-port is for logins"),
        (
            "--login --client-secret x",
            "--client-secret is for a client with --client-id",
        ),
        ("--login --callback-port 0", "'0' for '--callback-port"),
        (
            "--login --callback-port 65536",
            "'65536' for '--callback-port",
        ),
        (
            "--login --client-id me --client-secret @none",
            "--client-secret @none: No such file",
        ),
    ] {
        let line = format!("tools --tokens tokens --url http://127.0.0.1:1 {options}");
        let (code, _, shown) = run(&folder, &line);
        assert_eq!(code, 2, "{options}: {shown}");
        assert!(shown.contains(said), "{options}: {shown}");
    }
}
