//! The kinds of objects that C holds, and the tag in front of each object.
//!
//! **Invariant:** every pointer to an object that C gets is either a slot handle (see
//! [`slots`](super::slots)), which is odd and never dereferenced, or the address of a [`Tagged`],
//! which is even. A function that takes an object checks the kind before it uses the object. So an
//! object of another kind is an error, and its memory is never read as the expected type.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::cffi::status::mcplink_status;

macro_rules! kinds {
    ($first:ident = $first_name:literal, $($kind:ident = $name:literal,)+) => {
        /// A kind of object that C holds.
        #[repr(u8)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(in crate::cffi) enum Kind {
            // An empty slot has the number 0.
            $first = 1,
            $($kind,)+
        }

        impl Kind {
            const ALL: &[(Self, &str)] = &[
                (Self::$first, $first_name),
                $((Self::$kind, $name),)+
            ];
        }
    };
}

// Each kind, with the name of its type in C.
kinds! {
    Cache = "mcplink_cache_t",
    Call = "mcplink_call_t",
    CallOptions = "mcplink_call_options_t",
    Cancel = "mcplink_cancel_t",
    Client = "mcplink_client_t",
    ClientOptions = "mcplink_client_options_t",
    Config = "mcplink_config_t",
    EraMemory = "mcplink_era_memory_t",
    Error = "mcplink_error_t",
    Exchange = "mcplink_exchange_t",
    Fetch = "mcplink_fetch_t",
    Form = "mcplink_form_t",
    Group = "mcplink_group_t",
    GuardedRequest = "mcplink_guarded_request_t",
    Http = "mcplink_http_t",
    HttpHead = "mcplink_http_head_t",
    HttpOptions = "mcplink_http_options_t",
    HttpRequest = "mcplink_http_request_t",
    Json = "mcplink_json_t",
    Listener = "mcplink_listener_t",
    Login = "mcplink_login_t",
    OAuth = "mcplink_oauth_t",
    OAuthClient = "mcplink_oauth_client_t",
    Output = "mcplink_output_t",
    Prompt = "mcplink_prompt_t",
    Publication = "mcplink_publication_t",
    Pump = "mcplink_pump_t",
    Record = "mcplink_record_t",
    Replay = "mcplink_replay_t",
    Request = "mcplink_request_t",
    Resource = "mcplink_resource_t",
    ResourceServer = "mcplink_resource_server_t",
    Responder = "mcplink_responder_t",
    Result = "mcplink_result_t",
    Server = "mcplink_server_t",
    ServerOptions = "mcplink_server_options_t",
    Session = "mcplink_session_t",
    Template = "mcplink_template_t",
    Tool = "mcplink_tool_t",
    Transport = "mcplink_transport_t",
    Watcher = "mcplink_watcher_t",
    Writer = "mcplink_writer_t",
}

/// A type of object that C holds by pointer.
pub(in crate::cffi) trait Object {
    const KIND: Kind;
}

/// Declares a type of object that C holds, with its kind: `object!(mcplink_tool_t is Tool);`.
macro_rules! object {
    ($object:ident is $kind:ident) => {
        impl $crate::cffi::handle::Object for $object {
            const KIND: $crate::cffi::handle::Kind = $crate::cffi::handle::Kind::$kind;
        }
    };
}

/// Declares a type of handle, with its kind. The type has a field `gate`, and implements
/// [`Handled`](super::Handled).
macro_rules! handle {
    ($handle:ident is $kind:ident) => {
        object!($handle is $kind);

        impl $crate::cffi::handle::Gated for $handle {
            fn gate(&self) -> &$crate::cffi::handle::Gate {
                &self.gate
            }
        }
    };
}

/// The upper three bytes of every tag: "mcl" in ASCII. The lowest byte of a tag is the number of
/// the kind.
const MAGIC: u32 = 0x6d63_6c00;
/// The tag of an object that was freed. Only a read of freed memory can find this value, so a use
/// after free is detected on a best-effort basis.
const FREED: u32 = 0x6672_6565;

