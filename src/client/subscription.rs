//! What changes on the server, told in one way in both eras.
//!
//! ```text
//!           modern                                          legacy
//!  open     subscriptions/listen, until it is acknowledged  resources/subscribe for each resource
//!  events   those that carry the id of that request         list_changed and updated, sorted out here
//!  end      its result, or notifications/cancelled          –
//!  drop     notifications/cancelled                         resources/unsubscribe
//! ```
//!
//! Spec: Base Protocol, Patterns, "Subscriptions" (2026-07-28); Server Features, Resources, "Subscriptions" (up to 2025-11-25).

use std::fmt;
use std::sync::Arc;

use super::Client;
use super::link::Generation;
use super::subscriptions::{OnEvent, Subscriptions, Told, Wait};
use crate::error::Result;
use crate::protocol::CallOptions;
use crate::schema::{SubscriptionFilter, TaskStatus};

/// Something that a [`Subscription`] is about has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The list of tools is another one.
    ToolsChanged,
    /// The list of prompts is another one.
    PromptsChanged,
    /// The list of resources is another one.
    ResourcesChanged,
    /// What this resource holds is something else. It may be a part of the resource that was asked for.
    ResourceUpdated(String),
    /// How far a task is. Told with each step, by most servers also when the subscription begins; all of it, so nothing is left to ask for.
    #[non_exhaustive]
    TaskChanged {
        /// Its id, for [`Client::task`].
        id: String,
        /// How far it is.
        status: TaskStatus,
        /// A [`DetailedTask`](crate::schema::DetailedTask) in JSON: what it needs to go on, its result or its error, whatever there is.
        json: String,
    },
    /// The connection was lost, and is there again: changes may have been missed, so assume that
    /// everything changed. The subscription was made anew, and tells on. A client that
    /// [restarts](super::ClientBuilder::restart) its server tells this. So does one over HTTP in
    /// the legacy era, when it had to open another session, and when the stream of changes could
    /// not be had for a while.
    EverythingChanged,
    /// Nothing more will be told. The last event.
    #[non_exhaustive]
    Ended {
        /// Whether the server ended the subscription in order. If not, the connection was lost or closed, or the server failed: changes may
        /// have been missed.
        clean: bool,
    },
}

/// Changes on the server are told as long as this is kept; dropping it ends that.
///
/// It does not keep the connection open.
#[must_use = "dropping it ends the subscription"]
pub struct Subscription {
    told: Arc<Told>,
    all: Arc<Subscriptions>,
}

impl Subscription {
    /// Which changes are told: what was asked for, less what the server can't. Compare it with what was asked for. It may be another after
    /// each [`Event::EverythingChanged`].
    pub fn granted(&self) -> SubscriptionFilter {
        self.told.granted()
    }

    /// Whether nothing more will be told.
    pub fn has_ended(&self) -> bool {
        self.told.has_ended()
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.all.drop_one(&self.told);
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription")
            .field("granted", &self.granted())
            .field("has_ended", &self.has_ended())
            .finish_non_exhaustive()
    }
}

impl Client {
    /// Has changes on the server told to `on_event`, until the handle is dropped or [`Event::Ended`] comes.
    ///
    /// Blocks until the server has agreed, at most 60 s. It agrees to what it can: see [`Subscription::granted`]. `on_event` runs on a thread
    /// of the connection, one event at a time, in order, maybe before this returns; it may call the server, and drop the handle. One that
    /// still runs when its connection is closed holds up nothing of the next one.
    ///
    /// A client that [restarts](super::ClientBuilder::restart) its server subscribes anew when the connection was lost, says
    /// [`Event::EverythingChanged`], and goes on; [`Subscription::granted`] tells what the new server agreed to.
    ///
    /// In the legacy era changes of lists are told by servers on their own accord; this sorts them out, and subscribes to resources. Tasks are
    /// told in the modern era only, to clients that take [tasks](super::ClientBuilder::tasks).
    ///
    /// Spec: Base Protocol, Patterns, "Subscriptions" (2026-07-28); Server Features, Resources, "Subscriptions" (up to 2025-11-25).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Peer`](crate::ErrorKind::Peer) when the server refuses, [`ErrorKind::Timeout`](crate::ErrorKind::Timeout) (the server is
    /// told), [`ErrorKind::Closed`](crate::ErrorKind::Closed) when it has gone.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # fn f(client: &mcplink::client::Client) -> mcplink::Result<()> {
    /// use mcplink::client::Event;
    /// use mcplink::schema::SubscriptionFilter;
    ///
    /// let filter = SubscriptionFilter::default().tools_list_changed(true);
    /// let subscription = client.subscribe(filter, |event| match event {
    ///     Event::ToolsChanged => println!("there are other tools now"),
    ///     Event::Ended { clean: false, .. } => println!("connect again, and look what has changed"),
    ///     _ => {}
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn subscribe(
        &self,
        filter: SubscriptionFilter,
        on_event: impl Fn(Event) + Send + Sync + 'static,
    ) -> Result<Subscription> {
        self.subscribe_with(filter, CallOptions::new(), on_event)
    }

    /// The same with a timeout for the opening, a cancel token for it, or members of `_meta`.
    ///
    /// # Errors
    ///
    /// As [`subscribe`](Self::subscribe); [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled) when the token was triggered before
    /// the server agreed.
    pub fn subscribe_with(
        &self,
        filter: SubscriptionFilter,
        options: CallOptions<'_>,
        on_event: impl Fn(Event) + Send + Sync + 'static,
    ) -> Result<Subscription> {
        let (timeout, cancel) = options.patience();
        let wait = Wait::new(timeout, cancel);
        let generation = self.0.link.ready(&options)?;
        let meta = self.0.link.own_meta(generation.revision, &options)?;
        let on_event: OnEvent = Arc::new(on_event);
        let make = || Subscription {
            told: Arc::new(Told::new(
                filter.clone(),
                meta.clone(),
                Arc::clone(&on_event),
            )),
            all: Arc::clone(&self.0.link.subscriptions),
        };
        let session = generation.session();
        let refused = make();
        let Err(refusal) = self.open_subscription(&refused, &generation, &wait) else {
            return Ok(refused);
        };
        // What was asked for is taken back before another session is opened.
        drop(refused);
        if !generation.has_recovered(session, &refusal, &options, &self.0.link)? {
            return Err(refusal);
        }
        let subscription = make();
        self.open_subscription(&subscription, &generation, &wait)?;
        Ok(subscription)
    }

    fn open_subscription(
        &self,
        subscription: &Subscription,
        generation: &Generation,
        wait: &Wait,
    ) -> Result<()> {
        let Subscription { told, all } = subscription;
        all.open(told, generation, self.capabilities())?;
        told.wait(wait, &self.server_name())
    }
}
