//! The action `check`: runs checks against a server, and reports them.
//!
//! The checks speak to the server themselves, without a client, because a client repairs and hides
//! much of what a check looks for.

mod http;
mod manners;
mod protocol;
mod report;
mod results;
mod schemas;
mod spec;
mod wire;

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _};
use std::time::{Duration, Instant};

use mcplink::schema::ProtocolVersion;
use mcplink::transport::Child;
use serde_json::{Value, json};

use self::report::{Outcome, Report};
use self::wire::{Conn, Web};
use crate::args::{self, Era, Level, Options};
use crate::failure::{Failure, LOST, TOOL_FAILED};
use crate::reach::{self, Reached};
use crate::{interrupt, print};

/// How long a check waits for an answer, unless `--timeout` says it.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why a check did not pass.
#[derive(Debug)]
pub(crate) enum Verdict {
    Failed(String),
    Skipped(String),
}

impl From<String> for Verdict {
    fn from(text: String) -> Self {
        Self::Failed(text)
    }
}

impl From<&str> for Verdict {
    fn from(text: &str) -> Self {
        Self::Failed(text.to_owned())
    }
}

/// A check passes, with a remark that may be empty, or has a verdict.
type Seen = Result<String, Verdict>;

fn passed() -> Seen {
    Ok(String::new())
}

fn skip<T>(why: &str) -> Result<T, Verdict> {
    Err(Verdict::Skipped(why.to_owned()))
}

/// One check.
struct Check {
    name: &'static str,
    level: Level,
    /// The requirements that a failure violates, by id.
    requirements: &'static [&'static str],
    /// What the author of the server can do after a failure.
    remedy: &'static str,
    run: fn(&Server) -> Seen,
}

/// The server under test.
struct Server {
    place: Place,
    /// The revisions to speak: at most one of each era.
    revisions: Vec<ProtocolVersion>,
    patience: Duration,
    /// The time from the start of the server to its first answer.
    start: Duration,
    /// The tool that may be called, and its arguments.
    call: Option<(String, Value)>,
    tools: OnceCell<Vec<Value>>,
    /// Open connections to a server that is started, so that it is started a few times only.
    shared: RefCell<BTreeMap<ProtocolVersion, Conn>>,
}

enum Place {
    Child(Child),
    Url(Web),
}

impl Server {
    /// Opens a connection, and initializes it where the revision wants that.
    fn open(&self, revision: ProtocolVersion) -> Result<Conn, Verdict> {
        let mut conn = self.connect(revision)?;
        conn.initialize()?;
        Ok(conn)
    }

    /// Opens a connection on which nothing was said.
    fn connect(&self, revision: ProtocolVersion) -> Result<Conn, Verdict> {
        match &self.place {
            Place::Child(child) => Conn::start(child, revision, self.patience),
            Place::Url(web) => Ok(Conn::web(web.clone(), revision, self.patience)),
        }
    }

    /// Runs a check on the shared connection of a revision. A connection on which a check has failed
    /// is not used again. Over HTTP each check has its own.
    fn with<T>(
        &self,
        revision: ProtocolVersion,
        check: impl FnOnce(&mut Conn) -> Result<T, Verdict>,
    ) -> Result<T, Verdict> {
        let shared = self.shared.borrow_mut().remove(&revision);
        let mut conn = shared.map_or_else(|| self.open(revision), Ok)?;
        conn.begin(self.patience);
        let seen = check(&mut conn);
        match seen {
            Err(Verdict::Failed(_)) => conn.close(),
            _ => self.share(revision, conn),
        }
        seen
    }

    /// Keeps a connection for the next check.
    fn share(&self, revision: ProtocolVersion, conn: Conn) {
        match conn.is_web() {
            true => conn.close(),
            false => _ = self.shared.borrow_mut().insert(revision, conn),
        }
    }

    /// Closes the shared connections.
    fn close(&self) {
        for conn in self.shared.take().into_values() {
            conn.close();
        }
    }

    /// Runs a check in each revision, on its shared connection.
    fn each(&self, check: impl Fn(&mut Conn) -> Seen) -> Seen {
        self.in_each(|revision| self.with(revision, &check))
    }

