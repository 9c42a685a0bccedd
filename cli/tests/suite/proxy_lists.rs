//! `mcplink proxy`: the lists of servers, and the names in them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::common::wait_until;
use crate::proxy::{ERAS, builder, call, file, proxy};
use crate::runs::{example, program};

/// A server with tools of these names, as the proxy names it.
fn with_tools(name: &str, tools: &[&str]) -> String {
    let words = tools.iter().map(|tool| format!(" '{tool}'"));
    let words: String = words.collect();
    format!("{name}='{}' x{words}", example("list_server").display())
}

/// Starts a proxy and returns the names of the tools that say their own names, by these.
fn named(servers: &[&str], own: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
    let client = builder("modern").connect(proxy(servers)).unwrap();
    let mut named = BTreeMap::<String, BTreeSet<String>>::new();
    for tool in client.list_tools().unwrap() {
        let is_own = |own: &&str| {
            let begin: String = own.chars().take(4).collect();
            tool.name.contains(&begin)
        };
        if own.iter().any(is_own) {
            let said = call(&client, &tool.name, json!({}));
            named.entry(said).or_default().insert(tool.name);
        }
    }
    named
}

/// Interfaces of models take `^[a-zA-Z0-9_-]{1,64}$`.
#[test]
fn names_fit_the_interfaces_of_models() {
    let long = format!("long_{}", "x".repeat(80));
    let (first, second) = (format!("{long}_1"), format!("{long}_2"));
    let fits = format!("fits{}", "y".repeat(57));
    let own = [&*first, &second, &fits, "dots.in.name"];
    let tall = "a-server-with-a-name-that-is-far-too-long-for-any-prefix";
    let (a, b) = (with_tools("a", &own), with_tools(tall, &own));
    let all = named(&[&a, &b], &own);
    assert_eq!(all.len(), own.len(), "{all:?}");
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    for (said, names) in &all {
        // One name of each server.
        assert_eq!(names.len(), 2, "{said}: {names:?}");
        for name in names {
            assert!(name.len() <= 64 && name.chars().all(is_plain), "{name}");
        }
    }
    // A name that fits stays. The others are the same in each version of the program.
    assert!(all[&fits].contains(&format!("a__{fits}")), "{all:?}");
    let dots = BTreeSet::from([
        "a-server-with-a-name-_9cc25999__dots_in_name_3f3cb172".to_owned(),
        "a__dots_in_name_271c3421".to_owned(),
    ]);
    assert_eq!(all["dots.in.name"], dots);
    // The order of the servers does not matter.
    assert_eq!(named(&[&b, &a], &own), all);
    // Without a prefix, names are those of the server as far as they fit.
    let alone = named(&[&a], &own);
    let kept = |own: &str| alone[own].contains(own);
    assert!(kept(&fits) && kept("dots.in.name"), "{alone:?}");
    for own in [&first, &second] {
        let [name] = Vec::from_iter(&alone[own])[..] else {
            panic!("{alone:?}")
        };
        assert!(name.len() == 64 && name.starts_with("long_x"), "{name}");
    }
}

#[test]
fn servers_whose_names_come_to_one_prefix_are_told_apart() {
    let (dot, line) = (
        with_tools("a.b", &["dotted"]),
        with_tools("a_b", &["lined"]),
    );
    let own = ["dotted", "lined"];
    let all = named(&[&dot, &line], &own);
    let names: Vec<&String> = all.values().flatten().collect();
    assert_eq!(names, ["a_b_e27bcb35__dotted", "a_b_e2300e48__lined"]);
    assert_eq!(named(&[&line, &dot], &own), all);
    // The beginning of a name could be another name.
    let (short, longer) = (with_tools("a", &["b__same"]), with_tools("a__b", &["same"]));
    let all = named(&[&short, &longer], &["b__same", "same"]);
    assert_eq!(all.len(), 2, "{all:?}");

    // Two servers of one name are a mistake.
    let run = program().args(["proxy", "a=x", "a=y"]).output().unwrap();
    let said = String::from_utf8(run.stderr).unwrap();
    assert_eq!(run.status.code(), Some(2), "{said}");
    assert!(said.contains("two servers have the name 'a'"), "{said}");
}

/// A server that reports a change with each reading of its list does not keep the proxy busy.
#[test]
fn the_pauses_between_readings_of_a_list_grow() {
    let path = example("bad_server");
    for ours in ERAS {
        let record = file(&format!("readings-{ours}.jsonl"));
        let server = format!("bad='{}' changes", path.display());
        let client = builder(ours)
            .connect(proxy(&["--record", record.to_str().unwrap(), &server]))
            .unwrap();
        // The times of the requests for the list, in milliseconds.
        let times = || -> Vec<f64> {
            let lines = std::fs::read_to_string(&record).unwrap();
            let lines = lines.lines().filter_map(|line| {
                let line: Value = serde_json::from_str(line).ok()?;
                let is_list = line["peer"] == "bad" && line["message"]["method"] == "tools/list";
                is_list.then(|| line["t"].as_f64().unwrap())
            });
            lines.collect()
        };
        wait_until("the list was read often", || {
            // A call reports a change too: the proxy may have missed that of the first reading.
            client.call_tool("good", &json!({})).unwrap_err();
            times().len() > 6
        });
        client.close();
        let times = times();
        // The pauses are 100, 200, 400, 800 and 1600 ms. One that is at least twice as long as
        // wanted, on a busy machine, is followed by one of 100 ms.
        assert!(times[6] - times[1] >= 1000.0, "{ours}: {times:?}");
        std::fs::remove_file(record).unwrap();
    }
}
