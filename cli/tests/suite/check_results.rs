//! The action `check`: results that are not as the schema of the specification describes.

use std::sync::Mutex;
use std::thread;

use serde_json::{Value, json};

use crate::checks::{check, names};
use crate::runs::{example, shown_at_a_terminal};

/// A server of 2026-07-28 and of earlier revisions, with these results.
fn server_with(revision: &str, results: &[(&str, Value)]) -> String {
    let mut own = serde_json::Map::new();
    let capabilities = json!({"tools": {}, "prompts": {}, "resources": {}, "completions": {}});
    let mut add = |method: &str, result: Value| own.insert(method.to_owned(), result);
    match revision {
        "2026-07-28" => {
            let mut discovered = json!({"supportedVersions": [revision]});
            discovered["capabilities"] = capabilities;
            add("server/discover", cached(discovered));
        }
        _ => {
            let info = json!({"name": "own", "version": "1"});
            let mut opened = json!({"protocolVersion": revision, "serverInfo": info});
            opened["capabilities"] = capabilities;
            add("initialize", opened);
        }
    }
    let tool = json!({"name": "t", "description": "d", "inputSchema": {"type": "object"}});
    add("tools/list", cached(json!({"tools": [tool]})));
    let prompt = json!({"name": "p", "arguments": [{"name": "a"}]});
    add("prompts/list", cached(json!({"prompts": [prompt]})));
    let resource = json!({"uri": "x:r", "name": "r"});
    add("resources/list", cached(json!({"resources": [resource]})));
    add(
        "resources/templates/list",
        cached(json!({"resourceTemplates": []})),
    );
    add("tools/call", complete(json!({"content": []})));
    add("prompts/get", complete(json!({"messages": []})));
    add("resources/read", cached(json!({"contents": []})));
    add(
        "completion/complete",
        complete(json!({"completion": {"values": []}})),
    );
    for (method, result) in results {
        add(method, result.clone());
    }
    Value::Object(own).to_string()
}

fn complete(mut result: Value) -> Value {
    result["resultType"] = json!("complete");
    result
}

fn cached(result: Value) -> Value {
    let mut result = complete(result);
    (result["ttlMs"], result["cacheScope"]) = (json!(0), json!("private"));
    result
}

/// Runs the checks of results against a server with these results.
fn results_of(revision: &str, results: &[(&str, Value)]) -> Value {
    let program = example("bad_server");
    let server = server_with(revision, results);
    let words = ["--only", "results/", "--call", "t", "--revision", revision];
    let place = ["--timeout", "10", "--", program.to_str().unwrap(), &server];
    check(&[&words[..], &place[..]].concat()).1
}

/// A slow server is started a few times only, and a terminal shows which check runs.
#[test]
fn checks_share_connections_and_show_progress() {
    let starts = std::env::temp_dir().join(format!("mcplink-{}-starts", std::process::id()));
    std::fs::write(&starts, "").unwrap();
    let (path, server) = (starts.display(), example("everything_server"));
    let script = format!("echo x >> '{path}'; exec '{}' stdio", server.display());
    let (code, report) = check(&["--", "sh", "-c", &script]);
    assert_eq!((code, names(&report, "failed")), (0, vec![]), "{report:#}");
    let count = std::fs::read_to_string(&starts).unwrap().lines().count();
    assert!(count <= 16, "it was started {count} times");
    std::fs::remove_file(starts).unwrap();

    let place = ["--", server.to_str().unwrap(), "stdio"];
    let words = ["check", "--only", "protocol/ping"];
    let shown = shown_at_a_terminal(&[&words[..], &place[..]].concat());
    assert!(shown.contains("[1/1] protocol/ping"), "{shown:?}");
    assert!(shown.contains("ok     protocol/ping"), "{shown:?}");
}

/// Runs each case, four at once.
fn each<T: Sync>(cases: &[T], run: impl Fn(&T) + Sync) {
    let left = Mutex::new(cases.iter());
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let Some(case) = left.lock().unwrap().next() else {
                        return;
                    };
                    run(case);
                }
            });
        }
    });
}

const REVISIONS: [&str; 5] = [
    "2024-11-05",
    "2025-03-26",
    "2025-06-18",
    "2025-11-25",
    "2026-07-28",
];

#[test]
fn results_as_the_schema_describes_them_pass() {
    let text = json!({"type": "text", "text": "x"});
    let image = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
    let embedded = json!({"type": "resource", "resource": {"uri": "x:r", "blob": "AA=="}});
    let content = json!({"content": [text, image, embedded], "isError": true});
    let contents = json!({"contents": [{"uri": "x:r", "text": "x"}, {"uri": "x:s", "blob": ""}]});
    let message = json!({"role": "user", "content": {"type": "text", "text": "x"}});
    each(&REVISIONS, |revision| {
        let results = [
            ("tools/call", complete(content.clone())),
            ("resources/read", cached(contents.clone())),
            (
                "prompts/get",
                complete(json!({"messages": [message.clone()]})),
            ),
        ];
        let report = results_of(revision, &results);
        assert_eq!(names(&report, "passed").len(), 6, "{revision}: {report:#}");
    });
}