    /// Runs a check in each revision, on a connection of its own: the check looks at its beginning
    /// or its end.
    fn each_anew(&self, check: impl Fn(&mut Conn) -> Seen) -> Seen {
        self.in_each(|revision| {
            let mut conn = self.open(revision)?;
            let seen = check(&mut conn);
            conn.close();
            seen
        })
    }

    fn in_each(&self, check: impl Fn(ProtocolVersion) -> Seen) -> Seen {
        let mut remarks = Vec::new();
        let mut skipped = None;
        for revision in &self.revisions {
            match check(*revision) {
                Ok(remark) => remarks.push(remark),
                Err(Verdict::Skipped(why)) => skipped = Some(why),
                Err(Verdict::Failed(why)) => {
                    return Err(Verdict::Failed(format!("in {revision}: {why}")));
                }
            }
        }
        match (remarks.into_iter().next(), skipped) {
            (Some(remark), _) => Ok(remark),
            (None, why) => Err(Verdict::Skipped(why.unwrap_or_default())),
        }
    }

    fn legacy(&self) -> Result<ProtocolVersion, Verdict> {
        let mut revisions = self.revisions.iter();
        let legacy = revisions.find(|revision| revision.is_legacy()).copied();
        legacy.map_or_else(|| skip("the server speaks no legacy revision"), Ok)
    }

    fn modern(&self) -> Result<ProtocolVersion, Verdict> {
        let mut revisions = self.revisions.iter();
        let modern = revisions.find(|revision| revision.is_modern()).copied();
        modern.map_or_else(|| skip("the server does not speak 2026-07-28"), Ok)
    }

    fn needs_child(&self) -> Result<&Child, Verdict> {
        match &self.place {
            Place::Child(child) => Ok(child),
            Place::Url(_) => skip("the server is not started by this program"),
        }
    }

    fn needs_web(&self) -> Result<&Web, Verdict> {
        match &self.place {
            Place::Url(web) => Ok(web),
            Place::Child(_) => skip("the server is not reached over HTTP"),
        }
    }

    /// Returns the tools of the server in its newest revision, as raw JSON. A list that fails is
    /// empty here: a check of its own reports it.
    fn tools(&self) -> &[Value] {
        self.tools.get_or_init(|| {
            let Some(newest) = self.revisions.first() else {
                return Vec::new();
            };
            let tools = self.with(*newest, |conn| {
                match conn.capabilities().contains_key("tools") {
                    true => conn.list("tools"),
                    false => Ok(Vec::new()),
                }
            });
            tools.unwrap_or_default()
        })
    }
}

fn all_checks() -> Vec<&'static Check> {
    let checks = [
        protocol::CHECKS,
        results::CHECKS,
        manners::CHECKS,
        schemas::CHECKS,
        http::CHECKS,
    ];
    checks.into_iter().flatten().collect()
}

pub(crate) fn run(options: &args::Check, program: &Options) -> Result<(), Failure> {
    let wanted = |check: &&&Check| {
        options
            .only
            .as_ref()
            .is_none_or(|only| check.name.contains(&**only))
    };
    let checks = all_checks();
    let checks: Vec<&Check> = checks.iter().filter(wanted).copied().collect();
    if checks.is_empty() {
        return Err(Failure::usage(
            "no check has a name that contains --only".to_owned(),
        ));
    }
    if options.list {
        let rows = checks.iter().map(|check| {
            let ids = check.requirements.join(" ");
            vec![
                check.name.to_owned(),
                level_name(check.level).to_owned(),
                ids,
            ]
        });
        let rows: Vec<Vec<String>> = rows.collect();
        return Ok(print::table(&["CHECK", "LEVEL", "REQUIREMENTS"], &rows)?);
    }
    let server = find_out(options, program)?;
    let mut report = Report::new(options.format, options.level, &server)?;
    let progress = Progress::new(checks.len());
    for (number, check) in checks.into_iter().enumerate() {
        progress.show(number, check.name);
        let start = Instant::now();
        let seen = (check.run)(&server);
        progress.clear();
        // An interrupted check has no result.
        if interrupt::has_come() {
            return Err(Failure::interrupted());
        }
        report.add(Outcome {
            check,
            seen,
            elapsed: start.elapsed(),
        })?;
    }
    server.close();
    match report.end()? {
        0 => Ok(()),
        _ => Err(Failure::new(TOOL_FAILED, "")),
    }
}

/// The line that shows at a terminal which check runs.
struct Progress {
    count: usize,
    is_shown: bool,
}

