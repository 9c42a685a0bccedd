//! The action `listen`: shows the changes that a server reports.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use mcplink::client::{Event, Subscription};
use mcplink::schema::SubscriptionFilter;
use mcplink::{Error, ErrorKind};
use serde_json::json;

use crate::actions::Session;
use crate::failure::{Failure, LOST, REFUSED};
use crate::{interrupt, print};

/// The first and the longest pause before a subscription that has ended is renewed.
const PAUSES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(60));

/// Shows changes until the action is interrupted. A subscription that ends is renewed, because a
/// server or a proxy may end it at any time.
pub(crate) fn run(session: &Session, uris: &[String]) -> Result<(), Failure> {
    let (told, events) = mpsc::channel();
    let interrupted = told.clone();
    let token = interrupt::token();
    let _woken = token.on_trigger(move || _ = interrupted.send(None));
    let subscribe = || {
        let told = told.clone();
        try_subscribe(session, uris, move |event| _ = told.send(Some(event)))
    };
    let mut subscription = granted(subscribe()?, uris)?;
    let mut pause = PAUSES.0;
    loop {
        let begun = Instant::now();
        let has_shown = show_all(session, &events)?;
        drop(subscription);
        if has_shown || begun.elapsed() > pause {
            pause = PAUSES.0;
        }
        subscription = loop {
            rest(&events, pause)?;
            pause = (pause * 2).min(PAUSES.1);
            match subscribe() {
                Ok(subscription) => break granted(subscription, uris)?,
                Err(error) if may_come_back(session, &error) => {}
                Err(error) => return Err(error.into()),
            }
        };
        show_event(&Event::EverythingChanged, session.options().json)?;
    }
}

/// Shows events until the subscription ends. Returns whether there were any.
fn show_all(session: &Session, events: &Receiver<Option<Event>>) -> Result<bool, Failure> {
    let mut has_shown = false;
    for event in events {
        let Some(event) = event else {
            return Err(Failure::interrupted());
        };
        match event {
            Event::Ended { .. } if session.client().is_closed() => break,
            Event::Ended { .. } => return Ok(has_shown),
            event => show_event(&event, session.options().json)?,
        }
        has_shown = true;
    }
    Err(Failure::new(LOST, "the server has gone"))
}

/// Waits for a pause. Events of the subscription that has ended are ignored.
fn rest(events: &Receiver<Option<Event>>, pause: Duration) -> Result<(), Failure> {
    let until = Instant::now() + pause;
    loop {
        match events.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(None) => return Err(Failure::interrupted()),
            Ok(Some(_)) => {}
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

/// Whether a subscription that fails with this error may succeed later.
fn may_come_back(session: &Session, error: &Error) -> bool {
    let is_temporary = match error.kind() {
        ErrorKind::Io | ErrorKind::Closed | ErrorKind::Timeout => true,
        _ => matches!(error.http_status(), Some(408 | 429 | 500..)),
    };
    is_temporary && !session.client().is_closed()
}

/// Subscribes to the changes of the lists and of these resources.
pub(crate) fn subscribe(
    session: &Session,
    uris: &[String],
    on_event: impl Fn(Event) + Send + Sync + 'static,
) -> Result<Subscription, Failure> {
    granted(try_subscribe(session, uris, on_event)?, uris)
}

fn try_subscribe(
    session: &Session,
    uris: &[String],
    on_event: impl Fn(Event) + Send + Sync + 'static,
) -> Result<Subscription, Error> {
    let mut filter = SubscriptionFilter::default()
        .tools_list_changed(true)
        .prompts_list_changed(true)
        .resources_list_changed(true);
    if !uris.is_empty() {
        filter = filter.resource_subscriptions(uris.to_vec());
    }
    let client = session.client();
    client.subscribe_with(filter, session.patience(), on_event)
}

/// Checks that the server reports any changes.
fn granted(subscription: Subscription, uris: &[String]) -> Result<Subscription, Failure> {
    let granted = subscription.granted();
    if granted.is_empty() {
        return Err(Failure::new(REFUSED, "the server tells of no changes"));
    }
    if !uris.is_empty() && granted.resource_subscriptions.is_none() {
        print::note("mcplink: the server does not tell when a resource changes");
    }
    Ok(subscription)
}

/// Shows an event as text or JSON.
pub(crate) fn show_event(event: &Event, json: bool) -> std::io::Result<()> {
    let (name, text) = match event {
        Event::ToolsChanged => ("toolsChanged", "the tools have changed".to_owned()),
        Event::PromptsChanged => ("promptsChanged", "the prompts have changed".to_owned()),
        Event::ResourcesChanged => ("resourcesChanged", "the resources have changed".to_owned()),
        Event::ResourceUpdated(uri) => ("resourceUpdated", format!("{uri} has changed")),
        Event::EverythingChanged => (
            "everythingChanged",
            "everything may have changed".to_owned(),
        ),
        Event::Ended { clean: true, .. } => ("ended", "the server tells no more".to_owned()),
        _ => return Ok(()),
    };
    if !json {
        return print::line(&text);
    }
    let mut object = json!({ "event": name });
    if let Event::ResourceUpdated(uri) = event {
        object["uri"] = json!(uri);
    }
    print::json(&object)
}
