//! Tasks that the processes of one server share. Each server of a test plays one process.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcplink::protocol::LogRecord;
use mcplink::schema::{ProtocolVersion, TaskSupport};
use mcplink::server::{
    Context, EventBus, MemoryEventBus, MemoryRecordStore, Record, RecordStore, Server, StateKey,
    TaskOptions,
};
use mcplink::{Error, ErrorKind, Result};
use serde_json::{Value, json};

use crate::common::wait_until;
use crate::raw::Raw;
use crate::tasks_server::{Gate, Player, described, tool};

const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;

/// The way of one process to the common store, which can fail.
#[derive(Clone, Default)]
struct TestStore {
    records: MemoryRecordStore,
    is_broken: Arc<AtomicBool>,
    /// Whether writes are lost, as if the process were cut off from the store the whole time.
    loses_leases: Arc<AtomicBool>,
    /// What was written last under each key.
    written: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
}

impl TestStore {
    /// The way of another process to the same records.
    fn elsewhere(&self) -> Self {
        Self {
            records: self.records.clone(),
            written: Arc::clone(&self.written),
            ..Self::default()
        }
    }

    fn breaks(&self, breaks: bool) {
        self.is_broken.store(breaks, Ordering::SeqCst);
    }

    fn check(&self) -> Result<()> {
        match self.is_broken.load(Ordering::SeqCst) {
            true => Err(Error::new(ErrorKind::Io, "the store can't be reached")),
            false => Ok(()),
        }
    }

    /// The keys of the tasks that are stored.
    fn tasks(&self) -> Vec<String> {
        let written = self.written.lock().unwrap();
        let keys = written.keys().filter(|key| key.starts_with("task."));
        keys.cloned().collect()
    }
}

impl RecordStore for TestStore {
    fn read(&self, key: &str) -> Result<Option<Record>> {
        self.check()?;
        self.records.read(key)
    }

    fn write(&self, key: &str, version: u64, bytes: &[u8], lifetime: Duration) -> Result<bool> {
        self.check()?;
        if key.starts_with("process.") && self.loses_leases.load(Ordering::SeqCst) {
            return Ok(true);
        }
        let mut written = self.written.lock().unwrap();
        written.insert(key.to_owned(), bytes.to_vec());
        drop(written);
        self.records.write(key, version, bytes, lifetime)
    }

    fn remove(&self, key: &str) -> Result<()> {
        self.check()?;
        self.written.lock().unwrap().remove(key);
        self.records.remove(key)
    }
}

/// What the processes of one server have in common.
struct Common {
    keys: [StateKey; 1],
    bus: Option<MemoryEventBus>,
    lease: Duration,
}

impl Common {
    fn new() -> Self {
        Self {
            keys: [StateKey::random().unwrap()],
            bus: Some(MemoryEventBus::default()),
            // With a bus, nothing waits for it.
            lease: Duration::from_secs(600),
        }
    }

    fn process(&self, store: &TestStore) -> (Server, Gate) {
        let (builder, gate) = described();
        let mut builder = builder
            .lease(self.lease)
            .state_keys(&self.keys)
            .record_store(store.clone());
        if let Some(bus) = &self.bus {
            builder = builder.event_bus(bus.clone());
        }
        (builder.build().unwrap(), gate)
    }
}

fn is_unknown(error: &Value) -> bool {
    error["code"] == -32602 && error["message"].as_str().unwrap().contains("no such task")
}

fn is_busy(error: &Value) -> bool {
    error["code"] == -32603 && error["data"] == json!({"busy": true})
}

/// The state of a task without what differs between two requests.
fn plain(mut task: Value) -> Value {
    let task_fields = task.as_object_mut().unwrap();
    task_fields.retain(|name, _| name != "_meta" && name != "lastUpdatedAt");
    task
}

fn accepts(yes: bool) -> Value {
    json!({"action": "accept", "content": {"confirm": yes}})
}

