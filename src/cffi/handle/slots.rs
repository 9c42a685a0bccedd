//! The slot table: finds thread-safe objects by an index and a generation instead of an address.
//!
//! For such an object C gets a slot handle: a pointer-sized number that is no address. It contains
//! the index of a slot and the generation of the slot. The generation changes when an object leaves
//! the slot, so a stale handle is detected without a read of freed memory. With 64 bits, a slot is
//! retired when its generations are used up. With 32 bits, the generations of a slot repeat after
//! 2048 objects, so a very old handle may match.
//!
//! ```text
//!  64 bits:  1 | index (31) | generation (30) | view | 1
//!  32 bits:      index (18) | generation (12) | view | 1
//! ```
//!
//! The lowest bit distinguishes a slot handle from an address: objects are aligned, so the lowest
//! bit of an address is 0. The highest bit of a 64-bit handle is 1, so no object of a process can
//! have this address. If the bit `view` is 1, the handle refers to a part of the object: the
//! request of a responder. The generation of a slot in use is odd.
//!
//! A lookup takes no lock, so signal handlers may look objects up.
//!
//! **Invariant:** an object stays in its slot while a thread pins the slot. A lookup pins the slot
//! with a compare-and-swap that also compares the generation. The thread that frees the object
//! changes the generation first, so that no further thread pins the slot, then waits until no
//! thread pins it, and only then takes the object. A pin lasts for the few instructions that add a
//! reference to the object.

use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use std::{hint, ptr, thread};

use super::kind::{self, Fault, Kind, Object, Tagged};

const IS_WIDE: bool = usize::BITS == 64;
const GENERATION_BITS: u32 = if IS_WIDE { 30 } else { 12 };
const INDEX_BITS: u32 = if IS_WIDE { 31 } else { 18 };
const LAST_GENERATION: u64 = (1 << GENERATION_BITS) - 1;
const MARK: usize = 1;
const VIEW: usize = 2;

/// One entry of the slot table.
struct Slot {
    /// The generation in the upper half, the number of pins in the lower half.
    state: AtomicU64,
    /// The number of references that C owns or borrows. The slot is freed when the number reaches
    /// zero.
    owners: AtomicU32,
    kind: AtomicU32,
    /// The address of the object, with all bits inverted. Leak checkers search memory for addresses
    /// of objects. They do not find the inverted address, so they report an object that C forgets
    /// to free.
    object: AtomicUsize,
    /// The address of the part of the object to which handles with the bit `view` refer, with all
    /// bits inverted.
    part: AtomicUsize,
    /// The next slot in the list of free slots: its index plus 1; 0 at the end of the list.
    next: AtomicU32,
}

impl Slot {
    const fn new() -> Self {
        Self {
            state: AtomicU64::new(0),
            owners: AtomicU32::new(0),
            kind: AtomicU32::new(0),
            object: AtomicUsize::new(0),
            part: AtomicUsize::new(0),
            next: AtomicU32::new(0),
        }
    }
}

/// The number of slots in the first chunk. Each further chunk has twice as many slots as the
/// previous chunk.
const FIRST_CHUNK: usize = 64;
const CHUNKS: usize = (INDEX_BITS - FIRST_CHUNK.ilog2()) as usize + 1;

/// The chunks of the table. A chunk is never freed, so that a stale handle can always be checked.
static TABLE: [AtomicPtr<Slot>; CHUNKS] = [const { AtomicPtr::new(ptr::null_mut()) }; CHUNKS];
/// The number of slots that were ever used.
static USED: AtomicU32 = AtomicU32::new(0);
/// The head of the list of free slots. The lower half is the index of the first free slot plus 1.
/// The upper half counts the changes, to prevent the ABA problem: the compare-and-swap of a thread
/// that read an older head fails.
static FREE: AtomicU64 = AtomicU64::new(0);

fn place(index: u32) -> (usize, usize) {
    let place = index as usize + FIRST_CHUNK;
    let chunk = place.ilog2() - FIRST_CHUNK.ilog2();
    (chunk as usize, place - (FIRST_CHUNK << chunk))
}

/// Returns the slot with an index; `None` if its chunk was never allocated.
fn slot(index: u32) -> Option<&'static Slot> {
    let (chunk, offset) = place(index);
    let chunk = TABLE.get(chunk)?.load(Ordering::Acquire);
    // SAFETY: a chunk in the table is never freed, and has this many slots.
    (!chunk.is_null()).then(|| unsafe { &*chunk.add(offset) })
}