impl Kind {
    const fn tag(self) -> u32 {
        MAGIC | self as u32
    }

    /// Returns the kind with the number `number`.
    pub(super) fn of(number: u32) -> Option<Self> {
        let mut all = Self::ALL.iter().map(|(kind, _)| *kind);
        all.find(|kind| *kind as u32 == number)
    }

    /// Returns the name of the type in C.
    pub(in crate::cffi) fn name(self) -> &'static str {
        let found = Self::ALL.iter().find(|(kind, _)| *kind == self);
        found.map_or("an object", |(_, name)| name)
    }
}

/// The reason why a pointer that C passes is no object of the expected kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cffi) enum Fault {
    Null,
    /// An object of another kind.
    Other(Kind),
    /// A slot handle whose object was freed, or whose callback has returned.
    Stale,
    /// An object that C borrows, and so may not free.
    Borrowed,
    /// An object that was freed, or a pointer to no object of this library.
    Unknown,
}

impl Fault {
    /// Returns the status of the fault. Takes no lock and allocates nothing.
    pub(in crate::cffi) fn status(self) -> mcplink_status {
        match self {
            Self::Null | Self::Other(_) | Self::Unknown => mcplink_status::MCPLINK_E_INVALID,
            Self::Stale | Self::Borrowed => mcplink_status::MCPLINK_E_STATE,
        }
    }
}

/// An object with a tag in front. The tag names the kind of the object.
#[repr(C)]
pub(in crate::cffi) struct Tagged<T: Object> {
    // Invariant: the tag is the first field, so that it can be read through a pointer to an object
    // of any kind.
    tag: AtomicU32,
    /// How many times C has to free the object. 0 for an object that C only borrows.
    owners: AtomicU32,
    value: T,
}

impl<T: Object> Tagged<T> {
    /// Makes an object that C may borrow.
    pub(in crate::cffi) fn new(value: T) -> Self {
        Self {
            tag: AtomicU32::new(T::KIND.tag()),
            owners: AtomicU32::new(0),
            value,
        }
    }

    /// Adds a reference that C owns: [`disown`](Self::disown) succeeds once more.
    pub(in crate::cffi) fn own(&self) {
        self.owners.fetch_add(1, Ordering::Relaxed);
    }

    /// Removes a reference that C owns. Fails if C owns no reference.
    pub(in crate::cffi) fn disown(&self) -> Result<(), Fault> {
        let less = |owners: u32| owners.checked_sub(1);
        let taken = self
            .owners
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, less);
        taken.map(drop).map_err(|_| Fault::Borrowed)
    }

    /// Returns the pointer by which C borrows the object.
    pub(in crate::cffi) fn as_ptr(&self) -> *const T {
        std::ptr::from_ref(self).cast()
    }

    /// Returns the pointer by which C borrows the object mutably.
    pub(in crate::cffi) fn as_mut_ptr(&mut self) -> *mut T {
        std::ptr::from_mut(self).cast()
    }
}

/// Returns the kind of the object at an address, from its tag.
///
/// # Safety
///
/// `object` is a live object of this library, of any kind, and not NULL.
pub(super) unsafe fn kind_at<T>(object: *const T) -> Result<Kind, Fault> {
    if !object.cast::<Tagged<Empty>>().is_aligned() {
        return Err(Fault::Unknown);
    }
    // SAFETY: the caller guarantees an object of this library; each begins with its tag.
    let tag = unsafe { &*object.cast::<AtomicU32>() }.load(Ordering::Relaxed);
    match Kind::of(tag ^ MAGIC) {
        Some(kind) => Ok(kind),
        None => Err(Fault::Unknown),
    }
}

/// An object without contents. [`kind_at`] checks the alignment of this object, because every
/// object with a tag is at least as aligned.
struct Empty;

impl Object for Empty {
    const KIND: Kind = Kind::Error;
}

impl<T: Object> Drop for Tagged<T> {
    fn drop(&mut self) {
        self.tag.store(FREED, Ordering::Relaxed);
    }
}

impl<T: Object> Deref for Tagged<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Object> DerefMut for Tagged<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}