#[test]
fn faults_of_results_are_found() {
    let blocks = |block: Value| json!({"content": [block]});
    let message = |message: Value| json!({"messages": [message]});
    let contents = |contents: Value| json!({"contents": [contents]});
    let list = |name: &str, entry: Value| json!({name: [entry]});
    let values: Vec<String> = (0..101).map(|number| number.to_string()).collect();
    let faults = [
        ("tools/call", json!({}), "content is missing"),
        ("tools/call", json!({"content": null}), "content is null"),
        ("tools/call", json!({"content": {}}), "content is {}"),
        ("tools/call", json!({"content": "x"}), "content is"),
        (
            "tools/call",
            json!({"content": [], "isError": "no"}),
            "isError is",
        ),
        (
            "tools/call",
            json!({"content": [], "_meta": []}),
            "_meta is []",
        ),
        ("tools/call", blocks(json!("x")), "content[0] is"),
        (
            "tools/call",
            blocks(json!({"text": "x"})),
            "content[0] is of no known kind",
        ),
        (
            "tools/call",
            blocks(json!({"type": "video"})),
            "content[0] is of no known kind",
        ),
        (
            "tools/call",
            blocks(json!({"type": "text"})),
            "content[0].text is missing",
        ),
        (
            "tools/call",
            blocks(json!({"type": "text", "text": 1})),
            "content[0].text is 1",
        ),
        (
            "tools/call",
            blocks(json!({"type": "image", "data": "AAAA"})),
            "content[0].mimeType is missing",
        ),
        (
            "tools/call",
            blocks(json!({"type": "image", "data": "no base64", "mimeType": "image/png"})),
            "content[0].data is",
        ),
        (
            "tools/call",
            blocks(json!({"type": "resource", "resource": {"uri": "x:r"}})),
            "content[0].resource.",
        ),
        (
            "tools/call",
            blocks(json!({"type": "text", "text": "x", "annotations": {"priority": 2}})),
            "content[0].annotations.priority is 2, not at most 1",
        ),
        (
            "tools/call",
            blocks(json!({"type": "text", "text": "x", "annotations": {"audience": ["all"]}})),
            "content[0].annotations.audience[0] is",
        ),
        ("prompts/get", json!({}), "messages is missing"),
        (
            "prompts/get",
            message(json!({"content": {}})),
            "messages[0].role is missing",
        ),
        (
            "prompts/get",
            message(json!({"role": "system", "content": {"type": "text", "text": "x"}})),
            "messages[0].role is",
        ),
        (
            "prompts/get",
            message(json!({"role": "user", "content": [{"type": "text", "text": "x"}]})),
            "messages[0].content is",
        ),
        ("resources/read", json!({}), "contents is missing"),
        (
            "resources/read",
            contents(json!({"uri": "x:r"})),
            "contents[0].",
        ),
        (
            "resources/read",
            contents(json!({"text": "x"})),
            "contents[0].uri is missing",
        ),
        (
            "resources/read",
            contents(json!({"uri": "no", "text": "x"})),
            "contents[0].uri is",
        ),
        ("completion/complete", json!({}), "completion is missing"),
        (
            "completion/complete",
            json!({"completion": {}}),
            "completion.values is missing",
        ),
        (
            "completion/complete",
            json!({"completion": {"values": values}}),
            "not of at most 100 items",
        ),
        (
            "completion/complete",
            json!({"completion": {"values": [], "total": 1.5}}),
            "completion.total is 1.5",
        ),
        (
            "tools/list",
            list("tools", json!({"name": "t"})),
            "tools[0].inputSchema is missing",
        ),
        (
            "prompts/list",
            list("prompts", json!({"description": "d"})),
            "prompts[0].name is missing",
        ),
        (
            "resources/list",
            list("resources", json!({"uri": "x:r"})),
            "resources[0].name is missing",
        ),
        (
            "resources/templates/list",
            list("resourceTemplates", json!({"name": "n"})),
            "resourceTemplates[0].uriTemplate is missing",
        ),
    ];
    let cases: Vec<_> = ["2024-11-05", "2025-11-25", "2026-07-28"]
        .iter()
        .flat_map(|revision| faults.iter().map(move |fault| (revision, fault)))
        .collect();
    each(&cases, |(revision, (method, result, expected))| {
        let report = results_of(revision, &[(method, cached(result.clone()))]);
        let failed = report["checks"].as_array().unwrap().iter();
        let mut failed = failed.filter(|check| check["status"] == "failed");
        let texts: Vec<&str> = failed
            .by_ref()
            .map(|check| check["text"].as_str().unwrap())
            .collect();
        let is_named = |text: &&str| text.contains(expected);
        assert!(
            texts.iter().any(is_named),
            "{revision} {method} {result}: {texts:?}"
        );
    });
}