// E-TASK-S-10, E-TASK-S-11, E-TASK-S-16, E-TASK-S-53
#[test]
fn a_task_is_known_to_each_process_as_soon_as_a_client_has_its_id() {
    let (common, store) = (Common::new(), TestStore::default());
    let (here, gate) = common.process(&store);
    let (there, _gate) = common.process(&store.elsewhere());
    let (mut client, mut other) = (Player::modern(&here), Player::modern(&there));
    let id = client.start("gate");
    let task = other.get(&id);
    assert_eq!(task["status"], "working");
    assert_eq!(plain(task), plain(client.get(&id)));
    gate.open.send(()).unwrap();
    let task = client.until(&id, "completed");
    assert_eq!(task["result"]["content"][0]["text"], "through");
    assert_eq!(plain(other.get(&id)), plain(task));
    // E-TASK-S-52, E-TASK-S-22
    let refused = client.start("refuse");
    let task = client.until(&refused, "failed");
    assert_eq!(plain(other.get(&refused)), plain(task.clone()));
    assert_eq!(
        task["error"],
        json!({"code": 7, "message": "not today", "data": {"why": 1}})
    );
    // E-TASK-S-09
    let failed = client.start("fail");
    let task = client.until(&failed, "completed");
    assert_eq!(plain(other.get(&failed)), plain(task));
    // E-TASK-S-49
    assert!(is_unknown(
        &other.error("tasks/get", json!({"taskId": "nobody's"}))
    ));
}

// E-TASK-S-18, E-TASK-S-19, E-TASK-S-37, E-TASK-S-38
#[test]
fn another_process_passes_answers_on_to_the_task() {
    let (common, store) = (Common::new(), TestStore::default());
    let (here, _gate) = common.process(&store);
    let (there, _gate2) = common.process(&store.elsewhere());
    let (mut client, mut other) = (Player::modern(&here), Player::modern(&there));
    let id = client.start("two");
    let task = other.until(&id, "input_required");
    assert_eq!(plain(client.get(&id)), plain(task.clone()));
    assert_eq!(task["inputRequests"].as_object().unwrap().len(), 2);
    let mut update = |responses: Value| {
        let params = json!({"taskId": id, "inputResponses": responses});
        other.answer("tasks/update", params)
    };
    // One that does not fit refuses all.
    let error = update(json!({"first": accepts(true), "second": {"action": "maybe"}}));
    assert_eq!(error["error"]["code"], -32602);
    let done = update(json!({"first": accepts(true), "nobody": 1}));
    assert_eq!(done["result"]["resultType"], "complete");
    // An answer counts once.
    update(json!({"first": accepts(false)}));
    let task = other.get(&id);
    assert_eq!(task["status"], "input_required");
    let open: Vec<_> = task["inputRequests"].as_object().unwrap().keys().collect();
    assert_eq!(open, ["second"]);
    client.result(
        "tasks/update",
        json!({"taskId": id, "inputResponses": {"second": accepts(true)}}),
    );
    let task = other.until(&id, "completed");
    assert_eq!(task["result"]["content"][0]["text"], "true true once");
    assert_eq!(plain(client.get(&id)), plain(task));
}

// E-TASK-S-41, E-TASK-S-21
#[test]
fn another_process_cancels_a_task() {
    let (common, store) = (Common::new(), TestStore::default());
    let (here, gate) = common.process(&store);
    let (there, _gate) = common.process(&store.elsewhere());
    let (mut client, mut other) = (Player::modern(&here), Player::modern(&there));
    let id = client.start("gate");
    let done = other.result("tasks/cancel", json!({"taskId": id}));
    assert_eq!(done["resultType"], "complete");
    assert_eq!(other.get(&id)["status"], "cancelled");
    assert!(gate.ended.recv_timeout(crate::common::LONG).unwrap());
    let task = client.until(&id, "cancelled");
    assert_eq!(plain(other.get(&id)), plain(task));
    // Again, and of a task that has ended: nothing changes.
    other.result("tasks/cancel", json!({"taskId": id}));
    let ended = client.start("must");
    let task = client.until(&ended, "completed");
    other.result("tasks/cancel", json!({"taskId": ended}));
    assert_eq!(plain(other.get(&ended)), plain(task));
    assert!(is_unknown(
        &other.error("tasks/cancel", json!({"taskId": "nobody's"}))
    ));
}

