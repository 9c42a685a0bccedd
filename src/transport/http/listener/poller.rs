//! The thread that waits for all connections that nobody else has: it accepts them, queues those with something to read, drains what
//! clients did not read in time, notices who goes away, and keeps the time.
//!
//! It never blocks but in its wait. Connections that a worker has, or whose request is new, are looked at in every tick; all others when
//! something happens to them, or at a time that they have asked for.

use std::collections::BTreeSet;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use polling::{Event, Events};

use super::conn::{Conn, GivesWay};
use super::round;
use super::shared::{LISTENER, Shared};
use crate::shares::{Admission, Client};
use crate::transport::sys::fd;
use crate::transport::sys::tcp::{self, Registered};

/// How soon a request is found to be in hand for long, so that its client is watched.
const TICK: Duration = Duration::from_millis(100);
/// The same while the listener waits for its last requests.
const CLOSING_TICK: Duration = Duration::from_millis(5);
/// How long nothing is accepted after the system has refused.
const PAUSE: Duration = Duration::from_millis(100);
/// How many connections over the limit may be open, only to be told so.
const TURNED_AWAY: usize = 64;
/// How many connections are asked to give way to one more: those that turn out to be busy stay. Each
/// of them has been used since it was last asked.
const GIVING_WAY: usize = 1024;
/// How many connections are accepted before others get their turn.
const AT_ONCE: usize = 64;

pub(super) struct Loop {
    shared: Arc<Shared>,
    listener: Option<Registered<TcpListener>>,
    /// Keys are never used again.
    next_key: usize,
    /// To be looked at in each tick.
    listed: Vec<usize>,
    next_tick: Instant,
    /// To be looked at when it is time; one entry for a connection at most.
    timers: BTreeSet<(Instant, usize)>,
    /// When accepting goes on.
    paused_until: Option<Instant>,
    /// When the rounds of workers are looked at next, while they are.
    next_watch: Instant,
    /// In how many looks nothing lay open.
    calm: u32,
}

impl Loop {
    pub(super) fn new(shared: Arc<Shared>, listener: Registered<TcpListener>) -> Self {
        Self {
            shared,
            listener: Some(listener),
            next_key: LISTENER + 1,
            listed: Vec::new(),
            next_tick: Instant::now(),
            timers: BTreeSet::new(),
            paused_until: None,
            next_watch: Instant::now(),
            calm: 0,
        }
    }

    /// Runs until the listener has closed.
    pub(super) fn run(mut self) {
        let mut events = Events::new();
        while !self.has_closed() {
            events.clear();
            // It fails only for what can't happen to a poller of one's own; then time goes on.
            if self
                .shared
                .poller
                .wait(&mut events, self.timeout())
                .is_err()
            {
                std::thread::sleep(CLOSING_TICK);
            }
            for event in events.iter() {
                self.take(&event);
            }
            self.run_errands();
            self.keep_time();
        }
        for conn in self.shared.table.all() {
            conn.turn_away("the server is closing");
            conn.cut().settle_here(&self.shared);
        }
        drop(self.shared.crew.stop());
        self.run_errands();
        self.shared.end();
    }

    /// Whether it is closing and nothing is left to wait for.
    fn has_closed(&mut self) -> bool {
        if !self.shared.is_closing() {
            return false;
        }
        if self.listener.take().is_some() {
            self.shared
                .table
                .all()
                .iter()
                .for_each(|conn| conn.close_if_idle());
        }
        let deadline = self.shared.deadline();
        deadline.is_none_or(|at| at <= Instant::now())
            || !self.shared.table.all().iter().any(|conn| conn.is_busy())
    }

    fn timeout(&self) -> Option<Duration> {
        let closing = self.shared.is_closing();
        let tick = (closing || !self.listed.is_empty()).then_some(self.next_tick);
        let timer = self.timers.first().map(|(at, _)| *at);
        let watch = self.shared.rounds.is_watched().then_some(self.next_watch);
        let next = [tick, timer, watch, self.paused_until]
            .into_iter()
            .flatten()
            .min();
        let left = next.map(|at| at.saturating_duration_since(Instant::now()));
        match closing {
            true => left.map(|left| left.min(CLOSING_TICK)),
            false => left,
        }
    }

    fn take(&mut self, event: &Event) {
        if event.key == LISTENER {
            self.accept();
            return;
        }
        let Some(conn) = self.shared.table.find(event.key) else {
            return;
        };
        let is_lost = event.is_interrupt() || event.is_err() == Some(true);
        let (later, is_new) = conn.ready(event.readable, is_lost);
        later.settle_here(&self.shared);
        if is_new {
            self.list(event.key);
        }
    }

    fn run_errands(&mut self) {
        let errands = self.shared.errands();
        for gone in errands.calls {
            Shared::call(gone);
        }
        let now = Instant::now();
        for key in errands.looks {
            if self.look(key, now) {
                self.list(key);
            }
        }
    }

