//! The input requests that clients answer: the capabilities that servers see.

use std::sync::atomic::{AtomicU8, Ordering};

use mcplink::schema::{
    ClientCapabilities, ElicitationCapability, ElicitationMode, JsonObject, RootsCapability,
    SamplingCapability, TASKS_EXTENSION,
};
use serde_json::json;

/// A set of the inputs that a client can give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Inputs(u8);

impl Inputs {
    pub(super) const FORMS: Self = Self(1);
    pub(super) const PAGES: Self = Self(1 << 1);
    pub(super) const SAMPLING: Self = Self(1 << 2);
    pub(super) const SAMPLING_TOOLS: Self = Self(1 << 3);
    pub(super) const SAMPLING_CONTEXT: Self = Self(1 << 4);
    pub(super) const ROOTS: Self = Self(1 << 5);
    /// Changes of the roots are reported.
    pub(super) const ROOT_CHANGES: Self = Self(1 << 6);
    pub(super) const ALL: Self = Self((1 << 7) - 1);

    /// Returns the inputs of a client with these capabilities.
    pub(super) fn of(client: &ClientCapabilities) -> Self {
        let (sampling, roots) = (client.sampling.as_ref(), client.roots.as_ref());
        let has_context = sampling.is_some_and(|sampling| sampling.context.is_some());
        let reports = roots.is_some_and(|roots| roots.list_changed == Some(true));
        let declared = [
            (
                Self::FORMS,
                client.supports_elicitation(ElicitationMode::Form),
            ),
            (
                Self::PAGES,
                client.supports_elicitation(ElicitationMode::Url),
            ),
            (Self::SAMPLING, sampling.is_some()),
            (Self::SAMPLING_TOOLS, client.supports_sampling_tools()),
            (Self::SAMPLING_CONTEXT, has_context),
            (Self::ROOTS, roots.is_some()),
            (Self::ROOT_CHANGES, reports),
        ];
        let declared = declared.iter().filter(|(_, is_declared)| *is_declared);
        Self(declared.fold(0, |all, (one, _)| all | one.0))
    }

    pub(super) fn has(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    pub(super) fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    pub(super) fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// Returns the capabilities of a client with these inputs.
    pub(super) fn capabilities(self) -> ClientCapabilities {
        let mut client = ClientCapabilities::default();
        for (input, mode) in [
            (Self::FORMS, ElicitationMode::Form),
            (Self::PAGES, ElicitationMode::Url),
        ] {
            if self.has(input) {
                let elicitation: &mut ElicitationCapability =
                    client.elicitation.get_or_insert_default();
                *elicitation = std::mem::take(elicitation).with(mode);
            }
        }
        if self.has(Self::SAMPLING) {
            let mut sampling = SamplingCapability::default();
            if self.has(Self::SAMPLING_TOOLS) {
                sampling = sampling.with_tools();
            }
            if self.has(Self::SAMPLING_CONTEXT) {
                sampling = sampling.with_context();
            }
            client = client.sampling(sampling);
        }
        if self.has(Self::ROOTS) {
            let reports = self.has(Self::ROOT_CHANGES);
            client = client.roots(RootsCapability::default().list_changed(reports));
        }
        client
    }
}

/// Adds the extension for tasks to the capabilities for a call: the proxy awaits tasks itself.
pub(super) fn with_tasks(client: ClientCapabilities) -> ClientCapabilities {
    let mut tasks = JsonObject::new();
    tasks.insert(TASKS_EXTENSION.to_owned(), json!({}));
    client.extensions(tasks)
}

/// The inputs of all clients that have called a server. They never grow, so the server asks no client
/// for an input that this client does not have.
pub(super) struct Common(AtomicU8);

impl Common {
    /// Creates the inputs before the first call.
    pub(super) fn new(expected: Inputs) -> Self {
        Self(AtomicU8::new(expected.0))
    }

    pub(super) fn get(&self) -> Inputs {
        Inputs(self.0.load(Ordering::SeqCst))
    }

    /// Removes the inputs that a client does not have, and returns the others.
    pub(super) fn meet(&self, client: Inputs) -> Inputs {
        Inputs(self.0.fetch_and(client.0, Ordering::SeqCst) & client.0)
    }
}