/// Returns a slot, and allocates its chunk if necessary.
fn made_slot(index: u32) -> &'static Slot {
    let (chunk, offset) = place(index);
    let entry = &TABLE[chunk];
    let mut slots = entry.load(Ordering::Acquire);
    if slots.is_null() {
        let made: Box<[Slot]> = (0..FIRST_CHUNK << chunk).map(|_| Slot::new()).collect();
        let made = Box::into_raw(made);
        let first = made.cast::<Slot>();
        let set = entry.compare_exchange(slots, first, Ordering::AcqRel, Ordering::Acquire);
        slots = set.map_or_else(
            |other| {
                // SAFETY: another thread stored its chunk first, so no other thread refers to these
                // slots.
                drop(unsafe { Box::from_raw(made) });
                other
            },
            |_| first,
        );
    }
    // SAFETY: a chunk in the table is never freed, and has this many slots.
    unsafe { &*slots.add(offset) }
}

fn pop_free() -> Option<u32> {
    let mut free = FREE.load(Ordering::Acquire);
    loop {
        let index = (free as u32).checked_sub(1)?;
        let next = slot(index)?.next.load(Ordering::Relaxed);
        let changed = ((free >> 32).wrapping_add(1) << 32) | u64::from(next);
        match FREE.compare_exchange_weak(free, changed, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return Some(index),
            Err(now) => free = now,
        }
    }
}

fn push_free(index: u32, slot: &Slot) {
    let mut free = FREE.load(Ordering::Relaxed);
    loop {
        slot.next.store(free as u32, Ordering::Relaxed);
        let changed = ((free >> 32).wrapping_add(1) << 32) | u64::from(index + 1);
        match FREE.compare_exchange_weak(free, changed, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) => return,
            Err(now) => free = now,
        }
    }
}

/// The index and the generation that a slot handle contains.
#[derive(Clone, Copy)]
struct Parts {
    index: u32,
    generation: u64,
}

impl Parts {
    fn of<T>(handle: *const T) -> Self {
        let number = (handle.addr() >> 2) as u64;
        Self {
            index: ((number >> GENERATION_BITS) & ((1 << INDEX_BITS) - 1)) as u32,
            generation: number & LAST_GENERATION,
        }
    }

    fn handle<T>(self) -> *mut T {
        let number = (u64::from(self.index) << GENERATION_BITS) | self.generation;
        let top = if IS_WIDE { 1 << (usize::BITS - 1) } else { 0 };
        ptr::without_provenance_mut(top | (number as usize) << 2 | MARK)
    }
}

/// A pinned slot. The object stays in the slot until this value is dropped.
struct Pinned {
    slot: &'static Slot,
    parts: Parts,
}

impl Pinned {
    fn of<T>(handle: *const T) -> Option<Self> {
        let parts = Parts::of(handle);
        if parts.generation & 1 == 0 {
            return None;
        }
        let slot = slot(parts.index)?;
        let mut state = slot.state.load(Ordering::Acquire);
        while state >> 32 == parts.generation {
            let pinned = slot.state.compare_exchange_weak(
                state,
                state + 1,
                Ordering::AcqRel,
                Ordering::Acquire,
            );
            match pinned {
                Ok(_) => return Some(Self { slot, parts }),
                Err(now) => state = now,
            }
        }
        None
    }

    fn kind(&self) -> Option<Kind> {
        Kind::of(self.slot.kind.load(Ordering::Relaxed))
    }

    fn object<T>(&self) -> *const T {
        ptr::with_exposed_provenance(!self.slot.object.load(Ordering::Relaxed))
    }

    /// Takes the object out of the slot. Called by the thread that released the last reference.
    fn take<T>(self) -> Arc<T> {
        let (slot, Parts { index, generation }) = (self.slot, self.parts);
        let next = (generation + 1) & LAST_GENERATION;
        let renew = |state: u64| Some((next << 32) | (state & u64::from(u32::MAX)));
        _ = slot
            .state
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, renew);
        let mut rounds = 0_u32;
        while slot.state.load(Ordering::Acquire) as u32 > 1 {
            rounds += 1;
            match rounds {
                ..64 => hint::spin_loop(),
                64..256 => thread::yield_now(),
                // A thread with a lower priority may pin the slot: let it run.
                _ => thread::sleep(Duration::from_millis(1)),
            }
        }
        let object = self.object::<T>();
        std::mem::forget(self);
        slot.object.store(0, Ordering::Relaxed);
        slot.state.store(next << 32, Ordering::Release);
        // With 64 bits, a slot whose generations are used up is not used again, because a stale
        // handle would match.
        if !IS_WIDE || next != 0 {
            push_free(index, slot);
        }
        // SAFETY: `insert` put this reference into the slot, and its kind was compared with `T`.
        unsafe { Arc::from_raw(object) }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        self.slot.state.fetch_sub(1, Ordering::Release);
    }
}

