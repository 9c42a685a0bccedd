//! `mcplink attach`: a program that comes and goes, and several instances of it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Instant;

use mcplink::ErrorKind;
use mcplink::client::{CallOptions, Client, ClientBuilder, Event, Subscription};
use mcplink::schema::{CallToolResult, SubscriptionFilter};
use mcplink::transport::Child;
use serde_json::{Value, json};

use crate::common::{LONG, wait_until};
use crate::proxy::{ERAS, builder};
use crate::runs::{LinesInTime, MCPLINK, Ran, example, kill, program};
use crate::witness::Witness;

/// The folder of the instances of one test.
pub(crate) struct World(PathBuf);

impl World {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("mcplink-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        Self(path)
    }

    /// Starts a program, which is published when this returns.
    pub(crate) fn start(&self, words: &[&str]) -> Program {
        let mut command = Command::new(example("published_program"));
        command.args(words).env("XDG_RUNTIME_DIR", &self.0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut said = LinesInTime::of(child.stdout.take().unwrap());
        assert_eq!(said.next().unwrap().unwrap(), "published");
        Program { child, said }
    }

    /// Returns the transport of a host.
    pub(crate) fn command(&self, words: &[&str]) -> Child {
        let child = Child::new(MCPLINK).arg("attach").args(words);
        child.env("XDG_RUNTIME_DIR", &self.0)
    }

    pub(crate) fn attach(&self, words: &[&str], builder: ClientBuilder) -> Host {
        Host::new(builder.connect(self.command(words)).unwrap())
    }

    /// Runs another action.
    fn run(&self, words: &[&str]) -> Ran {
        let mut command = program();
        command.args(words).env("XDG_RUNTIME_DIR", &self.0);
        command.env("HOME", &self.0).stdin(Stdio::null());
        let output = command.output().unwrap();
        Ran {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Returns the files of the instances.
    fn files(&self) -> Vec<String> {
        let files = fs::read_dir(self.0.join("mcplink")).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let is_of_instance = |name: &String| name.ends_with(".json") || name.ends_with(".sock");
        names.filter(is_of_instance).collect()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

/// A program that has published itself.
pub(crate) struct Program {
    child: std::process::Child,
    pub(crate) said: LinesInTime,
}

impl Program {
    pub(crate) fn id(&self) -> String {
        self.child.id().to_string()
    }

    /// Has the program do what a line says.
    pub(crate) fn tell(&mut self, line: &str) {
        use std::io::Write as _;
        let stdin = self.child.stdin.as_mut().unwrap();
        stdin.write_all(format!("{line}\n").as_bytes()).unwrap();
        assert_eq!(self.said.next().unwrap().unwrap(), "done");
    }

    /// Ends the program as a person does.
    fn end(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // A test that failed leaves no process.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// The client of the tool.
pub(crate) struct Host {
    pub(crate) client: Client,
    events: mpsc::Receiver<Event>,
    _changes: Subscription,
}

impl Host {
    fn new(client: Client) -> Self {
        let filter = SubscriptionFilter::default()
            .tools_list_changed(true)
            .prompts_list_changed(true)
            .resources_list_changed(true);
        let (sender, events) = mpsc::channel();
        let changes = client.subscribe(filter, move |event| _ = sender.send(event));
        Self {
            _changes: changes.unwrap(),
            client,
            events,
        }
    }

    pub(crate) fn tools(&self) -> Vec<String> {
        let options = CallOptions::new().bypass_cache();
        let tools = self.client.list_tools_with(options).unwrap();
        tools.into_iter().map(|tool| tool.name).collect()
    }

    /// Waits until the list of tools is as wanted. The host is told of each change, so the list is
    /// read only at the beginning and when it was told.
    pub(crate) fn wait_for(&self, what: &str, is_wanted: impl Fn(&[&str]) -> bool) {
        let deadline = Instant::now() + LONG;
        loop {
            let tools = self.tools();
            if is_wanted(&tools.iter().map(String::as_str).collect::<Vec<_>>()) {
                return;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let told = self.events.recv_timeout(left);
            told.unwrap_or_else(|_| panic!("{what}: the tools are {tools:?}"));
        }
    }

    pub(crate) fn wait_for_tools(&self) {
        self.wait_for("the program", |tools| tools.contains(&"who"));
    }

    pub(crate) fn wait_for_none(&self) {
        self.wait_for("no program", |tools| tools.is_empty());
    }

    pub(crate) fn result(&self, tool: &str, arguments: Value) -> mcplink::Result<CallToolResult> {
        let options = CallOptions::new().timeout(LONG);
        self.client.call_tool_with(tool, &arguments, options)
    }

    pub(crate) fn call(&self, tool: &str, arguments: Value) -> String {
        text(&self.result(tool, arguments).unwrap())
    }

    /// The error of a call, which has to come at once.
    fn refusal(&self, tool: &str) -> String {
        let witness = Witness::start();
        let error = self.result(tool, json!({})).unwrap_err();
        witness.expect_at_once();
        assert_eq!(error.kind(), ErrorKind::Peer, "{error}");
        error.rpc().unwrap().message.clone()
    }
}

fn text(result: &CallToolResult) -> String {
    let texts = result.content.iter().filter_map(|block| block.as_text());
    texts.collect()
}

const CHOICE: [&str; 2] = ["instances", "choose"];

fn has_choice(tools: &[&str]) -> bool {
    CHOICE.iter().all(|tool| tools.contains(tool))
}

#[test]
fn a_host_is_answered_while_the_program_does_not_run() {
    for ours in ERAS {
        let world = World::new(&format!("none-{ours}"));
        let host = world.attach(&["editor"], builder(ours));
        assert!(host.tools().is_empty());
        assert!(host.client.list_prompts().unwrap().is_empty());
        assert!(host.client.list_resources().unwrap().is_empty());
        assert!(host.client.list_resource_templates().unwrap().is_empty());
        let said = host.client.instructions().unwrap();
        let expected = "The program 'editor' is not running: its tools appear when it is started.";
        assert_eq!(said, expected);
        assert!(host.refusal("who").contains("'editor' is not running"));
        let read = host.client.read_resource("x:state").unwrap_err();
        assert!(read.to_string().contains("is not running"), "{read}");
        let prompt = host.client.get_prompt("greet", &[]).unwrap_err();
        assert!(prompt.to_string().contains("is not running"), "{prompt}");
        // Another program is not used.
        let _other = world.start(&["other", "one"]);
        assert!(host.tools().is_empty());
    }
}

#[test]
fn a_program_that_runs_already_is_used_at_once() {
    for ours in ERAS {
        for theirs in ERAS {
            let world = World::new(&format!("first-{ours}-{theirs}"));
            let program = world.start(&["editor", "notes.txt", theirs]);
            let host = world.attach(&["editor"], builder(ours));
            host.wait_for_tools();
            let during = format!("{theirs} program, {ours} host");
            assert_eq!(
                host.call("who", json!({})),
                format!("notes.txt {}", program.id()),
                "{during}"
            );
            assert!(!has_choice(&["who"]) && !host.tools().contains(&"choose".to_owned()));
            // On a machine that is busy, the host may be answered before the program.
            let said = host.client.instructions().unwrap();
            assert!(said.contains("editor"), "{said}");
            let read = host.client.read_resource("x:state").unwrap();
            assert_eq!(read.contents[0].as_text(), Some("notes.txt"), "{during}");
            // A call in flight ends with the program.
            let slow = host
                .client
                .start_tool("slow", &json!({}), CallOptions::new());
            let slow = slow.unwrap();
            assert_eq!(host.client.list_prompts().unwrap().len(), 1);
            let witness = Witness::start();
            program.kill();
            let error = slow.wait().unwrap_err();
            host.wait_for_none();
            witness.expect_at_once();
            assert!(error.to_string().contains("'editor'"), "{error}");
            assert!(host.refusal("who").contains("is not running"), "{during}");
        }
    }
}

/// The number of open descriptors of a process, and of its threads.
fn load(process: &str) -> (usize, usize) {
    let count = |of: &str| {
        fs::read_dir(format!("/proc/{process}/{of}"))
            .unwrap()
            .count()
    };
    (count("fd"), count("task"))
}

/// The process of the tool, whose parent this process is.
fn tool(world: &World) -> String {
    let wanted = format!("XDG_RUNTIME_DIR={}", world.0.display());
    let processes = fs::read_dir("/proc").unwrap();
    let mut names = processes.filter_map(|one| one.unwrap().file_name().into_string().ok());
    let is_tool = |name: &String| {
        let read = |file: &str| {
            let bytes = fs::read(format!("/proc/{name}/{file}")).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        read("cmdline").starts_with(MCPLINK) && read("environ").contains(&wanted)
    };
    names.find(is_tool).expect("the tool runs")
}

#[test]
fn a_program_may_be_killed_and_started_again_at_any_time() {
    for (ours, theirs) in [("legacy", "modern"), ("modern", "legacy")] {
        let world = World::new(&format!("again-{ours}"));
        let host = world.attach(&["editor"], builder(ours));
        let mut before = None;
        for round in 0..10 {
            let program = world.start(&["editor", "notes.txt", theirs]);
            host.wait_for_tools();
            assert_eq!(
                host.call("who", json!({})),
                format!("notes.txt {}", program.id())
            );
            match round % 2 {
                0 => program.kill(),
                _ => program.end(),
            }
            host.wait_for_none();
            assert!(host.refusal("who").contains("is not running"));
            let files = || world.files().is_empty();
            wait_until("the files of the program are removed", files);
            if round == 2 {
                before = Some(load(&tool(&world)));
            }
        }
        let (before, tool) = (before.unwrap(), tool(&world));
        // Threads that are idle end by themselves.
        wait_until("no descriptor and no thread is left over", || {
            let now = load(&tool);
            now.0 <= before.0 && now.1 <= before.1
        });
    }
}

#[test]
fn a_change_of_the_tools_is_told() {
    for (ours, theirs) in [("legacy", "legacy"), ("modern", "modern")] {
        let world = World::new(&format!("tools-{ours}"));
        let mut program = world.start(&["editor", "notes.txt", theirs]);
        let host = world.attach(&["editor"], builder(ours));
        host.wait_for_tools();
        let witness = Witness::start();
        program.tell("add more");
        host.wait_for("the new tool", |tools| tools.contains(&"more"));
        witness.expect_at_once();
        assert_eq!(host.call("more", json!({})), "own more");
        program.tell("remove more");
        host.wait_for("the tool is gone", |tools| !tools.contains(&"more"));
    }
}

#[test]
fn one_of_several_instances_is_chosen() {
    for ours in ERAS {
        let world = World::new(&format!("several-{ours}"));
        let one = world.start(&["editor", "one"]);
        let two = world.start(&["editor", "two"]);
        let host = world.attach(&["editor"], builder(ours));
        host.wait_for("the choice", |tools| {
            tools == ["choose", "instances"] || tools == CHOICE
        });
        let said = host.client.instructions().unwrap();
        assert!(said.contains("Several instances"), "{said}");
        let refusal = host.refusal("who");
        assert!(refusal.contains("choose one first"), "{refusal}");
        let listed = host.result("instances", json!({})).unwrap();
        let listed: Value = listed.read_structured().unwrap().unwrap();
        let mut rows = listed["instances"].as_array().unwrap().iter();
        let row = rows.find(|row| row["title"] == "one").unwrap();
        assert_eq!(row["folder"], "/folder of one", "{listed}");
        assert_eq!(row["process"].to_string(), one.id(), "{listed}");
        assert_eq!(row["in_use"], false, "{listed}");
        assert!(row["started"].as_str().unwrap().ends_with('Z'), "{listed}");
        // A word that fits none.
        let failed = host.result("choose", json!({"instance": "three"})).unwrap();
        assert!(failed.is_error(), "{failed:?}");
        assert!(host.refusal("who").contains("choose one first"));
        for (word, program) in [
            (json!("two"), &two),
            (json!(one.child.id()), &one),
            (json!("/folder of two"), &two),
            (row["id"].clone(), &one),
        ] {
            let chosen = host.call("choose", json!({ "instance": word }));
            assert!(chosen.contains(&program.id()), "{chosen}");
            // The tools are there when the choice is answered.
            assert!(host.tools().contains(&"who".to_owned()), "{word}");
            assert!(host.call("who", json!({})).ends_with(&program.id()));
        }
        // The chosen one ends: the other one is not used without a choice.
        one.kill();
        host.wait_for("the choice again", |tools| {
            has_choice(tools) && !tools.contains(&"who")
        });
        let refusal = host.refusal("who");
        assert!(
            refusal.contains("has ended ('one'") && refusal.contains("'two'"),
            "{refusal}"
        );
        // It is started again with the same title: it is used again.
        let one = world.start(&["editor", "one"]);
        host.wait_for_tools();
        assert!(host.call("who", json!({})).ends_with(&one.id()));
        // The tools for a choice go with the second instance.
        two.end();
        host.wait_for("no choice", |tools| {
            tools.contains(&"who") && !tools.contains(&"choose")
        });
        assert!(host.call("who", json!({})).ends_with(&one.id()));
    }
}

#[test]
fn an_instance_in_use_stays_in_use_when_another_one_appears() {
    let world = World::new("stays");
    let one = world.start(&["editor", "one"]);
    let host = world.attach(&["editor"], builder("modern"));
    host.wait_for_tools();
    let two = world.start(&["editor", "two", "any", "choose"]);
    host.wait_for("the choice", |tools| {
        has_choice(tools) && tools.contains(&"who")
    });
    assert!(host.call("who", json!({})).ends_with(&one.id()));
    // A tool of the program keeps its name.
    host.call("choose", json!({"instance": "two"}));
    let names = ["choose", "mcplink_choose", "instances", "who"];
    host.wait_for("both", |tools| {
        names.iter().all(|name| tools.contains(name))
    });
    assert_eq!(host.call("choose", json!({})), "own choose");
    host.call("mcplink_choose", json!({"instance": "one"}));
    host.wait_for("the usual name", |tools| {
        has_choice(tools) && !tools.contains(&"mcplink_choose")
    });
    assert!(host.call("who", json!({})).ends_with(&one.id()));
    // The instance in use ends: nobody has chosen the other one.
    one.end();
    host.wait_for("the choice again", |tools| !tools.contains(&"who"));
    assert!(host.refusal("who").contains("has ended"));
    host.call("choose", json!({"instance": "two"}));
    assert!(host.call("who", json!({})).ends_with(&two.id()));
}

#[test]
fn a_title_selects_an_instance() {
    let world = World::new("selected");
    let _one = world.start(&["editor", "one"]);
    let host = world.attach(&["editor/two"], builder("modern"));
    let none = host.refusal("who");
    assert!(none.contains("'editor' ('two') is not running"), "{none}");
    let mut two = world.start(&["editor", "two"]);
    host.wait_for_tools();
    assert!(!host.tools().contains(&"choose".to_owned()));
    // It stays in use with another title.
    two.tell("title three");
    assert_eq!(host.call("who", json!({})), format!("three {}", two.id()));
    two.kill();
    host.wait_for_none();
    // Two of one title are several.
    let two = world.start(&["editor", "two"]);
    host.wait_for_tools();
    let again = world.start(&["editor", "two"]);
    host.wait_for("the choice", has_choice);
    assert!(host.call("who", json!({})).ends_with(&two.id()));
    let ambiguous = host.result("choose", json!({"instance": "two"})).unwrap();
    assert!(
        text(&ambiguous).contains("fits 2 instances"),
        "{ambiguous:?}"
    );
    let by_process = world.attach(&[&format!("editor/{}", again.id())], builder("legacy"));
    by_process.wait_for_tools();
    assert!(by_process.call("who", json!({})).ends_with(&again.id()));
}

/// The processes of the programs that were launched, which have no parent to end them.
struct Launched<'a>(&'a World);

impl Launched<'_> {
    fn list(&self) -> Vec<u64> {
        let ran = self.0.run(&["--json", "instances"]);
        let all: Value = serde_json::from_str(&ran.out).unwrap();
        let all = all["instances"].as_array().unwrap().iter();
        all.map(|one| one["process"].as_u64().unwrap()).collect()
    }
}

impl Drop for Launched<'_> {
    fn drop(&mut self) {
        for process in self.list() {
            kill("KILL", process.try_into().unwrap());
        }
    }
}

#[test]
fn a_call_starts_the_program() {
    let path = example("published_program");
    let path = path.to_str().unwrap();
    for ours in ERAS {
        let world = World::new(&format!("launch-{ours}"));
        let launched = Launched(&world);
        let words = [
            "editor", "--env", "STAYS=1", "--launch", path, "editor", "--json",
        ];
        let host = world.attach(&words, builder(ours));
        assert_eq!(host.tools(), ["start"]);
        let said = host.client.instructions().unwrap();
        assert!(said.contains("the tool 'start' starts it"), "{said}");
        assert!(host.refusal("who").contains("is not running"));
        // Several calls at once start it once.
        let start = || {
            let options = CallOptions::new().timeout(LONG);
            host.client
                .start_tool("start", &json!({}), options)
                .unwrap()
        };
        let calls: Vec<_> = (0..4).map(|_| start()).collect();
        for call in calls {
            assert!(text(&call.wait().unwrap()).contains("is running"));
        }
        assert_eq!(launched.list().len(), 1);
        let tools = host.tools();
        assert!(tools.contains(&"who".to_owned()) && !tools.contains(&"start".to_owned()));
        // The title is that of its arguments, also those that look like options.
        let first = host.call("who", json!({}));
        assert!(first.starts_with("--json "), "{first}");
        // A call of a tool that is known starts it again.
        host.result("quit", json!({})).unwrap_err();
        host.wait_for("the tool 'start'", |tools| tools == ["start"]);
        let second = host.call("who", json!({}));
        assert!(second.starts_with("--json ") && second != first, "{second}");
        assert_eq!(launched.list().len(), 1);
        // It outlives the tool.
        host.client.close();
        assert_eq!(launched.list().len(), 1);
    }
}

#[test]
fn a_program_that_can_not_be_started_is_told() {
    let world = World::new("launch-fails");
    for (command, said) in [
        (&["/no/such/program"][..], "can't be started"),
        (
            &["sh", "-c", "echo out; exit 3"],
            "has ended: exit status: 3",
        ),
        (
            &["sh", "-c", "exit 0"],
            "has not published a server within 1 s",
        ),
        (&["sleep", "5"], "has not published a server within 1 s"),
    ] {
        let words = [&["editor", "--timeout", "1", "--launch"], command].concat();
        let host = world.attach(&words, builder("modern"));
        let result = host.result("start", json!({})).unwrap();
        assert!(text(&result).contains(said), "{command:?}: {result:?}");
        assert!(result.is_error());
    }
}

#[test]
fn instances_are_listed() {
    let world = World::new("instances");
    let none = world.run(&["instances"]);
    assert_eq!((none.code, &*none.out), (0, ""));
    assert!(
        none.err.contains("no instance is published"),
        "{}",
        none.err
    );
    let one = world.start(&["editor", "one"]);
    let _two = world.start(&["viewer", "-"]);
    let all = world.run(&["instances"]);
    assert_eq!(all.out.lines().count(), 3, "{}", all.out);
    let line = all.out.lines().find(|line| line.starts_with("editor"));
    let line = line.unwrap();
    for part in ["one", "/folder of one", &one.id()] {
        assert!(line.contains(part), "{line}");
    }
    let listed = world.run(&["instances", "editor", "--json"]);
    let listed: Value = serde_json::from_str(&listed.out).unwrap();
    let rows = listed["instances"].as_array().unwrap();
    assert_eq!(rows.len(), 1, "{listed}");
    assert_eq!(rows[0]["title"], "one");
    for action in ["instances", "attach"] {
        let wrong = world.run(&[action, ".name"]);
        assert_eq!(wrong.code, 2, "{}", wrong.err);
    }
}

#[test]
fn a_host_is_configured_for_a_program() {
    let world = World::new("installed");
    let file = world.0.join("mcp.json");
    let install = |words: &[&str]| {
        let config = [
            "--host",
            "cursor",
            "--replace",
            "--config",
            file.to_str().unwrap(),
        ];
        let ran = world.run(&[&["install"], &config[..], words].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        let text = fs::read_to_string(&file).unwrap();
        serde_json::from_str::<Value>(&text).unwrap()["mcpServers"].clone()
    };
    let servers = install(&["--attach", "editor/one"]);
    let entry = &servers["editor"];
    assert_eq!(entry["command"], MCPLINK);
    assert_eq!(entry["args"], json!(["attach", "editor/one"]));
    let folder = world.0.to_str().unwrap();
    assert_eq!(entry["env"], json!({"XDG_RUNTIME_DIR": folder}));
    let words = [
        "mine", "--attach", "editor", "--launch", "editor", "--url", "x",
    ];
    let servers = install(&words);
    let expected = json!(["attach", "editor", "--launch", "editor", "--url", "x"]);
    assert_eq!(servers["mine"]["args"], expected);
    // The entry works.
    let program = world.start(&["editor", "one"]);
    let config = mcplink::client::Config::read(&file).unwrap();
    let server = config
        .servers()
        .iter()
        .find(|one| one.name() == "editor")
        .unwrap();
    let client = builder("legacy").connect(server.child().unwrap()).unwrap();
    let host = Host::new(client);
    host.wait_for_tools();
    assert!(host.call("who", json!({})).ends_with(&program.id()));

    for (words, said) in [
        (
            &["--attach", ".x", "--host", "cursor"][..],
            "'.x' is no name",
        ),
        (&["x", "--host", "cursor"], "the server is missing"),
        (&["--host", "cursor"], "required"),
        (
            &["--attach", "x", "--host", "cursor", "--", "y"],
            "no server",
        ),
        (
            &["--attach", "x", "--host", "cursor", "--launch"],
            "the command",
        ),
    ] {
        let ran = world.run(&[&["install"], words].concat());
        assert_eq!(ran.code, 2, "{words:?}: {}", ran.err);
        assert!(ran.err.contains(said), "{words:?}: {}", ran.err);
    }
}