// E-TASK-S-46
#[test]
fn a_task_is_followed_from_another_process() {
    let (common, store) = (Common::new(), TestStore::default());
    let (here, gate) = common.process(&store);
    let (there, _gate) = common.process(&store.elsewhere());
    let mut client = Player::modern(&here);
    let (mut other, mut third) = (Player::modern(&there), Player::modern(&there));
    let (gated, asking) = (client.start("gate"), client.start("ask"));
    client.until(&asking, "input_required");
    let (stream, granted) = other.follow(json!([gated, "nobody's"]));
    assert_eq!(granted, json!({"taskIds": [gated]}));
    assert_eq!(other.told(&stream)["status"], "working");
    gate.open.send(()).unwrap();
    assert_eq!(
        other.told(&stream)["result"]["content"][0]["text"],
        "through"
    );
    other.raw.expect_silence();
    // A change that this process makes reaches its own followers, too.
    let (stream, _) = other.follow(json!([asking]));
    assert_eq!(other.told(&stream)["status"], "input_required");
    third.result("tasks/cancel", json!({"taskId": asking}));
    assert_eq!(other.told(&stream)["status"], "cancelled");
    // One that has ended is told at once.
    let (stream, _) = third.follow(json!([gated]));
    assert_eq!(third.told(&stream)["status"], "completed");
}

// E-TASK-S-55
#[test]
fn another_process_shows_a_task_to_its_principal_only() {
    let (common, store) = (Common::new(), TestStore::default());
    let (here, _gate) = common.process(&store);
    let (there, _gate2) = common.process(&store.elsewhere());
    let client = |server: &Server, who: &str| {
        let open = |theirs| server.open_for(who, theirs).unwrap();
        Player::declaring(Raw::silent_on(MODERN, open))
    };
    let mut ann = client(&here, "ann");
    let id = ann.start("two");
    client(&there, "ann").until(&id, "input_required");
    let mut others = [
        client(&there, "bob"),
        client(&there, ""),
        Player::modern(&there),
    ];
    for other in &mut others {
        for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
            let params = json!({"taskId": id, "inputResponses": {"first": accepts(true)}});
            assert!(is_unknown(&other.error(method, params)), "{method}");
        }
        assert_eq!(other.follow(json!([id])).1, json!({}));
    }
    assert_eq!(client(&there, "ann").get(&id)["status"], "input_required");
    // Tasks of the legacy era belong to one process.
    let mut legacy = Player::legacy(&there);
    assert!(is_unknown(
        &legacy.error("tasks/get", json!({"taskId": id}))
    ));
}

// Must not happen: a store that others read has what a task is about, or gives access to it.
#[test]
fn the_store_learns_nothing_and_forges_nothing() {
    let (common, store) = (Common::new(), TestStore::default());
    let (here, _gate) = common.process(&store);
    let (there, _gate2) = common.process(&store.elsewhere());
    let (mut client, mut other) = (Player::modern(&here), Player::modern(&there));
    let (id, second) = (client.start("must"), client.start("must"));
    client.until(&id, "completed");
    client.until(&second, "completed");
    let keys = store.tasks();
    assert_eq!(keys.len(), 2);
    for key in &keys {
        assert!(!key.contains(&id) && key.len() <= 64, "{key}");
        let bytes = store.records.read(key).unwrap().unwrap().bytes;
        for text in [id.as_bytes(), b"done", b"completed", b"taskId"] {
            assert!(!bytes.windows(text.len()).any(|window| window == text));
        }
    }
    // The record of one task in the place of the other.
    let (first, record) = (&keys[0], store.records.read(&keys[1]).unwrap().unwrap());
    let version = store.records.read(first).unwrap().unwrap().version;
    let lifetime = Duration::from_secs(600);
    let forged = |version| {
        let written = store.records.write(first, version, &record.bytes, lifetime);
        assert!(written.unwrap());
    };
    forged(version + 1);
    let answers = [&id, &second].map(|id| other.answer("tasks/get", json!({"taskId": id})));
    let refused = answers.iter().filter(|it| is_busy(&it["error"])).count();
    assert_eq!(refused, 1, "{answers:?}");
    // Keys of another server open nothing.
    let (stranger, _gate3) = Common::new().process(&store.elsewhere());
    let error = Player::modern(&stranger).error("tasks/get", json!({"taskId": id}));
    assert!(is_busy(&error), "{error}");
}