/// Puts an object into the table, and returns the slot handle by which C owns or borrows the
/// object.
///
/// # Panics
///
/// Panics if the table is full: with 2^31 objects, or 2^18 where pointers have 32 bits.
pub(in crate::cffi) fn insert<T: Object + Send + Sync>(object: Arc<T>) -> *mut T {
    insert_with(object, ptr::null())
}

fn insert_with<T: Object + Send + Sync>(object: Arc<T>, part: *const ()) -> *mut T {
    let index = pop_free().unwrap_or_else(|| {
        let index = USED.fetch_add(1, Ordering::Relaxed);
        assert!(index >> INDEX_BITS == 0, "there are too many objects");
        index
    });
    let slot = made_slot(index);
    let address = Arc::into_raw(object).expose_provenance();
    slot.object.store(!address, Ordering::Relaxed);
    slot.part
        .store(!part.expose_provenance(), Ordering::Relaxed);
    slot.kind.store(T::KIND as u32, Ordering::Relaxed);
    slot.owners.store(1, Ordering::Relaxed);
    let generation = ((slot.state.load(Ordering::Relaxed) >> 32) + 1) & LAST_GENERATION;
    // The slot is free, so no other thread changes its state.
    slot.state.store(generation << 32, Ordering::Release);
    Parts { index, generation }.handle()
}

/// Returns the kind of an object that C passes.
///
/// # Safety
///
/// `object` is NULL, or an object of this library, of any kind. A slot handle may be stale.
unsafe fn kind_at<T>(object: *const T) -> Result<Kind, Fault> {
    if object.is_null() {
        return Err(Fault::Null);
    }
    if is_handle(object) {
        return kind_of(object).ok_or(Fault::Stale);
    }
    // SAFETY: the safety contract of this function.
    unsafe { kind::kind_at(object) }
}

/// Returns the object, including its tag, to which a pointer from C refers. Fails for NULL, for an
/// object of another kind, and for a stale handle.
///
/// # Safety
///
/// `object` is NULL, an address of an object of this library of any kind that lives during `'a`, or
/// a slot handle. The object of a slot handle may have been freed; the handle is then refused.
pub(in crate::cffi) unsafe fn tagged<'a, T: Object>(
    object: *const T,
) -> Result<&'a Tagged<T>, Fault> {
    // SAFETY: the safety contract of this function.
    match unsafe { kind_at(object) }? {
        // SAFETY: the object is a `Tagged<T>`, because its kind was compared; the caller guarantees
        // that it lives.
        kind if kind == T::KIND => Ok(unsafe { &*object.cast::<Tagged<T>>() }),
        kind => Err(Fault::Other(kind)),
    }
}

/// Returns whether a pointer is a slot handle, and not an address.
fn is_handle<T>(handle: *const T) -> bool {
    handle.addr() & MARK != 0
}

/// Returns the kind of the object, or of the part of an object, to which a slot handle refers;
/// `None` for a stale handle.
fn kind_of<T>(handle: *const T) -> Option<Kind> {
    let kind = Pinned::of(handle)?.kind()?;
    Some(match handle.addr() & VIEW {
        0 => kind,
        _ => Kind::Request,
    })
}

/// Pins the slot of an object that C passes.
///
/// # Safety
///
/// `handle` is NULL or an object of this library, of any kind. A slot handle may be stale.
unsafe fn pinned<T: Object>(handle: *const T) -> Result<Pinned, Fault> {
    if !is_handle(handle) {
        // SAFETY: the safety contract of this function.
        let found = unsafe { kind_at(handle) }?;
        return Err(Fault::Other(found));
    }
    let pinned = Pinned::of(handle).ok_or(Fault::Stale)?;
    if handle.addr() & VIEW != 0 {
        return Err(Fault::Other(Kind::Request));
    }
    match pinned.kind().ok_or(Fault::Stale)? {
        kind if kind == T::KIND => Ok(pinned),
        kind => Err(Fault::Other(kind)),
    }
}

