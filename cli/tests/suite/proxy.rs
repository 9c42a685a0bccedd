//! `mcplink proxy`: several servers as one, for clients of both eras.

use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use mcplink::client::{CallEvent, CallOptions, Client, ClientBuilder, Event};
use mcplink::schema::{
    CallToolResult, CompleteRequestParams, CompletionReference, CreateMessageResult, ElicitResult,
    ProtocolVersion, Root, SubscriptionFilter,
};
use mcplink::transport::Child;
use mcplink::transport::http::Http;
use mcplink::{ErrorCode, ErrorKind};
use serde_json::{Value, json};

use crate::common::LONG;
use crate::runs::{MCPLINK, Running, example, kill, mcp_against, mcp_with, program};

pub(crate) const ERAS: [&str; 2] = ["legacy", "modern"];

/// A test server as the proxy names it.
pub(crate) fn server(name: &str, program: &str) -> String {
    let path = example(program);
    let mode = if program == "everything_server" {
        " stdio"
    } else {
        ""
    };
    format!("{name}='{}'{mode}", path.display())
}

pub(crate) fn builder(era: &str) -> ClientBuilder {
    let modern = era == "modern";
    let all = ProtocolVersion::ALL.iter().copied();
    let revisions: Vec<_> = all.filter(|one| one.is_modern() == modern).collect();
    Client::builder("test", "1.0").revisions(&revisions)
}

pub(crate) fn proxy(words: &[&str]) -> Child {
    Child::new(MCPLINK).arg("proxy").args(words)
}

/// A proxy of the two test servers, whose servers are of one era and whose client is of another.
fn both(theirs: &str, builder: ClientBuilder) -> Client {
    let (i, e) = (
        server("i", "interop_server"),
        server("e", "everything_server"),
    );
    builder.connect(proxy(&["--era", theirs, &i, &e])).unwrap()
}

fn text(result: &CallToolResult) -> String {
    let texts = result.content.iter().filter_map(|block| block.as_text());
    texts.collect()
}

pub(crate) fn call(client: &Client, name: &str, arguments: Value) -> String {
    let result = client.call_tool_with(name, &arguments, CallOptions::new().timeout(LONG));
    text(&result.unwrap())
}

pub(crate) fn file(name: &str) -> PathBuf {
    let folder = std::env::temp_dir();
    folder.join(format!("mcplink-{}-{name}", std::process::id()))
}