// E-TASK-S-11
#[test]
fn while_the_store_fails_calls_go_on_and_nothing_is_lost() {
    let (common, store) = (Common::new(), TestStore::default());
    let far = store.elsewhere();
    let (here, gate) = common.process(&store);
    let (there, _gate) = common.process(&far);
    let (mut client, mut other) = (Player::modern(&here), Player::modern(&there));
    let id = client.start("gate");
    store.breaks(true);
    // A task that no other process would know is not begun.
    let call = |name: &str| json!({"name": name, "arguments": {}});
    assert!(is_busy(&client.error("tools/call", call("must"))));
    let result = client.result("tools/call", call("fail"));
    assert_eq!(result["isError"], true, "it ran without a task");
    assert_eq!(
        client.result("tools/call", call("plain"))["resultType"],
        "complete"
    );
    // The process knows its own tasks.
    assert_eq!(client.get(&id)["status"], "working");
    gate.open.send(()).unwrap();
    let task = client.until(&id, "completed");
    assert_eq!(
        other.get(&id)["status"],
        "working",
        "it is behind, not wrong"
    );
    far.breaks(true);
    for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
        let params = json!({"taskId": id, "inputResponses": {}});
        assert!(is_busy(&other.error(method, params)), "{method}");
    }
    far.breaks(false);
    store.breaks(false);
    // An event says that something was missed, so the end is written now.
    common
        .bus
        .as_ref()
        .unwrap()
        .publish("of another version")
        .unwrap();
    assert_eq!(plain(other.until(&id, "completed")), plain(task));
}

// Must not happen: a task of a process that has ended is "working" for good.
#[test]
fn tasks_of_a_process_that_has_ended_fail_and_stay_so() {
    let mut common = Common::new();
    common.lease = Duration::from_secs(1);
    let (store, far) = (TestStore::default(), TestStore::default());
    let far = TestStore {
        records: store.records.clone(),
        ..far
    };
    store.loses_leases.store(true, Ordering::SeqCst);
    let (here, gate) = common.process(&store);
    let (there, _gate) = common.process(&far);
    let (mut client, mut other) = (Player::modern(&here), Player::modern(&there));
    let (id, followed) = (client.start("gate"), client.start("ask"));
    // Two ways to notice it: a request, and a stream.
    let (stream, _) = other.follow(json!([followed]));
    let task = other.until(&id, "failed");
    assert_eq!(
        task["error"]["message"],
        "the process that ran the task has ended"
    );
    let told = other.told(&stream);
    assert_eq!(
        (&told["taskId"], &told["status"]),
        (&json!(followed), &json!("failed"))
    );
    // It was cut off and comes back: what others were told stays true.
    assert!(
        gate.ended.recv_timeout(crate::common::LONG).unwrap(),
        "it is cancelled"
    );
    assert_eq!(plain(client.until(&id, "failed")), plain(task.clone()));
    assert_eq!(plain(other.get(&id)), plain(task));
}

#[test]
fn a_late_result_does_not_change_how_a_task_has_ended() {
    let (mut common, store) = (Common::new(), TestStore::default());
    common.bus = None;
    let far = store.elsewhere();
    let (here, gate) = common.process(&store);
    let (there, _gate) = common.process(&far);
    let (mut client, mut other) = (Player::modern(&here), Player::modern(&there));
    let id = client.start("gate");
    // Without a bus, the process of the task does not know yet that it was cancelled.
    other.result("tasks/cancel", json!({"taskId": id}));
    assert_eq!(client.get(&id)["status"], "working");
    gate.open.send(()).unwrap();
    assert!(!gate.ended.recv_timeout(crate::common::LONG).unwrap());
    let task = client.until(&id, "cancelled");
    assert_eq!(plain(other.get(&id)), plain(task));
}