/// Returns the object that C passes.
///
/// # Safety
///
/// `handle` is NULL or an object of this library, of any kind. A slot handle may be stale.
pub(in crate::cffi) unsafe fn find<T: Object>(handle: *const T) -> Result<Arc<T>, Fault> {
    // SAFETY: the safety contract of this function.
    let pinned = unsafe { pinned(handle) }?;
    let object = pinned.object::<T>();
    // SAFETY: the pinned slot holds a reference to the object, whose kind was compared with `T`.
    unsafe {
        Arc::increment_strong_count(object);
        Ok(Arc::from_raw(object))
    }
}

/// Calls `look` with the object that C passes. Takes no lock and allocates nothing, for signal
/// handlers. A thread that frees the object waits until `look` returns.
///
/// # Safety
///
/// `handle` is NULL or an object of this library, of any kind. A slot handle may be stale.
pub(in crate::cffi) unsafe fn peek<T: Object, R>(
    handle: *const T,
    look: impl FnOnce(&T) -> R,
) -> Result<R, Fault> {
    // SAFETY: the safety contract of this function.
    let pinned = unsafe { pinned(handle) }?;
    // SAFETY: the pinned slot holds a reference to the object, whose kind was compared with `T`.
    Ok(look(unsafe { &*pinned.object::<T>() }))
}

/// Adds a reference to the object that C passes.
///
/// # Safety
///
/// `handle` is NULL or an object of this library, of any kind. A slot handle may be stale.
pub(in crate::cffi) unsafe fn keep<T: Object>(handle: *const T) -> Result<(), Fault> {
    // SAFETY: the safety contract of this function.
    let pinned = unsafe { pinned(handle) }?;
    let more = |owners: u32| (owners > 0).then(|| owners + 1);
    let added = pinned
        .slot
        .owners
        .fetch_update(Ordering::AcqRel, Ordering::Relaxed, more);
    added.map(drop).map_err(|_| Fault::Stale)
}

/// Releases a reference to the object that C passes. If the reference was the last, the handle
/// becomes stale, and the function returns the object.
///
/// # Safety
///
/// `handle` is NULL or an object of this library, of any kind. A slot handle may be stale.
pub(in crate::cffi) unsafe fn release<T: Object>(
    handle: *const T,
) -> Result<Option<Arc<T>>, Fault> {
    // SAFETY: the safety contract of this function.
    let pinned = unsafe { pinned(handle) }?;
    let less = |owners: u32| owners.checked_sub(1);
    let before = pinned
        .slot
        .owners
        .fetch_update(Ordering::AcqRel, Ordering::Relaxed, less);
    match before {
        Ok(1) => Ok(Some(pinned.take())),
        Ok(_) => Ok(None),
        Err(_) => Err(Fault::Stale),
    }
}

/// Returns a handle for one part of an object, such as the request of a responder. `handle` is the
/// slot handle of the object.
pub(in crate::cffi) fn view_of<T: Object, Part>(handle: *const T) -> *const Part {
    ptr::without_provenance(handle.addr() | VIEW)
}

/// A pinned part of an object, such as the request of a responder. The object stays in its slot
/// until this value is dropped, so the thread that holds this value must not run code of the host.
pub(in crate::cffi) struct Part<P> {
    part: *const P,
    _pinned: Pinned,
}

impl<P> Deref for Part<P> {
    type Target = P;

    fn deref(&self) -> &P {
        // SAFETY: the pinned slot holds a reference to the object, which contains the part.
        unsafe { &*self.part }
    }
}

/// Returns the part of an object to which a handle with the bit `view` refers.
///
/// # Safety
///
/// `part` is NULL or an object of this library, of any kind. A slot handle may be stale. `P` is the
/// type of the part of every object that has a part.
pub(in crate::cffi) unsafe fn find_part<P: Object>(part: *const P) -> Result<Part<P>, Fault> {
    if !is_handle(part) {
        // SAFETY: the safety contract of this function.
        return Err(Fault::Other(unsafe { kind_at(part) }?));
    }
    let pinned = Pinned::of(part).ok_or(Fault::Stale)?;
    let address = !pinned.slot.part.load(Ordering::Relaxed);
    if part.addr() & VIEW == 0 || address == 0 {
        return Err(pinned.kind().map_or(Fault::Stale, Fault::Other));
    }
    Ok(Part {
        part: ptr::with_exposed_provenance(address),
        _pinned: pinned,
    })
}

