//! The poller thread, which waits for events of all connections that no worker owns.
//!
//! The poller accepts connections and queues those that have input. It sends the output that
//! clients did not read in time. It also notices clients that have gone, and runs all timers.
//!
//! The poller blocks only in its wait for events. A connection that a worker owns, or whose request
//! is new, is checked in every tick. Any other connection is checked after an event, or at a time
//! that it requested.

use std::collections::BTreeSet;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use polling::{Event, Events};

use super::connection::{Connection, GivesWay};
use super::moment::Moment;
use super::ready_set;
use super::shared::{self, LISTENER, Shared};
use crate::shares::{Admission, Client};
use crate::transport::sys::fd;
use crate::transport::sys::poller::Registered;
use crate::transport::sys::tcp;

/// The period at which the poller checks connections. If a request is in flight for longer than
/// this period, the poller watches the client of the request.
const TICK: Duration = Duration::from_millis(100);
/// The maximum wait for events while a closing listener waits for its last requests.
const CLOSING_TICK: Duration = Duration::from_millis(5);
/// The pause before the next attempt, after the system failed to accept a connection.
const PAUSE: Duration = Duration::from_millis(100);
/// The maximum number of connections beyond the limit that are accepted only to be answered with
/// 503. At this maximum, new connections are closed at once.
const TURNED_AWAY: usize = 64;
/// The maximum number of candidates that the poller tries to displace for one new connection. A
/// candidate that is busy is not closed.
const GIVING_WAY: usize = 1024;
/// The maximum number of connections that are accepted in a row before other events are handled.
const AT_ONCE: usize = 64;

/// The state of the poller thread.
pub(super) struct Loop {
    shared: Arc<Shared<Connection>>,
    listener: Option<Registered<tcp::Listener>>,
    /// The key of the next connection. Keys are never reused, so a late event can't reach another
    /// connection.
    next_key: usize,
    /// The keys of the connections to check in each tick.
    listed: Vec<usize>,
    next_tick: Instant,
    /// The times of scheduled checks, with the keys of their connections. Each connection has at
    /// most one entry.
    timers: BTreeSet<(Moment, usize)>,
    /// The time when accepting connections resumes, if it is paused.
    paused_until: Option<Instant>,
    /// The time of the next check of the workers' ready sets. The value is used only while the
    /// poller checks the sets periodically.
    next_watch: Instant,
    /// The number of consecutive checks of the ready sets in which no set was stealable.
    calm: u32,
}

impl Loop {
    pub(super) fn new(
        shared: Arc<Shared<Connection>>,
        listener: Registered<tcp::Listener>,
    ) -> Self {
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

    /// Runs the poller until the listener has closed.
    pub(super) fn run(mut self) {
        let mut events = Events::new();
        while !self.has_closed() {
            events.clear();
            // The wait can't fail for a valid poller. If it does, the sleep prevents a busy loop.
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
        drop(self.shared.workers.stop());
        self.run_errands();
        self.shared.end();
    }

    /// Whether the listener is closing and has nothing left to wait for. When the listener begins
    /// to close, this method also closes the listening socket and the idle connections.
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
        let timer = self.timers.first().map(|(at, _)| Instant::from(*at));
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
            shared::call(gone);
        }
        let now = Moment::now();
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
        let moment = Moment::from(now);
        if self.shared.rounds.is_watched() && self.next_watch <= now {
            self.next_watch = now + ready_set::TICK;
            for conn in self.shared.rounds.watch(&mut self.calm) {
                conn.let_go();
            }
        }
        while let Some((at, key)) = self.timers.first().copied()
            && at <= moment
        {
            self.timers.pop_first();
            self.look(key, moment);
        }
        if self.next_tick <= now {
            self.next_tick = now + TICK;
            let mut listed = std::mem::take(&mut self.listed);
            listed.sort_unstable();
            listed.dedup();
            listed.retain(|key| self.look(*key, moment));
            listed.append(&mut self.listed);
            self.listed = listed;
        }
        if self.paused_until.is_some_and(|until| until <= now) {
            self.paused_until = None;
            self.accept();
        }
    }

    /// Checks a connection. Returns whether to check the connection again in the next tick.
    fn look(&mut self, key: usize, now: Moment) -> bool {
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
                Ok((stream, remote)) => self.welcome(stream, remote),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if is_of_one_connection(&error) => {}
                Err(error) if fd::is_exhausted(&error) && self.displace_first() => {}
                // The system has no descriptor or memory left. Accepting again at once would only
                // fail again.
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

    fn welcome(&mut self, stream: TcpStream, remote: SocketAddr) {
        self.shared.accepted.fetch_add(1, Ordering::Relaxed);
        let client = Client::at(remote.ip());
        let has_place = self.make_room(&client);
        if !has_place && self.shared.table.turned_away() >= TURNED_AWAY {
            self.shared.count_refused();
            return;
        }
        let key = self.next_key;
        self.next_key += 1;
        // This step fails when the client has disconnected already, or when the system can't watch
        // another socket.
        let Ok(conn) = self.prepare(stream, remote, key) else {
            return;
        };
        let conn = Arc::new(conn);
        let table = &self.shared.table;
        table.insert(key, &client, Arc::clone(&conn), has_place);
        if has_place {
            conn.welcome();
        } else {
            conn.turn_away_at_once("too many connections: try again later");
        }
        self.list(key);
    }

    /// Makes space for a new connection of a client: closes other connections if necessary. Returns
    /// whether there is space.
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

    /// Displaces a connection because the system has no descriptor left. Returns whether a
    /// connection was closed. Returns false if a worker has to close it, because the descriptor
    /// becomes free later.
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

    fn displace(&self, conn: &Arc<Connection>) -> GivesWay {
        let (later, gives_way) = conn.give_way();
        later.settle_here(&self.shared);
        if gives_way != GivesWay::No {
            let displaced = &self.shared.displaced_connections;
            displaced.fetch_add(1, Ordering::Relaxed);
        }
        gives_way
    }

    fn prepare(&self, stream: TcpStream, remote: SocketAddr, key: usize) -> io::Result<Connection> {
        // On some systems the accepted socket inherits the non-blocking mode.
        stream.set_nonblocking(false)?;
        if self.shared.local.is_some() {
            stream.set_nodelay(true)?;
        }
        stream.set_read_timeout(Some(ready_set::LINGER))?;
        tcp::prepare(&stream)?;
        let socket = Registered::new(stream, Arc::clone(&self.shared.poller), key)?;
        Ok(Connection::new(socket, remote, Arc::clone(&self.shared)))
    }
}

fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted, PermissionDenied};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionReset | Interrupted | PermissionDenied
    )
}
