//! Several servers used as one.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crossbeam_channel::Receiver;
use mcplink::client::{
    CallOptions, Client, Config, Event, Group, GroupEvent, GroupFailure, GroupList, GroupNames,
};
use mcplink::protocol::Connection;
use mcplink::schema::{Prompt, ProtocolVersion, Resource, SubscriptionFilter, Tool};
use mcplink::server::{Context, ResourceRead, Server};
use mcplink::transport::memory;
use mcplink::{ErrorKind, Result};
use serde_json::{Value, json};

use crate::common::{LONG, example, wait_until, within};
use crate::rawserver::{RawServer, connect_with};

const ERAS: [ProtocolVersion; 2] = [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28];

/// A server in this process, and its connection.
struct Served {
    server: Server,
    _connection: Connection,
}

fn server(name: &str, tools: &[&str]) -> Server {
    let mut builder = Server::builder(name, "1");
    for tool in tools {
        let said = format!("{tool} of {name}");
        builder = builder.tool_with(Tool::new(*tool), move |_: Value, _| said.clone());
    }
    builder.build().unwrap()
}

fn join(group: &Group, name: &str, server: Server, revision: ProtocolVersion) -> Served {
    let (here, there) = memory::pair();
    let connection = server.open(there).unwrap();
    let builder = Client::builder("test", "1").revisions(&[revision]);
    group.add(name, builder.connect(here).unwrap()).unwrap();
    Served {
        server,
        _connection: connection,
    }
}

fn names<T>(list: &GroupList<T>) -> Vec<&str> {
    list.items.iter().map(|item| &*item.name).collect()
}

fn failed(failures: &[GroupFailure]) -> Vec<(&str, ErrorKind)> {
    let failures = failures.iter();
    failures
        .map(|one| (&*one.server, one.error.kind()))
        .collect()
}

fn said(group: &Group, tool: &str) -> Result<String> {
    let result = group.call_tool(tool, &json!({}))?;
    Ok(result.content[0].as_text().unwrap().to_owned())
}

#[test]
fn a_name_leads_to_its_server() {
    for revision in ERAS {
        let group = Group::new();
        let _red = join(&group, "red", server("red", &["color", "x__y"]), revision);
        let _blue = join(&group, "blue 1", server("blue", &["color"]), revision);
        let tools = group.list_tools();
        assert_eq!(names(&tools), ["red__color", "red__x__y", "blue_1__color"]);
        assert!(tools.failures.is_empty());
        let last = tools.items.last().unwrap();
        assert_eq!((&*last.server, &*last.item.name), ("blue 1", "color"));
        assert_eq!(said(&group, "red__color").unwrap(), "color of red");
        assert_eq!(said(&group, "red__x__y").unwrap(), "x__y of red");
        assert_eq!(said(&group, "blue_1__color").unwrap(), "color of blue");
        // Two calls of two servers are in flight from one thread.
        let start = |name| {
            group
                .start_tool(name, &json!({}), CallOptions::new())
                .unwrap()
        };
        let (red, blue) = (start("red__color"), start("blue_1__color"));
        for (call, wanted) in [(blue, "color of blue"), (red, "color of red")] {
            let result = call.wait().unwrap();
            assert_eq!(result.content[0].as_text(), Some(wanted));
        }
        for unknown in ["color", "green__color", "", "blue 1__color"] {
            let error = said(&group, unknown).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{unknown}: {error}");
            assert!(error.to_string().contains("'red', 'blue 1'"), "{error}");
        }
        // The server decides whether it has a tool.
        let error = said(&group, "red__none").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Peer);
    }
}