impl Progress {
    fn new(count: usize) -> Self {
        let is_shown = io::stderr().is_terminal();
        Self { count, is_shown }
    }

    fn show(&self, number: usize, name: &str) {
        self.write(&format!("[{}/{}] {name}", number + 1, self.count));
    }

    fn clear(&self) {
        self.write("\r\u{1b}[K");
    }

    fn write(&self, text: &str) {
        if self.is_shown {
            print::beside(text);
        }
    }
}

fn level_name(level: Level) -> &'static str {
    match level {
        Level::Must => "must",
        Level::Should => "should",
        Level::Hosts => "hosts",
    }
}

/// Finds out which eras the server speaks.
fn find_out(options: &args::Check, program: &Options) -> Result<Server, Failure> {
    if program.place.login {
        let text = "check does not log in: give it a token with --header 'Authorization: Bearer …'";
        return Err(Failure::usage(text.to_owned()));
    }
    let patience = program.timeout.unwrap_or(PATIENCE);
    let place = match reach::reach(&program.place)? {
        Reached::Child(child) => Place::Child(child.grace(manners::EXIT)),
        Reached::Url(url, fields) => {
            let authorities = program.place.authorities.as_deref();
            let pem = authorities.map(reach::read_authorities).transpose()?;
            Place::Url(Web::new(&url, fields, pem.as_deref()).map_err(Failure::usage)?)
        }
    };
    let arguments: Value = serde_json::from_str(&options.arguments)
        .map_err(|error| Failure::usage(format!("--arguments is not JSON: {error}")))?;
    let mut server = Server {
        place,
        revisions: Vec::new(),
        patience,
        start: Duration::ZERO,
        call: options.call.clone().map(|name| (name, arguments)),
        tools: OnceCell::new(),
        shared: RefCell::default(),
    };
    let allowed = program.revisions();
    let mut reasons = Vec::new();
    for era in [Era::Modern, Era::Legacy] {
        let Some(revision) = newest(era, &allowed) else {
            continue;
        };
        let start = Instant::now();
        let spoken = server.connect(revision).and_then(|mut conn| {
            let spoken = conn.initialize().map(|()| conn.revision);
            // A server that opens with a faulty result is checked, and the checks say the fault. To
            // a legacy server, server/discover is an unknown method: whatever it answers, that is
            // no fault.
            let is_modern_only = newest(Era::Legacy, &allowed).is_none();
            let is_faulty = conn.is_opened && (era == Era::Legacy || is_modern_only);
            match spoken {
                Ok(spoken) => {
                    server.share(spoken, conn);
                    Ok(spoken)
                }
                Err(why) => {
                    conn.close();
                    match why {
                        Verdict::Failed(_) if is_faulty => Ok(revision),
                        why => Err(why),
                    }
                }
            }
        });
        let elapsed = start.elapsed();
        match spoken {
            Ok(revision) => {
                if server.revisions.is_empty() {
                    server.start = elapsed;
                }
                server.revisions.push(revision);
            }
            Err(Verdict::Failed(why) | Verdict::Skipped(why)) => reasons.push(why),
        }
        if interrupt::has_come() {
            return Err(Failure::interrupted());
        }
    }
    if server.revisions.is_empty() {
        let why = reasons.join("; ");
        return Err(Failure::new(
            LOST,
            format!("there is no server to check: {why}"),
        ));
    }
    Ok(server)
}

/// Returns the newest allowed revision of an era.
fn newest(era: Era, allowed: &[ProtocolVersion]) -> Option<ProtocolVersion> {
    let of_era = |revision: &&ProtocolVersion| revision.is_modern() == (era == Era::Modern);
    let newest = allowed.iter().filter(of_era);
    newest.max_by_key(|revision| revision.as_str()).copied()
}

/// Returns the beginning of a text, for a report.
fn excerpt(text: &str) -> String {
    let mut chars = text.chars();
    let mut start: String = chars.by_ref().take(120).collect();
    if chars.next().is_some() {
        start.push('…');
    }
    start
}

fn excerpt_of(value: &Value) -> String {
    excerpt(&value.to_string())
}

/// The identity of this program, for servers.
fn client_info() -> Value {
    json!({ "name": "mcplink-check", "version": env!("CARGO_PKG_VERSION") })
}