    fn list(&mut self, key: usize) {
        if self.listed.is_empty() {
            self.next_tick = Instant::now() + TICK;
        }
        self.listed.push(key);
    }

    fn keep_time(&mut self) {
        let now = Instant::now();
        if self.shared.rounds.is_watched() && self.next_watch <= now {
            self.next_watch = now + round::TICK;
            for conn in self.shared.rounds.watch(&mut self.calm) {
                conn.let_go();
            }
        }
        while let Some((at, key)) = self.timers.first().copied()
            && at <= now
        {
            self.timers.pop_first();
            self.look(key, now);
        }
        if self.next_tick <= now {
            self.next_tick = now + TICK;
            let mut listed = std::mem::take(&mut self.listed);
            listed.sort_unstable();
            listed.dedup();
            listed.retain(|key| self.look(*key, now));
            listed.append(&mut self.listed);
            self.listed = listed;
        }
        if self.paused_until.is_some_and(|until| until <= now) {
            self.paused_until = None;
            self.accept();
        }
    }

    /// Returns whether to look again in the next tick.
    fn look(&mut self, key: usize, now: Instant) -> bool {
        let Some(conn) = self.shared.table.find(key) else {
            return false;
        };
        let look = conn.look(now);
        look.later.settle_here(&self.shared);
        if let Some(at) = look.instead_of {
            self.timers.remove(&(at, key));
        }
        if let Some(at) = look.schedule {
            self.timers.insert((at, key));
        }
        look.is_listed
    }

    fn accept(&mut self) {
        for _ in 0..AT_ONCE {
            let Some(listener) = &self.listener else {
                return;
            };
            match listener.get().accept() {
                Ok((stream, _)) => self.welcome(stream),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if is_of_one_connection(&error) => {}
                Err(error) if fd::is_exhausted(&error) && self.displace_first() => {}
                // Out of descriptors or memory: asked again at once, the system would only refuse again.
                Err(_) => {
                    self.paused_until = Some(Instant::now() + PAUSE);
                    return;
                }
            }
        }
        if let Some(listener) = &self.listener
            && listener.arm(true, false).is_err()
        {
            self.paused_until = Some(Instant::now() + PAUSE);
        }
    }

    fn welcome(&mut self, stream: TcpStream) {
        self.shared.accepted.fetch_add(1, Ordering::Relaxed);
        let Ok(remote) = stream.peer_addr() else {
            return;
        };
        let has_place = self.make_room(&Client::at(remote.ip()));
        if !has_place && self.shared.table.turned_away() >= TURNED_AWAY {
            self.shared.count_refused();
            return;
        }
        let key = self.next_key;
        self.next_key += 1;
        // It fails when the client has gone already, or when the system can't watch one more.
        let Ok(conn) = self.prepare(stream, remote, key) else {
            return;
        };
        let conn = Arc::new(conn);
        self.shared.table.insert(key, Arc::clone(&conn), has_place);
        if has_place {
            conn.welcome();
        } else {
            conn.turn_away_at_once("too many connections (max_connections): try again later");
        }
        self.list(key);
    }

    /// Makes room for one more connection of a client. Returns whether there is.
    fn make_room(&self, client: &Client) -> bool {
        let table = &self.shared.table;
        for _ in 0..GIVING_WAY {
            match table.admit(client, fd::most()) {
                Admission::Granted => return true,
                Admission::Refused => return false,
                Admission::After(key) => {
                    if let Some(conn) = table.find(key) {
                        _ = self.displace(&conn);
                    }
                }
            }
        }
        false
    }

    /// The system has no descriptor left: closes a connection to have one. Returns whether it did;
    /// if a worker closes one, there is a descriptor a moment later.
    fn displace_first(&self) -> bool {
        for _ in 0..GIVING_WAY {
            let Some(first) = self.shared.table.first_to_give_way() else {
                return false;
            };
            match self.displace(&first) {
                GivesWay::No => {}
                gone => return gone == GivesWay::Now,
            }
        }
        false
    }

    fn displace(&self, conn: &Arc<Conn>) -> GivesWay {
        let (later, gives_way) = conn.give_way();
        later.settle_here(&self.shared);
        if gives_way != GivesWay::No {
            let displaced = &self.shared.displaced_connections;
            displaced.fetch_add(1, Ordering::Relaxed);
        }
        gives_way
    }

    fn prepare(&self, stream: TcpStream, remote: SocketAddr, key: usize) -> io::Result<Conn> {
        // On some systems it takes after the listening socket.
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(round::LINGER))?;
        tcp::quiet(&stream)?;
        let socket = Registered::new(stream, Arc::clone(&self.shared.poller), key)?;
        Ok(Conn::new(socket, remote, Arc::clone(&self.shared)))
    }
}

fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted, PermissionDenied};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionReset | Interrupted | PermissionDenied
    )
}
