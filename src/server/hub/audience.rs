//! Those who can be told on one connection, and how much room they take.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Weak};

use super::Hub;
use super::fanout::Fanout;
use super::subscriber::Subscriber;
use crate::protocol::{Peer, Source};
use crate::schema::ServerCapabilities;
use crate::server::held::Hold;
use crate::shares::{Admission, Client, Shares};
use crate::sync::Mutex;
use crate::transport::Limits;

/// Who can be told on one connection.
#[derive(Default)]
pub(in crate::server) struct Audience {
    pub(super) state: Mutex<State>,
    /// Those for whom something waits that is written by the connection's own threads.
    due: Mutex<Queue>,
}

type Queue = Option<Box<VecDeque<Arc<Subscriber>>>>;

#[derive(Default)]
pub(super) struct State {
    /// Under which the hub has it, from the first subscriber until the connection ends.
    pub(super) number: Option<u64>,
    /// What the answer to `initialize` declared.
    pub(super) declared: Lists,
    /// The legacy client is initialized.
    pub(super) is_initialized: bool,
    pub(super) legacy: Option<Arc<Subscriber>>,
    /// What it counts for among those of all clients.
    pub(super) legacy_hold: Option<Hold>,
    /// The streams of `subscriptions/listen` that are not over.
    pub(super) streams: BTreeMap<u64, Arc<Subscriber>>,
    /// What all subscriptions count against the limit, on a connection of one client.
    weight: usize,
    /// What those of each client count, on a connection that many clients share.
    shares: Option<Box<Shares<()>>>,
    /// The connection has ended.
    pub(super) gone: bool,
}

/// The lists whose changes are told.
#[derive(Clone, Copy, Default)]
pub(super) struct Lists {
    pub(super) tools: bool,
    pub(super) prompts: bool,
    pub(super) resources: bool,
}

impl Lists {
    pub(super) fn count(self) -> usize {
        let lists = [self.tools, self.prompts, self.resources];
        lists.into_iter().filter(|is_told| *is_told).count()
    }
}

impl State {
    /// Counts subscriptions against the limit, unless that is exceeded: `client`'s on a connection
    /// that many clients share.
    pub(super) fn reserve(
        &mut self,
        client: Option<&Client>,
        weight: usize,
        limits: &Limits,
    ) -> bool {
        let max = limits.max_subscriptions;
        if self.gone {
            return false;
        }
        let Some(client) = client else {
            let sum = self.weight.saturating_add(weight);
            let has_room = sum <= max;
            if has_room {
                self.weight = sum;
            }
            return has_room;
        };
        let shares = self.shares.get_or_insert_with(|| {
            let shares = Shares::new(max, limits.part_of(max), limits.reserve_of(max));
            Box::new(shares)
        });
        let has_room = shares.admit(client, weight) == Admission::Granted;
        if has_room {
            shares.take(client, weight);
        }
        has_room
    }

    /// Counts them no more.
    pub(super) fn give_back(&mut self, client: Option<&Client>, weight: usize) {
        match (client, &mut self.shares) {
            (Some(client), Some(shares)) => shares.give_back(client, weight),
            _ => self.weight -= weight,
        }
    }
}

/// What a stream that begins counts against the limit, given back unless it is kept.
pub(super) struct Reserved {
    audience: Arc<Audience>,
    /// One of many of the connection.
    client: Option<Client>,
    weight: usize,
}

impl Reserved {
    pub(super) fn take(
        audience: &Arc<Audience>,
        client: Option<&Client>,
        weight: usize,
        limits: &Limits,
    ) -> Option<Self> {
        let has_room = audience.state.lock().reserve(client, weight, limits);
        has_room.then(|| Self {
            audience: Arc::clone(audience),
            client: client.cloned(),
            weight,
        })
    }

    pub(super) fn shrink_to(&mut self, weight: usize) {
        let more = std::mem::replace(&mut self.weight, weight) - weight;
        self.give_back(more);
    }

    /// The stream gives it back when it ends.
    pub(super) fn keep(mut self) -> usize {
        std::mem::take(&mut self.weight)
    }

    fn give_back(&self, weight: usize) {
        let mut state = self.audience.state.lock();
        state.give_back(self.client.as_ref(), weight);
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if self.weight > 0 {
            self.give_back(self.weight);
        }
    }
}

impl Audience {
    /// What the answer to `initialize` declared, and may be told therefore.
    pub(in crate::server) fn declare(&self, capabilities: &ServerCapabilities) {
        let tools = capabilities.tools.as_ref().map(|it| it.list_changed);
        let prompts = capabilities.prompts.as_ref().map(|it| it.list_changed);
        let resources = capabilities.resources.as_ref().map(|it| it.list_changed);
        let is_told = |changed: Option<Option<bool>>| changed.flatten() == Some(true);
        self.state.lock().declared = Lists {
            tools: is_told(tools),
            prompts: is_told(prompts),
            resources: is_told(resources),
        };
    }

    /// Ends every stream in order, behind what was published before.
    pub(super) fn end_streams(&self, hub: &Hub) {
        hub.fanout.catch_up();
        let streams = std::mem::take(&mut self.state.lock().streams);
        self.end_all(streams.into_values(), hub);
    }

    pub(super) fn end_all(&self, subscribers: impl Iterator<Item = Arc<Subscriber>>, hub: &Hub) {
        for subscriber in subscribers {
            // A client that has read the end finds room for the next one.
            self.take_out(&subscriber, hub);
            subscriber.end(&hub.fanout);
        }
    }

    /// Takes a subscriber out of its topics. It counts no more.
    pub(super) fn take_out(&self, subscriber: &Subscriber, hub: &Hub) {
        let (client, weight) = hub.take_out(subscriber);
        self.state.lock().give_back(client.as_ref(), weight);
    }

    /// Nothing is written any more.
    pub(super) fn forget_due(&self) {
        let due = self.due.lock().take();
        drop(due);
    }

    /// Has a subscriber written to by threads of the connection.
    pub(super) fn have_pulled(
        self: &Arc<Self>,
        subscriber: Arc<Subscriber>,
        peer: &Peer,
        fanout: &Arc<Fanout>,
    ) {
        let mut due = self.due.lock();
        due.get_or_insert_default().push_back(subscriber);
        drop(due);
        peer.core().pull_soon(|| {
            Box::new(Pulled {
                audience: Arc::downgrade(self),
                fanout: Arc::clone(fanout),
            })
        });
    }
}

/// Queues on a connection what waits for its subscribers.
struct Pulled {
    audience: Weak<Audience>,
    fanout: Arc<Fanout>,
}

impl Source for Pulled {
    fn pull(&self, enough: usize) -> bool {
        let Some(audience) = self.audience.upgrade() else {
            return false;
        };
        let mut bytes = 0;
        loop {
            let mut due = audience.due.lock();
            let first = due.as_mut().and_then(|due| due.pop_front());
            drop(due);
            let Some(subscriber) = first else {
                return false;
            };
            if !subscriber.queue(&self.fanout, &mut bytes, enough) {
                let mut due = audience.due.lock();
                due.get_or_insert_default().push_front(subscriber);
                return true;
            }
        }
    }
}