#[test]
fn every_client_can_use_every_server() {
    for theirs in ERAS {
        for ours in ERAS {
            let client = both(theirs, builder(ours));
            let during = format!("{theirs} servers, {ours} client");
            assert_eq!(
                client.era() == mcplink::client::Era::Modern,
                ours == "modern"
            );
            let tools = client.list_tools().unwrap();
            let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
            assert!(
                names.contains(&"i__add") && names.contains(&"e__add"),
                "{names:?}"
            );
            assert_eq!(
                call(&client, "i__greet", json!({"name": "Ada"})),
                "Hello, Ada!"
            );
            let sum = client
                .call_tool("i__add", &json!({"a": 1, "b": 2}))
                .unwrap();
            let sum = sum.structured_content.unwrap();
            assert_eq!(sum.get(), r#"{"sum":3.0}"#, "{during}");
            // The failure of a tool, and an error of the protocol.
            let failed = client.call_tool("i__fail", &json!({})).unwrap();
            assert_eq!(failed.is_error, Some(true), "{during}");
            let refused = client.call_tool("i__add", &json!({"a": "x"}));
            assert_eq!(refused.unwrap().is_error, Some(true), "{during}");
            let unknown = client.call_tool("i__none", &json!({})).unwrap_err();
            assert_eq!(
                unknown.rpc().unwrap().code,
                ErrorCode::INVALID_PARAMS,
                "{during}"
            );

            let prompts = client.list_prompts().unwrap();
            assert!(
                prompts
                    .iter()
                    .any(|prompt| prompt.name == "e__test_simple_prompt")
            );
            let two = [("arg1", "x"), ("arg2", "y")];
            let prompt = client
                .get_prompt("e__test_prompt_with_arguments", &two)
                .unwrap();
            let prompt = serde_json::to_string(&prompt.messages).unwrap();
            assert!(prompt.contains("arg1='x'"), "{during}: {prompt}");

            let resources = client.list_resources().unwrap();
            assert!(
                resources.iter().any(|one| one.uri == "test://static-text"),
                "{during}"
            );
            let read = client.read_resource("test://static-text").unwrap();
            assert!(read.contents[0].as_text().is_some(), "{during}");
            let templates = client.list_resource_templates().unwrap();
            assert!(!templates.is_empty(), "{during}");
            let read = client.read_resource("test://template/7/data").unwrap();
            assert!(
                read.contents[0].as_text().unwrap().contains('7'),
                "{during}"
            );
            let missing = client.read_resource("test://none").unwrap_err();
            assert!(missing.is_not_found(), "{during}: {missing}");
            client.close();
        }
    }
}

#[test]
fn arguments_of_prompts_are_completed_by_their_server() {
    for ours in ERAS {
        let client = both("modern", builder(ours));
        let prompts = client.list_prompts().unwrap();
        let greet = prompts.iter().find(|prompt| prompt.name == "e__greet");
        let argument = greet.unwrap().arguments.as_ref().unwrap()[0].name.clone();
        let reference = CompletionReference::prompt("e__greet");
        let params = CompleteRequestParams::new(reference, argument, "");
        let completed = client.complete(params).unwrap();
        assert!(!completed.completion.values.is_empty(), "{ours}");
    }
}

#[test]
fn questions_of_servers_reach_the_client() {
    for theirs in ERAS {
        for ours in ERAS {
            let builder = builder(ours)
                .on_elicit(|form, _| {
                    let schema: Value =
                        serde_json::from_str(form.requested_schema.as_str()).unwrap();
                    let fields = schema["properties"].as_object().unwrap().keys();
                    let filled = fields.map(|name| (name.clone(), Value::from("Ada")));
                    ElicitResult::accept(&filled.collect::<serde_json::Map<_, _>>()).unwrap()
                })
                .on_sample(|params, _| {
                    let asked = params.messages[0].content.blocks()[0].as_text();
                    Ok(CreateMessageResult::new(
                        "model",
                        format!("about {}", asked.unwrap()),
                    ))
                })
                .on_list_roots(|_| Ok(vec![Root::new("file:///work")]));
            let client = both(theirs, builder);
            let during = format!("{theirs} servers, {ours} client");
            let answer = call(&client, "e__test_elicitation", json!({"message": "Who?"}));
            assert!(
                answer.contains("accept") && answer.contains("Ada"),
                "{during}: {answer}"
            );
            let answer = call(&client, "e__test_sampling", json!({"prompt": "cats"}));
            assert_eq!(answer, "LLM response: about cats", "{during}");
            let rounds = |kind: &str| format!("e__test_input_required_result_{kind}");
            let answer = call(&client, &rounds("list_roots"), json!({}));
            assert!(answer.contains("file:///work"), "{during}: {answer}");
            // Several questions at once, and one after the other.
            for kind in ["multiple_inputs", "multi_round"] {
                let answer = call(&client, &rounds(kind), json!({}));
                assert!(answer.contains("Ada"), "{during} {kind}: {answer}");
            }
        }
    }
}

#[test]
fn a_client_that_can_not_be_asked_gets_an_answer_all_the_same() {
    for theirs in ERAS {
        for ours in ERAS {
            let client = both(theirs, builder(ours));
            let options = CallOptions::new().timeout(LONG);
            let asked = json!({"message": "Who?"});
            let answer = client.call_tool_with("e__test_elicitation", &asked, options);
            let during = format!("{theirs} servers, {ours} client");
            match answer {
                Ok(result) => {
                    // A legacy server is told in advance that it may not ask.
                    let said = text(&result);
                    assert!(
                        said.contains("has to declare: elicitation"),
                        "{during}: {said}"
                    );
                }
                Err(error) => assert_eq!(error.kind(), ErrorKind::Peer, "{during}: {error}"),
            }
            assert_eq!(
                call(&client, "i__greet", json!({"name": "Ada"})),
                "Hello, Ada!"
            );
        }
    }
}

#[test]
fn progress_and_cancellation_pass() {
    for theirs in ERAS {
        for ours in ERAS {
            let client = both(theirs, builder(ours));
            let mut seen = Vec::new();
            let options = CallOptions::new().on_progress(|progress| seen.push(progress.progress));
            let arguments = json!({"steps": 3, "delay_ms": 1});
            client
                .call_tool_with("i__slow", &arguments, options)
                .unwrap();
            assert_eq!(seen.last(), Some(&3.0), "{theirs} {ours}: {seen:?}");

            // One call at the server: it runs for an hour, unless the cancellation reaches it. Its
            // end is not visible to a client, so the server's record shows it below.
            let long = json!({"steps": 3600, "delay_ms": 1000});
            let mut pending = client
                .start_tool("i__slow", &long, CallOptions::new())
                .unwrap();
            pending.cancel();
            let error = pending.wait().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Cancelled, "{theirs} {ours}");
            assert_eq!(
                call(&client, "i__greet", json!({"name": "Ada"})),
                "Hello, Ada!"
            );
        }
    }
}