#[test]
fn names_that_can_not_be_told_apart_are_refused() {
    let group = Group::new();
    let _served = join(&group, "a", server("a", &["x"]), ERAS[1]);
    for name in ["", "a", "a__b", "a_"] {
        let (here, there) = memory::pair();
        let server = server("b", &["x"]);
        let _connection = server.open(there).unwrap();
        let error = group.add(name, Client::connect(here).unwrap()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{name}");
    }
    assert_eq!(group.servers().len(), 1);
}

#[test]
fn a_prefix_may_be_left_out_where_nothing_clashes() {
    for revision in ERAS {
        let group = Group::with_names(GroupNames::PrefixedOnClash);
        let red = server("red", &["color", "paint", "blue__mix"]);
        let red = join(&group, "red", red, revision);
        let _blue = join(&group, "blue", server("blue", &["color", "wash"]), revision);
        // Nothing was listed before: the call lists the tools itself.
        assert_eq!(said(&group, "wash").unwrap(), "wash of blue");
        let wanted = [
            "red__color",
            "paint",
            "red__blue__mix",
            "blue__color",
            "wash",
        ];
        assert_eq!(names(&group.list_tools()), wanted);
        assert_eq!(said(&group, "paint").unwrap(), "paint of red");
        assert_eq!(said(&group, "red__paint").unwrap(), "paint of red");
        assert_eq!(said(&group, "red__blue__mix").unwrap(), "blue__mix of red");
        assert_eq!(said(&group, "blue__color").unwrap(), "color of blue");
        let error = said(&group, "color").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        let text = error.to_string();
        assert!(text.contains("'red__color', 'blue__color'"), "{text}");
        // A tool that is added later is found, and a name that now clashes is refused.
        let tool = |name: &str| Tool::new(name);
        let added = red
            .server
            .add_tool(tool("late"), |_: Value, _| "late of red");
        added.unwrap();
        assert_eq!(said(&group, "late").unwrap(), "late of red");
        let added = red
            .server
            .add_tool(tool("wash"), |_: Value, _| "wash of red");
        added.unwrap();
        let clashing = ["red__wash", "blue__wash"];
        let wanted =
            |list: &GroupList<Tool>| clashing.iter().all(|name| names(list).contains(name));
        assert!(wanted(&group.list_tools()));
        assert!(said(&group, "wash").is_err());
        assert!(said(&group, "nothing").is_err());
        // With one of the two servers, the name has one meaning again.
        group.remove("red").unwrap().close();
        assert_eq!(said(&group, "wash").unwrap(), "wash of blue");
    }
}

/// A server that this test plays itself, with tools.
fn raw(group: &Group, name: &str, revision: ProtocolVersion) -> RawServer {
    let capabilities = json!({ "tools": {} });
    let (client, server) = connect_with(Client::builder("test", "1"), revision, &capabilities);
    group.add(name, client).unwrap();
    server
}

fn page(name: &str, next: Option<&str>) -> Value {
    let mut page = json!({
        "resultType": "complete", "ttlMs": 0, "cacheScope": "private",
        "tools": [{ "name": name, "inputSchema": { "type": "object" } }],
    });
    if let Some(next) = next {
        page["nextCursor"] = json!(next);
    }
    page
}

#[test]
fn all_servers_are_asked_before_the_first_answer() {
    for revision in ERAS {
        let group = Group::new();
        let mut servers = ["a", "b", "c"].map(|name| raw(&group, name, revision));
        let listing = within(LONG, {
            let group = group.clone();
            move || {
                let lists = std::thread::spawn(move || group.list_tools());
                let asked = servers.each_mut().map(|server| server.asked("tools/list"));
                // The last one answers first, and has a second page.
                for (server, asked) in servers.iter_mut().zip(&asked).rev() {
                    server.answer(asked, page("first", Some("more")));
                }
                for server in &mut servers {
                    let asked = server.asked("tools/list");
                    assert_eq!(asked["params"]["cursor"], "more");
                    server.answer(&asked, page("second", None));
                }
                lists.join().unwrap()
            }
        });
        assert!(listing.failures.is_empty(), "{:?}", listing.failures);
        let wanted = [
            "a__first",
            "a__second",
            "b__first",
            "b__second",
            "c__first",
            "c__second",
        ];
        assert_eq!(names(&listing), wanted);
    }
}

#[test]
fn servers_that_fail_do_not_stop_the_others() {
    for revision in ERAS {
        let group = Group::new();
        let _first = join(&group, "first", server("first", &["x"]), revision);
        let mut silent = ["s1", "s2"].map(|name| raw(&group, name, revision));
        let mut refuses = raw(&group, "refuses", revision);
        let gone = raw(&group, "gone", revision);
        drop(gone);
        let without = Server::builder("w", "1").build().unwrap();
        let _without = join(&group, "without", without, revision);
        let _last = join(&group, "last", server("last", &["x"]), revision);
        let began = Instant::now();
        let timeout = Duration::from_millis(500);
        let list = refuses.serve(
            || group.list_tools_with(CallOptions::new().timeout(timeout)),
            |server| {
                let asked = server.asked("tools/list");
                server.refuse(&asked, -32603, "no");
            },
        );
        // The two silent servers are waited for at the same time.
        assert!(began.elapsed() >= timeout);
        assert_eq!(names(&list), ["first__x", "last__x"]);
        let wanted = [
            ("s1", ErrorKind::Timeout),
            ("s2", ErrorKind::Timeout),
            ("refuses", ErrorKind::Peer),
            ("gone", ErrorKind::Closed),
        ];
        assert_eq!(failed(&list.failures), wanted);
        assert!(list.failures[3].to_string().starts_with("gone: "));
        for server in &mut silent {
            server.asked("tools/list");
        }
        let callback = group.list_tools_with(CallOptions::new().on_progress(|_| {}));
        let kinds = failed(&callback.failures);
        assert!(
            kinds.iter().all(|(_, kind)| *kind == ErrorKind::Invalid),
            "{kinds:?}"
        );
    }
}

#[test]
fn resources_and_prompts_lead_to_their_servers() {
    let served = |name: &'static str, uris: &[&str]| {
        let hello = move |_: Value, _: &Context| name.to_owned();
        let mut builder = Server::builder(name, "1").prompt(Prompt::new("hello"), hello);
        for uri in uris {
            let read = move |_: &ResourceRead, _: &Context| name.to_owned();
            builder = builder.resource(Resource::new(*uri, "r"), read);
        }
        builder.build().unwrap()
    };
    for revision in ERAS {
        let group = Group::new();
        let red = served("red", &["x:1", "x:both"]);
        let _red = join(&group, "red", red, revision);
        let read = |uri: &str| {
            let result = group.read_resource(uri, CallOptions::new())?;
            Ok::<_, mcplink::Error>(result.contents[0].as_text().unwrap().to_owned())
        };
        // The only server with resources is asked for what nobody lists, too.
        assert_eq!(read("x:other").unwrap_err().kind(), ErrorKind::Peer);
        let blue = served("blue", &["x:2", "x:both"]);
        let _blue = join(&group, "blue", blue, revision);
        assert_eq!(
            (read("x:1").unwrap(), read("x:2").unwrap()),
            ("red".into(), "blue".into())
        );
        for unclear in ["x:both", "x:other"] {
            let error = read(unclear).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        }
        let resources = group.list_resources();
        assert_eq!(names(&resources), ["x:1", "x:both", "x:2", "x:both"]);
        assert_eq!(names(&group.list_prompts()), ["red__hello", "blue__hello"]);
        assert!(group.list_resource_templates().items.is_empty());
        let prompt = group
            .get_prompt("blue__hello", &[], CallOptions::new())
            .unwrap();
        assert_eq!(prompt.messages[0].content.as_text(), Some("blue"));
    }
}