#[test]
fn faults_of_modern_results_are_found() {
    let faults = [
        (
            "tools/call",
            json!({"content": []}),
            "resultType is missing",
        ),
        (
            "resources/read",
            complete(json!({"contents": []})),
            "ttlMs is missing",
        ),
        (
            "tools/list",
            complete(json!({"tools": []})),
            "cacheScope is missing",
        ),
    ];
    each(&faults, |(method, result, expected)| {
        let report = results_of("2026-07-28", &[(method, result.clone())]).to_string();
        assert!(report.contains(expected), "{method}: {report}");
    });
}

/// A server that opens with a faulty result gets a report.
#[test]
fn faults_of_the_first_result_are_found() {
    let info = json!({"name": "n", "version": "1"});
    let whole = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": info});
    let without = |member: &str| {
        let mut result = whole.clone();
        result.as_object_mut().unwrap().remove(member);
        result
    };
    let with = |member: &str, value: Value| {
        let mut result = whole.clone();
        result[member] = value;
        result
    };
    let faults = [
        (json!(null), "the result is null"),
        (json!([]), "the result is []"),
        (json!({}), "capabilities is missing"),
        (without("protocolVersion"), "protocolVersion is missing"),
        (with("protocolVersion", json!(1)), "protocolVersion is 1"),
        (
            with("protocolVersion", json!("1.0")),
            "no revision is named '1.0'",
        ),
        (without("capabilities"), "capabilities is missing"),
        (with("capabilities", json!([])), "capabilities is []"),
        (
            with("capabilities", json!({"tools": true})),
            "capabilities.tools is true",
        ),
        (
            with("capabilities", json!({"tools": {"listChanged": "yes"}})),
            "capabilities.tools.listChanged is",
        ),
        (
            with("capabilities", json!({"experimental": []})),
            "capabilities.experimental is []",
        ),
        (without("serverInfo"), "serverInfo is missing"),
        (
            with("serverInfo", json!({"name": "n"})),
            "serverInfo.version is missing",
        ),
        (
            with("serverInfo", json!({"name": 1, "version": "1"})),
            "serverInfo.name is 1",
        ),
        (with("instructions", json!(["x"])), "instructions is"),
        (with("_meta", json!("x")), "_meta is"),
    ];
    each(&faults, |(result, expected)| {
        let report = results_of("2025-11-25", &[("initialize", result.clone())]);
        let checks = report["checks"].as_array().unwrap();
        let opening = checks
            .iter()
            .find(|check| check["name"] == "results/opening");
        let opening = opening.unwrap();
        assert_eq!(opening["status"], "failed", "{result}: {report:#}");
        let text = opening["text"].as_str().unwrap();
        assert!(text.contains(expected), "{result}: {text}");
    });
    let discovered = json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": 1}});
    for (result, expected) in [
        (cached(discovered), "capabilities.tools is 1"),
        (json!([]), "the result is []"),
    ] {
        let report = results_of("2026-07-28", &[("server/discover", result)]);
        let text = report.to_string();
        assert!(text.contains(expected), "{text}");
    }
}

/// An error without a code or a message is a fault, whatever is refused.
#[test]
fn faults_of_errors_are_found() {
    let errors = json!({"tools/call": {"code": -32602}, "prompts/get": {"message": "no"}});
    let report = results_of("2025-11-25", &[("errors", errors)]);
    assert_eq!(
        names(&report, "failed"),
        ["results/call", "results/prompt"],
        "{report:#}"
    );
    let text = report.to_string();
    assert!(text.contains("an integer code and a message"), "{text}");
}

/// Half of a surrogate pair is a character that got lost, and no fault of the form.
#[test]
fn half_of_a_surrogate_pair_is_read() {
    let half = "before \u{fffe}";
    let block = json!({"type": "text", "text": half});
    let tool = json!({"name": "t", "description": half, "inputSchema": {"type": "object"}});
    let results = [
        ("tools/list", json!({"tools": [tool]})),
        ("tools/call", json!({"content": [block.clone()]})),
        (
            "prompts/get",
            json!({"messages": [{"role": "user", "content": block}]}),
        ),
    ];
    let report = results_of("2025-11-25", &results);
    assert_eq!(names(&report, "passed").len(), 6, "{report:#}");
}