#[test]
fn a_cancellation_reaches_the_server() {
    let record = file("cancelled.jsonl");
    let i = server("i", "interop_server");
    let client = builder("modern")
        .connect(proxy(&["--record", record.to_str().unwrap(), &i]))
        .unwrap();
    let long = json!({"steps": 3600, "delay_ms": 10});
    let mut options = CallOptions::new();
    options = options.meta("trace", "x");
    let mut pending = client.start_tool("slow", &long, options).unwrap();
    // The call is at the server when its progress comes.
    let event = pending.events().recv_timeout(LONG).unwrap();
    assert!(matches!(event, CallEvent::Progress(_)), "{event:?}");
    pending.cancel();
    // The proxy answers after it has sent the cancellation on.
    drop(pending);
    call(&client, "greet", json!({"name": "Ada"}));
    client.close();
    let lines = std::fs::read_to_string(&record).unwrap();
    let with = |parts: &[&str]| {
        let mut lines = lines
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.find(|line| parts.iter().all(|part| line.to_string().contains(part)))
    };
    let peer = r#""peer":"i""#;
    let sent = with(&[peer, "tools/call", r#""name":"slow""#]).expect("the call");
    let id = format!(r#""requestId":{}"#, sent["message"]["id"]);
    let cancelled = with(&[peer, "notifications/cancelled", &id]);
    assert!(cancelled.is_some(), "{lines}");
    assert!(
        lines.contains(r#""trace":"x""#),
        "the member of _meta is lost: {lines}"
    );
    std::fs::remove_file(record).unwrap();
}

#[test]
fn a_slow_server_delays_no_other() {
    let (slow, fast) = (
        server("slow", "interop_server"),
        server("fast", "interop_server"),
    );
    for ours in ERAS {
        let client = builder(ours).connect(proxy(&[&slow, &fast])).unwrap();
        let long = json!({"steps": 1, "delay_ms": 3_600_000});
        let start = || {
            client
                .start_tool("slow__slow", &long, CallOptions::new())
                .unwrap()
        };
        // More than run at one server at once.
        let pending: Vec<_> = (0..70).map(|_| start()).collect();
        for _ in 0..10 {
            assert_eq!(
                call(&client, "fast__greet", json!({"name": "Ada"})),
                "Hello, Ada!"
            );
        }
        // The cancelled calls give way to the next one.
        drop(pending);
        assert_eq!(
            call(&client, "slow__greet", json!({"name": "Ada"})),
            "Hello, Ada!"
        );
    }
}

#[test]
fn tools_are_filtered_by_patterns() {
    let (i, e) = (
        server("i", "interop_server"),
        server("e", "everything_server"),
    );
    let words = [
        &*i, &*e, "--allow", "i__*", "--allow", "e__add", "--deny", "*__f?il",
    ];
    let client = builder("modern").connect(proxy(&words)).unwrap();
    let tools = client.list_tools().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, ["i__add", "i__greet", "i__slow", "e__add"]);
    let hidden = client.call_tool("i__fail", &json!({})).unwrap_err();
    assert_eq!(hidden.rpc().unwrap().code, ErrorCode::INVALID_PARAMS);
    // A pattern with a typing error hides nothing.
    let ran = mcp_with(&["proxy", "--deny", "*fial", "--deny", "fail"], "");
    assert!(
        ran.err.contains("--deny '*fial' fits no tool"),
        "{}",
        ran.err
    );
    assert!(!ran.err.contains("'fail'"), "{}", ran.err);
}

#[test]
fn changes_of_lists_and_resources_pass() {
    for theirs in ERAS {
        for ours in ERAS {
            let client = both(theirs, builder(ours));
            let uri = "test://watched-resource";
            let filter = SubscriptionFilter::default().resource_subscriptions(vec![uri.to_owned()]);
            let (_subscription, events) = client
                .subscribe_channel(filter, CallOptions::new())
                .unwrap();
            call(&client, "e__touch", json!({"uri": uri}));
            let event = events.recv_timeout(LONG).unwrap();
            assert_eq!(
                event,
                Event::ResourceUpdated(uri.to_owned()),
                "{theirs} {ours}"
            );
        }
    }
}

#[test]
fn a_resource_of_two_servers_is_that_of_the_first_one() {
    let path = example("list_server");
    let named = |name: &str| format!("{name}='{}' {name}", path.display());
    let (a, b) = (named("a"), named("b"));
    for theirs in ERAS {
        for ours in ERAS {
            let during = format!("{theirs} servers, {ours} client");
            let client = builder(ours)
                .connect(proxy(&["--era", theirs, &a, &b]))
                .unwrap();
            let uri = "x:shared";
            let filter = SubscriptionFilter::default()
                .tools_list_changed(true)
                .resources_list_changed(true)
                .resource_subscriptions(vec![uri.to_owned()]);
            let (_subscription, events) = client
                .subscribe_channel(filter, CallOptions::new())
                .unwrap();
            let await_event = |wanted: Event| {
                let deadline = Instant::now() + LONG;
                while events.recv_deadline(deadline).expect(&during) != wanted {}
            };
            let listed = || {
                let options = CallOptions::new().bypass_cache();
                let resources = client.list_resources_with(options).unwrap();
                resources.into_iter().filter(|one| one.uri == uri).count()
            };
            // The first server has dropped the resource before the proxy knows it.
            let read = || {
                let options = CallOptions::new().bypass_cache();
                match client.read_resource_with(uri, options) {
                    Ok(read) => read.contents[0].as_text().unwrap().to_owned(),
                    Err(error) if error.is_not_found() => "nothing".to_owned(),
                    Err(error) => panic!("{during}: {error}"),
                }
            };
            let wait_for = |wanted: &str| {
                let deadline = Instant::now() + LONG;
                while read() != wanted {
                    assert!(Instant::now() < deadline, "{during}: {wanted}");
                    await_event(Event::ResourcesChanged);
                }
            };
            assert_eq!((listed(), &*read()), (1, "a"), "{during}");
            // A change of the second one is not a change of the resource.
            call(&client, "b__drop", json!({}));
            call(&client, "b__add", json!({}));
            call(&client, "a__touch", json!({}));
            await_event(Event::ResourceUpdated(uri.to_owned()));
            assert_eq!((listed(), &*read()), (1, "a"), "{during}");
            // The second one takes the place of the first one, and gives it back.
            call(&client, "a__drop", json!({}));
            wait_for("b");
            assert_eq!(listed(), 1, "{during}");
            call(&client, "a__add", json!({}));
            wait_for("a");
            assert_eq!(listed(), 1, "{during}");

            call(&client, "a__grow", json!({}));
            await_event(Event::ToolsChanged);
            let tools = client
                .list_tools_with(CallOptions::new().bypass_cache())
                .unwrap();
            assert!(tools.iter().any(|tool| tool.name == "a__grown"));
        }
    }
}

#[test]
fn a_server_that_ends_is_started_again_and_disturbs_no_other() {
    let pids = file("pids");
    let script = format!(
        "mortal=sh -c 'echo $$ >> \"{}\"; exec \"{}\"'",
        pids.display(),
        example("interop_server").display()
    );
    let other = server("other", "interop_server");
    let client = builder("modern")
        .connect(proxy(&[&script, &other]))
        .unwrap();
    assert_eq!(
        call(&client, "mortal__greet", json!({"name": "Ada"})),
        "Hello, Ada!"
    );
    let pid = std::fs::read_to_string(&pids).unwrap().trim().to_owned();
    assert!(
        Command::new("kill")
            .args(["-9", &pid])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(
        call(&client, "other__greet", json!({"name": "Ada"})),
        "Hello, Ada!"
    );
    let deadline = Instant::now() + LONG;
    loop {
        let again = client.call_tool("mortal__greet", &json!({"name": "Ada"}));
        match again {
            Ok(result) => break assert_eq!(text(&result), "Hello, Ada!"),
            Err(error) => {
                assert!(Instant::now() < deadline, "{error}");
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
    client.close();
    std::fs::remove_file(pids).unwrap();
}

#[test]
fn a_server_that_does_not_start_disturbs_no_other() {
    let other = server("other", "interop_server");
    let client = builder("legacy")
        .connect(proxy(&["none=/no/such/program", &other]))
        .unwrap();
    assert_eq!(
        call(&client, "other__greet", json!({"name": "Ada"})),
        "Hello, Ada!"
    );
    let names: Vec<_> = client.list_tools().unwrap();
    assert!(names.iter().all(|tool| tool.name.starts_with("other__")));

    // No server at all is a failure.
    let ran = mcp_against(&["proxy"], &["/no/such/program"], "");
    assert_eq!(ran.code, 4, "{}", ran.err);
    assert!(ran.err.contains("/no/such/program"), "{}", ran.err);
    // So it is if no server answers in time.
    let ran = mcp_against(&["proxy", "--timeout", "0.5"], &["sleep", "3600"], "");
    assert_eq!(ran.code, 5, "{}", ran.err);
    for (words, part) in [
        (vec!["proxy", "a="], "expected NAME"),
        (
            vec!["proxy", "a=x", "b=y", "--header", "A:b"],
            "each of the servers",
        ),
        (
            vec!["proxy", "a=x", "b=y", "--login", "--client-id", "me"],
            "--client-id would reach each of the servers",
        ),
        (
            vec!["proxy", "a=x", "--record", "/no/such/folder/f"],
            "--record",
        ),
        (
            vec!["proxy", "nowhere", "--config", "/no/such/file"],
            "/no/such/file",
        ),
    ] {
        let run = program().args(&words).output().unwrap();
        let said = String::from_utf8(run.stderr).unwrap();
        assert_eq!(run.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(part), "{words:?}: {said}");
    }
}

#[test]
fn a_server_that_is_not_configured_well_disturbs_no_other() {
    let config = file("proxied.json");
    let (path, other) = (config.to_str().unwrap(), example("interop_server"));
    let input = json!({"mcpServers": {
        "needs": {"command": "x", "env": {"KEY": "${input:key}"}},
        "other": {"command": other},
    }});
    std::fs::write(&config, input.to_string()).unwrap();
    let client = builder("modern")
        .connect(proxy(&["--all", "--config", path]))
        .unwrap();
    assert_eq!(
        call(&client, "other__greet", json!({"name": "Ada"})),
        "Hello, Ada!"
    );
    client.close();

    // A server that the first file disables is not that of a later file.
    let home = std::env::temp_dir().join(format!("mcplink-{}-disabled", std::process::id()));
    std::fs::create_dir_all(home.join(".cursor")).unwrap();
    let first = json!({"mcpServers": {"one": {"command": other, "disabled": true}}});
    let second = json!({"mcpServers": {"one": {"command": other}}});
    std::fs::write(home.join(".mcp.json"), first.to_string()).unwrap();
    std::fs::write(home.join(".cursor/mcp.json"), second.to_string()).unwrap();
    let run = program()
        .args(["proxy", "--all"])
        .env("HOME", &home)
        .env("XDG_CONFIG_HOME", home.join("settings"))
        .current_dir(&home)
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8(run.stderr).unwrap();
    assert_eq!(run.status.code(), Some(2), "{said}");
    assert!(said.contains("the servers are missing"), "{said}");
    std::fs::remove_dir_all(home).unwrap();
    std::fs::remove_file(config).unwrap();
}

/// A broken server is tried several times while a slow one starts. These attempts are no outcomes
/// of the slow server.
#[test]
fn a_slow_server_is_awaited_while_a_broken_one_fails_again() {
    // The slow server starts when the broken one was tried three times.
    let attempts = file("attempts");
    let path = attempts.display();
    let broken = format!("broken=sh -c 'echo x >> \"{path}\"; exit 1'");
    let slow = format!(
        "slow=sh -c 'until [ \"$(wc -l < \"{path}\")\" -ge 3 ]; do sleep 0.1; done; exec \"{}\"'",
        example("interop_server").display()
    );
    for ours in ERAS {
        std::fs::write(&attempts, "").unwrap();
        let client = builder(ours).connect(proxy(&[&broken, &slow])).unwrap();
        assert_eq!(
            call(&client, "slow__greet", json!({"name": "Ada"})),
            "Hello, Ada!"
        );
        client.close();
    }
    std::fs::remove_file(attempts).unwrap();
}

#[test]
fn the_proxy_ends_with_the_input_of_its_host() {
    let i = server("i", "interop_server");
    let run = program()
        .args(["proxy", &i])
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8(run.stderr).unwrap();
    assert_eq!(run.status.code(), Some(0), "{said}");
    assert!(run.stdout.is_empty());
}

#[test]
fn clients_over_http_are_served_until_a_signal() {
    for theirs in ERAS {
        let mut command = program();
        let (i, e) = (
            server("i", "interop_server"),
            server("e", "everything_server"),
        );
        // On one round over a Unix socket, where there are such.
        let name = format!("mcplink-proxy-{}.sock", std::process::id());
        let socket = std::env::temp_dir().join(name);
        let address = match theirs {
            "modern" if cfg!(unix) => format!("unix:{}", socket.display()),
            _ => "0".to_owned(),
        };
        command.args(["proxy", "--listen", &address, "--era", theirs, &i, &e]);
        let mut running = Running::of(command);
        let line = running
            .said
            .find(|line| line.as_ref().unwrap().contains("serving at"));
        let line = line.unwrap().unwrap();
        let url = line.rsplit(' ').next().unwrap().to_owned();
        for ours in ERAS {
            let asking = builder(ours).on_elicit(|_, _| {
                let content = json!({"username": "Ada", "email": "a@b.c"});
                ElicitResult::accept(content.as_object().unwrap()).unwrap()
            });
            let client = asking.connect(Http::new(&url).unwrap()).unwrap();
            assert_eq!(
                call(&client, "i__greet", json!({"name": "Ada"})),
                "Hello, Ada!"
            );
            let answer = call(&client, "e__test_elicitation", json!({"message": "Who?"}));
            assert!(answer.contains("Ada"), "{theirs} {ours}: {answer}");
            // A proxy in front of the proxy: from stdio to HTTP.
            let front = builder(ours).connect(proxy(&["--url", &url])).unwrap();
            assert_eq!(
                call(&front, "i__greet", json!({"name": "Eve"})),
                "Hello, Eve!"
            );
        }
        let pid = running.child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-TERM", &pid])
                .status()
                .unwrap()
                .success()
        );
        assert_eq!(running.child.wait().unwrap().code(), Some(130));
        assert!(!socket.exists());
    }
}

/// A legacy server does not say which call needs the input. Over HTTP, no client may get the
/// question of another one.
#[test]
fn a_question_that_may_be_for_another_client_is_not_asked() {
    let mut command = program();
    let e = server("e", "everything_server");
    command.args(["proxy", "--listen", "0", "--era", "legacy", "--prefix", &e]);
    let mut running = Running::of(command);
    let line = running
        .said
        .find(|line| line.as_ref().unwrap().contains("serving at"));
    let url = line
        .unwrap()
        .unwrap()
        .rsplit(' ')
        .next()
        .unwrap()
        .to_owned();
    let (asked, questions) = mpsc::channel();
    let (answer, answers) = mpsc::channel::<()>();
    let answers = std::sync::Mutex::new(answers);
    let first = builder("legacy")
        .on_elicit(move |_, _| {
            asked.send(()).unwrap();
            answers.lock().unwrap().recv_timeout(LONG).unwrap();
            ElicitResult::decline()
        })
        .connect(Http::new(&url).unwrap())
        .unwrap();
    let second = builder("legacy")
        .on_elicit(|_, _| panic!("this client asked nothing"))
        .connect(Http::new(&url).unwrap())
        .unwrap();
    let message = json!({"message": "Who?"});
    let pending = first
        .start_tool("e__test_elicitation", &message, CallOptions::new())
        .unwrap();
    questions.recv_timeout(LONG).unwrap();
    // Two calls of two clients are at the server.
    let refused = call(&second, "e__test_elicitation", message.clone());
    assert!(refused.contains("cancel"), "{refused}");
    answer.send(()).unwrap();
    assert!(text(&pending.wait().unwrap()).contains("decline"));

    // The first client has cancelled its call, but the server may still be at work for it.
    let mut pending = first
        .start_tool("e__test_elicitation", &message, CallOptions::new())
        .unwrap();
    questions.recv_timeout(LONG).unwrap();
    pending.cancel();
    answer.send(()).unwrap();
    call(&first, "e__echo", json!({"message": "x"}));
    let refused = call(&second, "e__test_elicitation", message);
    assert!(refused.contains("cancel"), "{refused}");
}

/// Calls do not wait without end for a server that can't be started again.
#[test]
fn calls_to_a_server_that_stays_away_fail() {
    let pids = file("away");
    let path = pids.display();
    let script = format!(
        "mortal=sh -c '[ -e \"{path}\" ] && exit 1; echo $$ > \"{path}\"; exec \"{}\"'",
        example("interop_server").display()
    );
    let other = server("other", "interop_server");
    let client = builder("modern")
        .connect(proxy(&[&script, &other]))
        .unwrap();
    let greet = |name: &str| {
        // Longer than the proxy lets a call wait.
        let options = CallOptions::new().timeout(3 * LONG);
        client.call_tool_with(&format!("{name}__greet"), &json!({"name": "Ada"}), options)
    };
    assert_eq!(text(&greet("mortal").unwrap()), "Hello, Ada!");
    let pid = std::fs::read_to_string(&pids).unwrap();
    assert!(kill("KILL", pid.trim().parse().unwrap()));
    let deadline = Instant::now() + 3 * LONG;
    loop {
        let error = greet("mortal").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Peer, "{error}");
        if error.to_string().contains("is not connected") {
            break;
        }
        // The call was in flight when the connection was lost.
        assert!(Instant::now() < deadline, "{error}");
    }
    assert_eq!(text(&greet("other").unwrap()), "Hello, Ada!");
    client.close();
    std::fs::remove_file(pids).unwrap();
}

/// A URI that no server lists goes to no server that lists nothing like it.
#[test]
fn a_server_without_the_scheme_is_not_asked() {
    let record = file("schemes.jsonl");
    let (e, list) = (
        server("e", "everything_server"),
        format!("list='{}' x", example("list_server").display()),
    );
    for ours in ERAS {
        let words = ["--record", record.to_str().unwrap(), &*e, &*list];
        let client = builder(ours).connect(proxy(&words)).unwrap();
        for uri in ["secret://of-nobody", "x:of-list"] {
            let missing = client.read_resource(uri).unwrap_err();
            assert!(missing.is_not_found(), "{uri}: {missing}");
        }
        client.close();
        let lines = std::fs::read_to_string(&record).unwrap();
        let lines = lines
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let asked: Vec<_> = lines
            .filter(|line| line["message"]["method"] == "resources/read" && line["dir"] == "out")
            .map(|line| {
                (
                    line["peer"].clone(),
                    line["message"]["params"]["uri"].clone(),
                )
            })
            .filter(|(peer, _)| !peer.is_null())
            .collect();
        assert_eq!(asked, [(json!("list"), json!("x:of-list"))], "{ours}");
    }
    std::fs::remove_file(record).unwrap();
}