fn next(events: &Receiver<GroupEvent>) -> (String, Event) {
    let event = events.recv_timeout(LONG).expect("an event in time");
    (event.server.to_string(), event.event)
}

#[test]
fn events_of_all_servers_come_through_one_channel() {
    for revision in ERAS {
        let group = Group::new();
        let red = join(&group, "red", server("red", &["x"]), revision);
        let blue = join(&group, "blue", server("blue", &["x"]), revision);
        drop(raw(&group, "gone", revision));
        let gone = group.client("gone").unwrap();
        wait_until("the client notices the end", || gone.is_closed());
        let filter = SubscriptionFilter::default().tools_list_changed(true);
        let (subscription, events) = group.subscribe_channel(&filter, &CallOptions::new());
        assert_eq!(
            failed(subscription.failures()),
            [("gone", ErrorKind::Closed)]
        );
        let granted = subscription.server("red").unwrap().granted();
        assert_eq!(granted.tools_list_changed, Some(true));
        assert!(subscription.server("gone").is_none());
        for (name, served) in [("blue", &blue), ("red", &red)] {
            let tool = Tool::new("late");
            served.server.add_tool(tool, |_: Value, _| "late").unwrap();
            assert_eq!(next(&events), (name.to_owned(), Event::ToolsChanged));
        }
        group.remove("red").unwrap().close();
        let (name, event) = next(&events);
        assert_eq!(name, "red");
        assert!(matches!(event, Event::Ended { .. }), "{event:?}");
        drop(subscription);
        group.close();
        assert!(group.servers().is_empty() && group.list_tools().items.is_empty());
    }
}