#[test]
fn without_a_bus_changes_are_noticed_within_the_lease() {
    let (mut common, store) = (Common::new(), TestStore::default());
    common.bus = None;
    common.lease = Duration::from_secs(1);
    let (here, gate) = common.process(&store);
    let (there, _gate) = common.process(&store.elsewhere());
    let (mut client, mut other) = (Player::modern(&here), Player::modern(&there));
    let (gated, asking) = (client.start("gate"), client.start("ask"));
    let (stream, _) = other.follow(json!([gated]));
    assert_eq!(other.told(&stream)["status"], "working");
    other.until(&asking, "input_required");
    let params = json!({"taskId": asking, "inputResponses": {"sure": accepts(true)}});
    other.result("tasks/update", params);
    client.until(&asking, "completed");
    gate.open.send(()).unwrap();
    assert_eq!(other.told(&stream)["status"], "completed");
    let cancelled = client.start("gate");
    other.result("tasks/cancel", json!({"taskId": cancelled}));
    gate.ended.recv_timeout(crate::common::LONG).unwrap();
    assert!(gate.ended.recv_timeout(crate::common::LONG).unwrap());
}

#[test]
fn a_process_that_ends_in_order_leaves_results_and_no_working_task() {
    let (common, store) = (Common::new(), TestStore::default());
    let (here, _gate) = common.process(&store);
    let (there, _gate2) = common.process(&store.elsewhere());
    let (mut client, mut other) = (Player::modern(&here), Player::modern(&there));
    let (ended, working) = (client.start("must"), client.start("ask"));
    client.until(&ended, "completed");
    client.until(&working, "input_required");
    drop(client);
    let task = other.until(&working, "failed");
    let why = task["error"]["message"].as_str().unwrap();
    assert!(why.contains("is closed"), "{why}");
    drop(here);
    let task = other.get(&ended);
    assert_eq!(task["result"]["content"][0]["text"], "done");
    let has_leases = || {
        let written = store.written.lock().unwrap();
        written.keys().any(|key| key.starts_with("process."))
    };
    wait_until("the lease has ended", || !has_leases());
}

#[test]
fn evicted_tasks_leave_the_store_too() {
    let (common, store) = (Common::new(), TestStore::default());
    let options = TaskOptions::default().max_tasks(NonZeroUsize::new(2).unwrap());
    let must = tool("must", TaskSupport::Required);
    let server = Server::builder("few", "1")
        .tasks(options)
        .state_keys(&common.keys)
        .record_store(store.clone())
        .tool_with(must, |_: Value, _: &Context| "done")
        .build()
        .unwrap();
    let mut client = Player::modern(&server);
    let mut last = String::new();
    for _ in 0..5 {
        last = client.start("must");
        client.until(&last, "completed");
    }
    assert_eq!(store.tasks().len(), 2);
    let (there, _gate) = common.process(&store.elsewhere());
    assert_eq!(Player::modern(&there).get(&last)["status"], "completed");
}

#[test]
fn a_record_store_needs_the_keys_of_all_processes() {
    let error = Server::builder("s", "1")
        .record_store(MemoryRecordStore::default())
        .build()
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("state keys"), "{error}");
}

#[test]
fn a_store_that_fails_is_logged_once_until_it_works() {
    let (common, store) = (Common::new(), TestStore::default());
    let logged = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&logged);
    let (builder, _gate) = described();
    let server = builder
        .state_keys(&common.keys)
        .record_store(store.clone())
        .on_log(move |record: &LogRecord<'_>| {
            log.lock().unwrap().push(record.text.to_owned());
        })
        .build()
        .unwrap();
    let mut client = Player::modern(&server);
    let must = json!({"name": "must", "arguments": {}});
    store.breaks(true);
    for _ in 0..3 {
        assert!(is_busy(&client.error("tools/call", must.clone())));
    }
    store.breaks(false);
    client.start("must");
    let logged = logged.lock().unwrap().clone();
    let about = |what: &str| logged.iter().filter(|text| text.contains(what)).count();
    assert_eq!(about("can't be shared with other processes: "), 1);
    assert!(about("the store can't be reached") == 1, "{logged:?}");
    assert_eq!(about("can be shared with other processes again"), 1);
}
