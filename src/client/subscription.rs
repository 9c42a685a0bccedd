//! Subscriptions to changes on the server, with one interface for both eras.
//!
//! ```text
//!           modern                                          legacy
//!  open     subscriptions/listen, until it is acknowledged  resources/subscribe for each resource
//!  events   those with the id of the listen request         list_changed and updated, filtered
//!  end      the result of the listen request,               –
//!           or notifications/cancelled
//!  drop     notifications/cancelled                         resources/unsubscribe
//! ```
//!
//! Spec: Base Protocol, Patterns, "Subscriptions" (2026-07-28); Server Features, Resources,
//! "Subscriptions" (up to 2025-11-25).

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_channel::{Receiver, Sender};

use super::Client;
use super::call_options::CallOptions;
use super::connection::ClientConnection;
use super::event::{Event, OnEvent};
use super::subscriber::{Subscriber, Wait};
use super::subscriptions::Subscriptions;
use crate::error::Result;
use crate::schema::SubscriptionFilter;

/// The maximum number of events that wait in the channel of a subscription.
const MAX_EVENTS: usize = 1024;

/// A subscription to changes on the server. Dropping the handle ends the subscription.
///
/// A subscription does not keep the connection open.
#[must_use = "dropping it ends the subscription"]
pub struct Subscription {
    subscriber: Arc<Subscriber>,
    all: Arc<Subscriptions>,
}

impl Subscription {
    /// Returns the changes that the server reports. This is the requested filter without the parts
    /// that the server does not support. The result may differ after each
    /// [`Event::EverythingChanged`].
    pub fn granted(&self) -> SubscriptionFilter {
        self.subscriber.granted()
    }

    /// Whether the subscription has ended.
    pub fn has_ended(&self) -> bool {
        self.subscriber.has_ended()
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.all.drop_one(&self.subscriber);
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

/// Returns a callback that sends the events of one subscription to a channel, as
/// [`Client::subscribe_channel`] describes. `wrap` converts an event to a message of the channel.
pub(super) fn into_channel<E: Send + 'static>(
    sender: Sender<E>,
    wrap: impl Fn(Event) -> E + Send + Sync + 'static,
) -> impl Fn(Event) + Send + Sync + 'static {
    let has_lost = AtomicBool::new(false);
    // The callback runs for one event at a time, so no two threads use the flag at once.
    move |event| {
        let is_full = sender.len() >= MAX_EVENTS && !matches!(event, Event::Ended { .. });
        let had_lost = has_lost.swap(is_full, Ordering::Relaxed);
        let event = match (is_full, had_lost) {
            (false, _) => event,
            (true, false) => Event::EverythingChanged,
            (true, true) => return,
        };
        // Fails when the receiver was dropped.
        _ = sender.send(wrap(event));
    }
}

impl Client {
    /// Subscribes to changes on the server. The callback `on_event` is called until the handle is
    /// dropped or [`Event::Ended`] was reported.
    ///
    /// Blocks until the server has agreed, at most for the timeout of a call. The server may agree
    /// to a part of the filter: see [`Subscription::granted`].
    ///
    /// The callback runs on a thread of the connection, for one event at a time and in order. The
    /// callback may run before this function returns. The callback may call the server and drop
    /// the handle. If the connection is lost while the callback runs, the client waits at most a
    /// few seconds for the callback to return. Then the client reconnects. If the callback has not
    /// returned by then, it may run for a second event at the same time.
    ///
    /// After a [restart](super::ClientBuilder::restart) of the server the subscription is renewed,
    /// and [`Event::EverythingChanged`] is reported. [`Subscription::granted`] then returns the
    /// filter to which the restarted server agreed.
    ///
    /// In the legacy era a server reports changes of lists without a subscription, and this client
    /// filters the reports. Resources are subscribed one by one. Task events exist only in the
    /// modern era, for clients that accept [tasks](super::ClientBuilder::tasks).
    ///
    /// Spec: Base Protocol, Patterns, "Subscriptions" (2026-07-28); Server Features, Resources,
    /// "Subscriptions" (up to 2025-11-25).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Peer`](crate::ErrorKind::Peer) when the server refuses;
    /// [`ErrorKind::Timeout`](crate::ErrorKind::Timeout) when the server does not answer in time
    /// (the server is notified); [`ErrorKind::Closed`](crate::ErrorKind::Closed) when the server
    /// has gone.
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
    ///     Event::Ended { clean: false, .. } => println!("connect again and check the changes"),
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

    /// Subscribes to changes on the server, with options: a timeout or a cancel token for opening
    /// the subscription, or `_meta` members of the request.
    ///
    /// # Errors
    ///
    /// The errors of [`subscribe`](Self::subscribe), and
    /// [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled) when the token was cancelled before
    /// the server agreed.
    pub fn subscribe_with(
        &self,
        filter: SubscriptionFilter,
        mut options: CallOptions<'_>,
        on_event: impl Fn(Event) + Send + Sync + 'static,
    ) -> Result<Subscription> {
        options.apply_defaults(self.0.supervisor.settings().timeouts);
        let (timeout, cancel) = options.request.patience();
        let wait = Wait::new(timeout, cancel);
        let connection = self.0.supervisor.ready(&options)?;
        let meta = self.0.supervisor.own_meta(connection.revision, &options)?;
        let on_event: OnEvent = Arc::new(on_event);
        let make = || Subscription {
            subscriber: Arc::new(Subscriber::new(
                filter.clone(),
                meta.clone(),
                Arc::clone(&on_event),
            )),
            all: Arc::clone(&self.0.supervisor.server.subscriptions),
        };
        let session = connection.session();
        let refused = make();
        let Err(refusal) = self.open_subscription(&refused, &connection, &wait) else {
            return Ok(refused);
        };
        // The refused subscription is withdrawn before a new session is opened.
        drop(refused);
        if !connection.has_recovered(session, &refusal, &options, &self.0.supervisor.server)? {
            return Err(refusal);
        }
        let subscription = make();
        self.open_subscription(&subscription, &connection, &wait)?;
        Ok(subscription)
    }

    /// Subscribes to changes on the server. The events go to a channel, so that one thread can wait
    /// for them together with the events of [calls](super::PendingCall) and other channels.
    ///
    /// If 1,024 events wait in the channel, further changes are dropped, and one
    /// [`Event::EverythingChanged`] takes their place. [`Event::Ended`] is always sent.
    ///
    /// # Errors
    ///
    /// The errors of [`subscribe_with`](Self::subscribe_with).
    pub fn subscribe_channel(
        &self,
        filter: SubscriptionFilter,
        options: CallOptions<'_>,
    ) -> Result<(Subscription, Receiver<Event>)> {
        let (sender, events) = crossbeam_channel::unbounded();
        let on_event = into_channel(sender, |event| event);
        let subscription = self.subscribe_with(filter, options, on_event)?;
        Ok((subscription, events))
    }

    fn open_subscription(
        &self,
        subscription: &Subscription,
        connection: &ClientConnection,
        wait: &Wait,
    ) -> Result<()> {
        let Subscription { subscriber, all } = subscription;
        all.open(subscriber, connection, self.capabilities())?;
        subscriber.wait(wait, &self.server_name())
    }
}