/// Serves on standard input and output, as the child of the next test.
#[test]
#[ignore = "a child of another test"]
fn child_that_serves() {
    let name = std::env::var("GROUP_SERVER").unwrap();
    server(&name, &["color"]).serve_stdio().unwrap();
}

#[test]
fn the_servers_of_a_configuration_are_connected_at_once() {
    let program = std::env::current_exe().unwrap();
    let serve = |name: &str| {
        let arguments = ["--exact", "client_group::child_that_serves", "--ignored"];
        json!({
            "command": program,
            "args": arguments.iter().chain(&["--quiet", "--nocapture"]).collect::<Vec<_>>(),
            "env": { "GROUP_SERVER": name },
        })
    };
    let mut off = serve("off");
    off["disabled"] = json!(true);
    // Without its name it panics.
    let mut loud = serve("loud");
    loud.as_object_mut().unwrap().remove("env");
    let servers = json!({ "mcpServers": {
        "red": serve("red"),
        "red ": serve("same prefix, in the end"),
        "red__1": serve("a prefix of another one"),
        "nowhere": { "command": "/nowhere/at/all" },
        "unset": { "command": "${MCPLINK_NEVER_SET}" },
        "loud": loud,
        "off": off,
        "blue": serve("blue"),
    }});
    let folder = std::env::temp_dir().join(format!("mcplink-group-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("servers.json");
    std::fs::write(&path, servers.to_string()).unwrap();
    let config = Config::read(&path).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let group = Group::new();
    let mut asked = Vec::new();
    let failures = group.connect(&config, |server| {
        asked.push(server.name().to_owned());
        Client::builder("test", "1").connect_timeout(LONG)
    });
    let loud = failures.iter().find(|failure| &*failure.server == "loud");
    let text = format!("{:#}", loud.unwrap());
    assert!(text.starts_with("loud: "), "{text}");
    assert!(
        text.contains("its last words on standard error:\n"),
        "{text}"
    );
    assert!(text.contains("NotPresent"), "{text}");
    let mut failures = failed(&failures);
    failures.sort_by_key(|(name, _)| *name);
    let (invalid, spawn) = (ErrorKind::Invalid, ErrorKind::Spawn);
    let wanted = [
        ("loud", ErrorKind::Closed),
        ("nowhere", spawn),
        ("red ", invalid),
        ("red__1", invalid),
        ("unset", invalid),
    ];
    assert_eq!(failures, wanted);
    assert!(!asked.contains(&"off".to_owned()));
    let mut servers = group.servers();
    servers.sort();
    assert_eq!(
        servers.iter().map(|name| &**name).collect::<Vec<_>>(),
        ["blue", "red"]
    );
    assert_eq!(said(&group, "blue__color").unwrap(), "color of blue");
    assert!(group.client("red").is_some() && group.client("off").is_none());
    group.close();
}

#[test]
fn the_example_of_a_host_ends_its_conversation() {
    let mut host = Command::new(example("agent_host"));
    let output = within(LONG, move || host.stdin(Stdio::null()).output().unwrap());
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    for wanted in [
        "host: the model may use travel__book: Books a train",
        "model: weather__forecast says: rain in Oslo",
        "model: hotels__find says: error: no server of the group has tool 'hotels__find'",
        "user: Book a train to Rome? Yes.",
        "model: travel__book says: a seat to Rome is booked",
    ] {
        assert!(said.contains(wanted), "{said}");
    }
}
