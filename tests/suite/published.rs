//! Servers that programs of one user publish, and how others find them and connect.
//!
//! Each test runs in a process of its own, with a folder of its own for published servers.

use std::fs;
#[cfg(unix)]
use std::io::Read as _;
use std::io::{BufRead as _, BufReader, Write as _};
#[cfg(unix)]
use std::os::unix::fs::{PermissionsExt as _, symlink};
#[cfg(unix)]
use std::os::unix::net::{UnixListener, UnixStream};
#[cfg(unix)]
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::process::Command;
use std::process::{Child, Stdio};
use std::sync::{Barrier, mpsc};
use std::thread;
use std::time::{Duration, Instant, UNIX_EPOCH};

use mcplink::client::{CallOptions, Client};
use mcplink::schema::Tool;
use mcplink::server::{Context, Endpoint, Publication, Publish, Server};
use mcplink::transport::local::{self, Instance};
use mcplink::{ErrorKind, Result};
use serde_json::{Value, json};

#[cfg(any(target_os = "linux", windows))]
use crate::common::system::{open_descriptors, threads};
use crate::common::{LONG, helper};

/// The variable that names the folder of the folder of published servers.
const FOLDER: &str = if cfg!(windows) {
    "LOCALAPPDATA"
} else {
    "XDG_RUNTIME_DIR"
};
/// The number of files of one published server.
const FILES: usize = if cfg!(windows) { 2 } else { 3 };

/// Runs a test of this file in a process of its own. Published servers are in a new folder.
fn alone(name: &str) {
    // A folder that other users can reach, and that has a short path.
    let all = match cfg!(unix) {
        true => PathBuf::from("/tmp"),
        false => std::env::temp_dir(),
    };
    let folder = all.join(format!("mcplink-{name}-{}", std::process::id()));
    _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).unwrap();
    let mut command = helper(&format!("published::{name}"));
    let output = command.env(FOLDER, &folder).output().unwrap();
    fs::remove_dir_all(&folder).unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    let has_passed = output.status.success() && said.contains("1 passed");
    assert!(has_passed, "{said}{errors}");
}

#[test]
fn a_published_server_is_found_by_its_name_and_called() {
    alone("found");
}

#[test]
fn the_state_of_a_server_names_its_publications() {
    alone("state");
}

#[test]
fn titles_change_while_others_look() {
    alone("titles");
}

#[test]
fn a_killed_process_is_found_no_more_and_its_files_go() {
    alone("killed");
}

#[test]
fn who_watches_is_told_what_comes_and_goes() {
    alone("watched");
}

#[cfg(unix)]
#[test]
fn a_folder_that_others_may_use_is_refused() {
    alone("folders");
}

#[cfg(unix)]
#[test]
fn hostile_files_harm_nobody() {
    alone("hostile");
}

#[cfg(unix)]
#[test]
fn a_process_of_another_user_is_refused() {
    alone("other_user");
}

#[test]
fn a_client_beyond_the_limit_is_refused() {
    alone("limited");
}

#[test]
fn calls_in_flight_finish_before_a_publication_is_closed() {
    alone("closing");
}

#[test]
fn servers_published_at_once_are_all_found() {
    alone("at_once");
}

#[test]
fn a_file_that_was_removed_comes_back_with_the_next_title() {
    alone("removed");
}

#[cfg(target_os = "linux")]
#[test]
fn without_descriptors_a_living_program_is_not_taken_for_a_dead_one() {
    alone("without_descriptors");
}

#[cfg(any(target_os = "linux", windows))]
#[test]
fn restarts_leave_nothing() {
    alone("restarts");
}

fn server() -> Server {
    let pid = |_: Value, _: &Context| std::process::id().to_string();
    let builder = Server::builder("editor", "4.2").tool_with(Tool::new("pid"), pid);
    builder.build().unwrap()
}

fn publish(name: &str) -> Publication {
    server().publish(name, Publish::new()).unwrap()
}

fn connect(instance: &Instance) -> Result<Client> {
    Client::builder("c", "1")
        .connect_timeout(LONG)
        .connect(instance.clone())
}