/// A slot handle that is lent to a callback of the host. The handle is valid until this value is
/// dropped, and longer if the host keeps the object.
pub(in crate::cffi) struct Lent<T: Object>(*mut T);

impl<T: Object + Send + Sync> Lent<T> {
    pub(in crate::cffi) fn new(object: Arc<T>) -> Self {
        Self(insert(object))
    }

    /// Lends an object and one part of the object. [`view_of`] makes the handle for the part.
    pub(in crate::cffi) fn with_part<P: Object>(object: Arc<T>, part: fn(&T) -> &P) -> Self {
        let part = ptr::from_ref(part(&object)).cast();
        Self(insert_with(object, part))
    }

    pub(in crate::cffi) fn handle(&self) -> *mut T {
        self.0
    }

    /// Transfers the ownership of the object to the host, which frees the object.
    pub(in crate::cffi) fn into_owned(self) -> *mut T {
        ManuallyDrop::new(self).0
    }
}

impl<T: Object> Drop for Lent<T> {
    fn drop(&mut self) {
        // SAFETY: the handle is a slot handle. If the host has freed the object, the handle is
        // stale.
        drop(unsafe { release(self.0) });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    struct Thing(Arc<AtomicUsize>);

    impl Object for Thing {
        const KIND: Kind = Kind::Login;
    }

    struct Other;

    impl Object for Other {
        const KIND: Kind = Kind::Call;
    }

    impl Drop for Thing {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn a_stale_handle_is_told_from_the_next_object_in_its_slot() {
        let dropped = Arc::new(AtomicUsize::new(0));
        let thing = || insert(Arc::new(Thing(Arc::clone(&dropped))));
        let first = thing();
        // SAFETY: all handles are slot handles.
        unsafe {
            assert!(find(first).is_ok());
            assert!(matches!(
                find(first.cast::<Other>().cast_const()),
                Err(Fault::Other(Kind::Login))
            ));
            assert!(keep(first).is_ok());
            assert!(release(first).expect("kept").is_none());
            assert!(release(first).expect("the last").is_some());
            assert_eq!(dropped.load(Ordering::SeqCst), 1);
            let second = thing();
            assert_ne!(first, second);
            for stale in [first, first.cast()] {
                assert!(matches!(find(stale), Err(Fault::Stale)));
                assert_eq!(keep(stale), Err(Fault::Stale));
                assert!(matches!(release(stale), Err(Fault::Stale)));
            }
            let view = view_of::<_, Other>(second);
            assert!(matches!(find(view), Err(Fault::Other(_))));
            assert!(matches!(find_part(view), Err(Fault::Other(Kind::Login))));
            assert!(matches!(find(ptr::null::<Thing>()), Err(Fault::Null)));
            assert!(release(second).expect("the last").is_some());
            assert!(matches!(find_part(view), Err(Fault::Stale)));
        }
    }

    #[test]
    fn threads_look_up_what_others_free() {
        const ROUNDS: usize = 2_000;
        let dropped = Arc::new(AtomicUsize::new(0));
        for _ in 0..ROUNDS {
            let handle = insert(Arc::new(Thing(Arc::clone(&dropped)))).addr();
            let done = AtomicBool::new(false);
            thread::scope(|scope| {
                let look = || {
                    let handle: *const Thing = ptr::without_provenance(handle);
                    // SAFETY: the handle is of the table.
                    while let Ok(thing) = unsafe { find(handle) } {
                        assert_eq!(
                            thing.0.load(Ordering::SeqCst),
                            thing.0.load(Ordering::SeqCst)
                        );
                        done.store(true, Ordering::SeqCst);
                    }
                };
                scope.spawn(look);
                while !done.load(Ordering::SeqCst) {
                    thread::yield_now();
                }
                let handle: *const Thing = ptr::without_provenance(handle);
                // SAFETY: the handle is of the table.
                let freed = [(); 2].map(|()| unsafe { release(handle) }.is_ok());
                assert_eq!(freed, [true, false]);
            });
        }
        assert_eq!(dropped.load(Ordering::SeqCst), ROUNDS);
    }
}