fn call(client: &Client) -> Result<String> {
    let result = client.call_tool_with("pid", &json!({}), CallOptions::new().timeout(LONG))?;
    Ok(result.content[0].as_text().unwrap().to_owned())
}

fn titles_of(found: &[Instance]) -> Vec<&str> {
    let titles = found.iter().map(|it| it.title.as_deref());
    titles.map(Option::unwrap_or_default).collect()
}

/// The folder of the published servers.
fn folder() -> PathBuf {
    Path::new(&std::env::var_os(FOLDER).unwrap()).join("mcplink")
}

fn files() -> Vec<String> {
    let files = fs::read_dir(folder()).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// A program in another process, which publishes itself.
struct Program {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
}

impl Program {
    fn start(title: &str) -> Self {
        let mut command = helper("published::program");
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.env("TITLE", title).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("published") {
            line.clear();
            assert!(lines.read_line(&mut line).unwrap() > 0);
        }
        Self { child, lines }
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        drop(self.lines);
    }
}

/// The body of [`Program`]: runs until its input ends.
#[test]
#[ignore = "a program that tests start"]
fn program() {
    let title = std::env::var("TITLE").unwrap();
    let options = Publish::new().title(title);
    let publication = server().publish("editor", options).unwrap();
    writeln!(std::io::stdout(), "published").unwrap();
    let mut line = String::new();
    while std::io::stdin().read_line(&mut line).unwrap() > 0 {
        publication.set_title(line.trim()).unwrap();
        line.clear();
    }
}

#[test]
#[ignore = "runs alone"]
fn found() {
    assert_eq!(local::instances("editor").unwrap(), []);
    let options = Publish::new().title("scene.blend").folder("/home/ada");
    let publication = server().publish("editor", options).unwrap();
    let other = publish("other");

    let [instance] = &*local::instances("editor").unwrap() else {
        panic!("one is published");
    };
    assert_eq!(*instance, publication.instance());
    assert_eq!(instance.name, "editor");
    assert_eq!(instance.title.as_deref(), Some("scene.blend"));
    assert_eq!(instance.folder.as_deref(), Some("/home/ada"));
    assert_eq!(instance.version, "4.2");
    assert_eq!(instance.pid, std::process::id());
    assert_eq!(local::instances(None).unwrap().len(), 2);

    let text = fs::read_to_string(folder().join(format!("{}.json", instance.id))).unwrap();
    let entry: Value = serde_json::from_str(&text).unwrap();
    let started = Duration::from_millis(entry["started"].as_u64().unwrap());
    assert_eq!(instance.started, UNIX_EPOCH + started);
    assert!(started > Duration::from_secs(1_760_000_000));
    #[cfg(unix)]
    {
        let socket = folder().join(format!("{}.sock", instance.id));
        assert_eq!(entry["endpoint"], format!("unix:{}", socket.display()));
        let mode = |path: &Path| fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder()), mode(&socket)), (0o700, 0o600));
    }
    #[cfg(windows)]
    assert_eq!(
        entry["endpoint"],
        format!(r"pipe:\\.\pipe\mcplink-{}", instance.id)
    );

    let client = connect(instance).unwrap();
    assert_eq!(call(&client).unwrap(), std::process::id().to_string());
    assert_eq!(publication.clients(), 1);
    publication.close();
    publication.close();
    publication.wait();
    assert_eq!(publication.clients(), 0);
    let error = call(&client).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
    let error = connect(instance).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    assert!(error.to_string().contains("editor"), "{error}");
    let error = publication.set_title("x").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
    assert_eq!(local::instances(None).unwrap(), [other.instance()]);
    drop(other);
    assert_eq!(files(), ["lock"]);

    for name in ["", "a b", "../up", ".hidden", "ü", &"x".repeat(65)] {
        let error = server().publish(name, Publish::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        let error = local::instances(name).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    }
    let worst = "\u{1}".repeat(4096);
    let options = Publish::new().title(&*worst).folder(&*worst);
    let longest = server().publish("longest", options).unwrap();
    assert_eq!(local::instances("longest").unwrap(), [longest.instance()]);
    drop(longest);
    let options = Publish::new().title("x".repeat(4097));
    let error = server().publish("editor", options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert_eq!(files(), ["lock"]);
}

#[test]
#[ignore = "runs alone"]
fn state() {
    let server = server();
    assert_eq!(server.state().to_string(), "");
    let options = Publish::new().title("scene.blend");
    let first = server.publish("editor", options).unwrap();
    let second = server.publish("other", Publish::new()).unwrap();
    let client = connect(&first.instance()).unwrap();
    assert_eq!(call(&client).unwrap(), std::process::id().to_string());
    first.set_title("new.blend").unwrap();
    let state = server.clone().state();
    let [
        Endpoint::Published {
            instance,
            clients: 1,
            ..
        },
        Endpoint::Published { clients: 0, .. },
    ] = &*state.endpoints
    else {
        panic!("{state:?}");
    };
    assert_eq!(*instance, first.instance());
    let text = "published as editor (new.blend): 1 client\npublished as other: 0 clients\n";
    assert_eq!(state.to_string(), text);
    first.close();
    let text = "published as other: 0 clients\n";
    assert_eq!(server.state().to_string(), text);
    drop((first, second));
    assert!(server.state().endpoints.is_empty());

    // The folder can't be made.
    fs::rename(folder(), folder().with_extension("away")).unwrap();
    fs::write(folder(), "a file").unwrap();
    let error = server.publish("editor", Publish::new()).unwrap_err();
    let state = server.state();
    assert_eq!(state.failures[0].address, "editor");
    assert_eq!(state.failures[0].error.to_string(), error.to_string());
    assert_eq!(state.to_string(), format!("editor: failed: {error}\n"));
    fs::remove_file(folder()).unwrap();
    let publication = server.publish("editor", Publish::new()).unwrap();
    let text = "published as editor: 0 clients\n";
    assert_eq!(server.state().to_string(), text);
    drop(publication);
}

// Must not happen: a title is changed while another process looks, and the program seems to have
// gone.
#[test]
#[ignore = "runs alone"]
fn titles() {
    let publication = publish("editor");
    let (stop, stopped) = mpsc::channel::<()>();
    let looking = thread::spawn(move || {
        let mut seen = 0;
        while stopped.try_recv().is_err() {
            let found = local::instances("editor").unwrap();
            assert_eq!(found.len(), 1, "{found:?}");
            seen += 1;
        }
        seen
    });
    for number in 0..500 {
        publication.set_title(number.to_string()).unwrap();
    }
    stop.send(()).unwrap();
    assert!(looking.join().unwrap() > 0);
    let found = local::instances("editor").unwrap();
    assert_eq!(titles_of(&found), ["499"]);
    assert_eq!(files().len(), FILES + 1);
}

#[test]
#[ignore = "runs alone"]
fn killed() {
    let (first, second) = (Program::start("first"), Program::start("second"));
    let found = local::instances("editor").unwrap();
    let instance = |title| found.iter().find(|it| it.title.as_deref() == Some(title));
    let client = connect(instance("first").unwrap()).unwrap();
    assert_eq!(call(&client).unwrap(), first.child.id().to_string());
    first.kill();
    assert!(call(&client).is_err());
    let found = local::instances("editor").unwrap();
    assert_eq!(titles_of(&found), ["second"]);
    assert_eq!(files().len(), FILES + 1);
    let client = connect(&found[0]).unwrap();
    assert_eq!(call(&client).unwrap(), second.child.id().to_string());
    second.kill();

    // A program that publishes itself removes files too.
    let left = files();
    assert_eq!(left.len(), FILES + 1);
    let publication = publish("other");
    let now = files();
    let still = now.iter().filter(|name| left.contains(name));
    assert_eq!(still.collect::<Vec<_>>(), ["lock"]);
    drop(publication);
    assert_eq!(files(), ["lock"]);
}

#[test]
#[ignore = "runs alone"]
fn watched() {
    let (tell, told) = mpsc::channel();
    let watcher = local::watch("editor", move |found| {
        let mut titles: Vec<String> = titles_of(found).into_iter().map(str::to_owned).collect();
        titles.sort();
        tell.send(titles).unwrap();
    });
    let watcher = watcher.unwrap();
    let next = || told.recv_timeout(LONG).unwrap();
    assert_eq!(next(), [""; 0]);
    let mut program = Program::start("a");
    assert_eq!(next(), ["a"]);
    writeln!(program.child.stdin.as_mut().unwrap(), "b").unwrap();
    assert_eq!(next(), ["b"]);
    let other = publish("other");
    let own = server().publish("editor", Publish::new().title("own"));
    assert_eq!(next(), ["b", "own"]);
    program.kill();
    assert_eq!(next(), ["own"]);
    drop(other);
    drop(own);
    assert_eq!(next(), [""; 0]);

    // The folder goes with the session of a user, and comes back with the next one.
    fs::remove_dir_all(folder()).unwrap();
    let again = server().publish("editor", Publish::new().title("again"));
    assert_eq!(next(), ["again"]);
    drop(watcher);
    drop(again);
    assert!(told.recv_timeout(LONG).is_err());
}

#[cfg(unix)]
#[test]
#[ignore = "runs alone"]
fn folders() {
    let refused = |kind| {
        let error = server().publish("editor", Publish::new()).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains("mcplink"), "{error}");
        let error = local::instances("editor").unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        let error = local::watch("editor", |_| {}).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
    };
    fs::create_dir(folder()).unwrap();
    for mode in [0o755, 0o750, 0o711, 0o777] {
        fs::set_permissions(folder(), fs::Permissions::from_mode(mode)).unwrap();
        refused(ErrorKind::Invalid);
    }
    fs::remove_dir(folder()).unwrap();
    let elsewhere = folder().with_file_name("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o700)).unwrap();
    symlink(&elsewhere, folder()).unwrap();
    refused(ErrorKind::Invalid);
    fs::remove_file(folder()).unwrap();
    fs::write(folder(), "").unwrap();
    refused(ErrorKind::Invalid);
    fs::remove_file(folder()).unwrap();
    drop(publish("editor"));
}

// Must not happen: whoever lists follows a link, waits for a pipe, reads without an end, or removes
// a file that is none of a published server.
#[cfg(unix)]
#[test]
#[ignore = "runs alone"]
fn hostile() {
    let publication = publish("editor");
    let at = |name: &str| folder().join(name);
    let precious = folder().with_file_name("precious");
    fs::write(&precious, "precious").unwrap();
    let locked = |id: u32| {
        let file = fs::File::create(at(&format!("{id}-00000000.lock"))).unwrap();
        file.lock().unwrap();
        file
    };
    let pipe = |name: &str| {
        let made = Command::new("mkfifo").arg(at(name)).status();
        assert!(made.unwrap().success());
    };

    // Descriptions of processes that live.
    let living: Vec<fs::File> = (1..=9).map(locked).collect();
    symlink("/dev/zero", at("1-00000000.json")).unwrap();
    symlink(&precious, at("2-00000000.json")).unwrap();
    pipe("3-00000000.json");
    fs::create_dir(at("4-00000000.json")).unwrap();
    let long = fs::File::create(at("5-00000000.json")).unwrap();
    long.set_len(1 << 40).unwrap();
    let entry = r#"{"name":"editor","pid":1,"started":1,"version":"1"}"#;
    let texts = [
        "no JSON",
        r#"{"name":"editor"}"#,
        &entry.replace("editor", "../editor"),
        &"[".repeat(60_000),
    ];
    for (id, text) in (6..).zip(texts) {
        fs::write(at(&format!("{id}-00000000.json")), text).unwrap();
    }

    // What is left of others, and what is no file of a published server.
    symlink("/dev/zero", at("11-00000000.lock")).unwrap();
    symlink(&precious, at("12-00000000.lock")).unwrap();
    pipe("13-00000000.lock");
    for name in [
        "14-00000000.sock",
        "15-00000000.new",
        "16-00000000.json",
        "17-00000000.lock",
    ] {
        fs::write(at(name), entry).unwrap();
    }
    let foreign = [
        "notes.json",
        "1-0.json",
        "x-00000000.json",
        "18-00000000.txt",
    ];
    for name in foreign {
        fs::write(at(name), entry).unwrap();
    }

    let found = local::instances("editor").unwrap();
    assert_eq!(found, [publication.instance()]);
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    let mut expected: Vec<String> = ["json", "lock", "sock"]
        .map(|it| format!("{}.{it}", publication.instance().id))
        .into();
    expected.extend(
        (1..=9)
            .flat_map(|id| ["json", "lock"].map(|extension| format!("{id}-00000000.{extension}"))),
    );
    expected.extend(foreign.map(str::to_owned));
    expected.push("lock".to_owned());
    expected.sort();
    assert_eq!(files(), expected);
    drop(living);
    assert_eq!(local::instances("editor").unwrap().len(), 1);

    // A socket that is not the one of a published server.
    let lock = locked(15);
    let late = entry.replace("\"started\":1", "\"started\":18446744073709551615");
    fs::write(at("15-00000000.json"), late).unwrap();
    let fake = |listens: bool| {
        _ = fs::remove_file(at("15-00000000.sock"));
        let socket = UnixListener::bind(at("15-00000000.sock")).unwrap();
        listens.then_some(socket)
    };
    fake(false);
    let found = local::instances("editor").unwrap();
    assert_eq!(found.len(), 2, "{found:?}");
    let fakes = || found.iter().find(|it| it.pid == 1).unwrap().clone();
    let error = connect(&fakes()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    let socket = fake(true).unwrap();
    let builder = Client::builder("c", "1").connect_timeout(Duration::from_millis(50));
    let error = builder.connect(fakes()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    drop((socket, lock));
    assert_eq!(local::instances("editor").unwrap().len(), 1);
}

/// Connects to the socket in `SOCKET`, and fails if it is answered.
#[cfg(unix)]
#[test]
#[ignore = "a process of another user"]
fn stranger() {
    let mut stream = UnixStream::connect(std::env::var_os("SOCKET").unwrap()).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    // The server may have closed the connection already.
    _ = stream.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
    // A connection that is closed with unread input is reset.
    let count = stream.read(&mut [0]).unwrap_or_default();
    assert_eq!(count, 0);
}

#[cfg(unix)]
#[test]
#[ignore = "runs alone"]
fn other_user() {
    let own = Command::new("id").arg("-u").output().unwrap().stdout;
    if own != b"0\n" {
        // Only root can start a process of another user.
        return;
    }
    let publication = publish("editor");
    let socket = folder().join(format!("{}.sock", publication.instance().id));
    let open = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    // The other user may not be able to reach this program.
    let program = folder().with_file_name("stranger");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    open(&program, 0o755);
    open(folder().parent().unwrap(), 0o755);
    let run = |user: u32| {
        let mut command = Command::new(&program);
        command.args(helper("published::stranger").get_args());
        let command = command.env("SOCKET", &socket).uid(user).gid(user);
        command.current_dir("/").output().unwrap().status.success()
    };
    assert!(!run(65534), "the folder is the user's alone");
    // The socket itself refuses others too.
    for path in [folder().parent().unwrap(), &folder(), &socket] {
        open(path, 0o777);
    }
    assert!(run(65534), "the connection is closed");
    assert_eq!(publication.clients(), 0);
    assert!(!run(0), "the user is answered");
}

#[test]
#[ignore = "runs alone"]
fn limited() {
    let options = Publish::new().max_clients(1);
    let publication = server().publish("editor", options).unwrap();
    let instance = publication.instance();
    let first = connect(&instance).unwrap();
    assert!(connect(&instance).is_err());
    call(&first).unwrap();
    first.close();
    let deadline = Instant::now() + LONG;
    while publication.clients() > 0 {
        assert!(Instant::now() < deadline);
        thread::yield_now();
    }
    call(&connect(&instance).unwrap()).unwrap();
}

#[test]
#[ignore = "runs alone"]
fn closing() {
    let (begun, begins) = mpsc::channel();
    let (go, goes) = mpsc::channel::<()>();
    let goes = std::sync::Mutex::new(goes);
    let wait = move |_: Value, _: &Context| {
        begun.send(()).unwrap();
        goes.lock().unwrap().recv_timeout(LONG).unwrap();
        "finished"
    };
    let server = Server::builder("s", "1").drain(LONG);
    let server = server.tool_with(Tool::new("wait"), wait).build().unwrap();
    let publication = server.publish("editor", Publish::new()).unwrap();
    let client = connect(&publication.instance()).unwrap();
    thread::scope(|all| {
        let calling = all.spawn(|| {
            let options = CallOptions::new().timeout(LONG);
            client.call_tool_with("wait", &json!({}), options)
        });
        begins.recv_timeout(LONG).unwrap();
        let closing = all.spawn(|| publication.close());
        // The files go first.
        let deadline = Instant::now() + LONG;
        while !local::instances("editor").unwrap().is_empty() {
            assert!(Instant::now() < deadline);
            thread::yield_now();
        }
        go.send(()).unwrap();
        let result = calling.join().unwrap().unwrap();
        assert_eq!(result.content[0].as_text(), Some("finished"));
        publication.wait();
        closing.join().unwrap();
    });
}

#[test]
#[ignore = "runs alone"]
fn at_once() {
    const COUNT: usize = 16;
    let together = Barrier::new(COUNT);
    let all: Vec<Publication> = thread::scope(|all| {
        let publishing = || {
            together.wait();
            let publication = publish("editor");
            let found = local::instances("editor").unwrap();
            assert!(found.contains(&publication.instance()));
            call(&connect(&publication.instance()).unwrap()).unwrap();
            publication
        };
        let threads: Vec<_> = (0..COUNT).map(|_| all.spawn(publishing)).collect();
        threads.into_iter().map(|it| it.join().unwrap()).collect()
    });
    assert_eq!(local::instances("editor").unwrap().len(), COUNT);
    drop(all);
    assert_eq!(files(), ["lock"]);
}

#[test]
#[ignore = "runs alone"]
fn removed() {
    let publication = publish("editor");
    let path = folder().join(format!("{}.json", publication.instance().id));
    fs::remove_file(&path).unwrap();
    assert_eq!(local::instances("editor").unwrap(), []);
    publication.set_title("again").unwrap();
    let found = local::instances("editor").unwrap();
    assert_eq!(titles_of(&found), ["again"]);
    call(&connect(&found[0]).unwrap()).unwrap();
}

/// Lists the instances while another thread takes all descriptors again and again.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "a process with few descriptors"]
fn few_descriptors() {
    let (stop, stopped) = mpsc::channel::<()>();
    let taking = thread::spawn(move || {
        while stopped.try_recv().is_err() {
            let opened = std::iter::from_fn(|| fs::File::open("/dev/null").ok());
            drop(opened.collect::<Vec<_>>());
        }
    });
    for _ in 0..3000 {
        if let Ok(found) = local::instances("editor") {
            assert_eq!(found.len(), 1);
        }
    }
    stop.send(()).unwrap();
    taking.join().unwrap();
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "runs alone"]
fn without_descriptors() {
    let publication = publish("editor");
    // It can't be removed, so each process that lists tries to remove what is left of others.
    fs::create_dir(folder().join("1-00000000.lock")).unwrap();
    let listing = helper("published::few_descriptors");
    let mut limited = Command::new("sh");
    let limited = limited.args(["-c", "ulimit -n 24 && exec \"$0\" \"$@\""]);
    let limited = limited.arg(listing.get_program()).args(listing.get_args());
    let output = limited.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}"
    );
    let found = local::instances("editor").unwrap();
    assert_eq!(found, [publication.instance()]);
    call(&connect(&found[0]).unwrap()).unwrap();
}

#[cfg(any(target_os = "linux", windows))]
#[test]
#[ignore = "runs alone"]
fn restarts() {
    let once = || {
        let publication = publish("editor");
        call(&connect(&publication.instance()).unwrap()).unwrap();
        drop(publication);
    };
    once();
    let (descriptors, started) = (open_descriptors(), threads("mcplink"));
    for _ in 0..100 {
        once();
    }
    assert_eq!(
        (open_descriptors(), threads("mcplink")),
        (descriptors, started)
    );
    assert_eq!(files(), ["lock"]);
}
