//! Fallible allocation, for memory whose size is decided by a peer.
//!
//! The ordinary methods of `Vec` and `String` abort the process when the allocator has no memory.
//! The functions of this module return [`TryReserveError`] instead, and leave their arguments
//! unchanged. Allocations with a small constant bound don't need these functions.

use std::borrow::Cow;
use std::collections::TryReserveError;
use std::fmt;
use std::io::{self, ErrorKind as Io, Read};

use crate::error::{Error, ErrorKind};

/// Appends bytes to a buffer.
#[inline]
pub(crate) fn append(buffer: &mut Vec<u8>, bytes: &[u8]) -> Result<(), TryReserveError> {
    buffer.try_reserve(bytes.len())?;
    buffer.extend_from_slice(bytes);
    Ok(())
}

/// Copies bytes to a new buffer.
pub(crate) fn copy(bytes: &[u8]) -> Result<Vec<u8>, TryReserveError> {
    let mut copy = with_capacity(bytes.len())?;
    copy.extend_from_slice(bytes);
    Ok(copy)
}

/// Copies a text to a new string.
pub(crate) fn copy_text(text: &str) -> Result<String, TryReserveError> {
    let mut copy = text_with_capacity(text.len())?;
    copy.push_str(text);
    Ok(copy)
}

/// Returns an empty string with this capacity, in bytes.
pub(crate) fn text_with_capacity(bytes: usize) -> Result<String, TryReserveError> {
    let mut text = String::new();
    text.try_reserve_exact(bytes)?;
    Ok(text)
}

/// Returns an empty buffer with this capacity.
pub(crate) fn with_capacity(bytes: usize) -> Result<Vec<u8>, TryReserveError> {
    let mut buffer = Vec::new();
    buffer.try_reserve_exact(bytes)?;
    Ok(buffer)
}

/// Appends zeros to a buffer, up to the length `len`.
pub(crate) fn lengthen(buffer: &mut Vec<u8>, len: usize) -> Result<(), TryReserveError> {
    buffer.try_reserve_exact(len.saturating_sub(buffer.len()))?;
    buffer.resize(len.max(buffer.len()), 0);
    Ok(())
}

/// Appends the remaining data of a reader, at most `max` bytes. Fails with the kind `OutOfMemory`
/// when there is no memory for the data.
///
/// `Read::read_to_end` is not used, because it may abort when it grows a full buffer.
#[cfg_attr(
    not(any(feature = "http-client", feature = "jwt")),
    expect(dead_code, reason = "HTTP bodies are read with it")
)]
pub(crate) fn read_to_end(
    reader: &mut impl Read,
    into: &mut Vec<u8>,
    max: usize,
) -> io::Result<()> {
    let mut left = max;
    while left > 0 {
        let room = (into.capacity() - into.len()).min(left);
        if room == 0 {
            // A short probe checks for more data before the buffer grows.
            let mut probe = [0; 32];
            let most = probe.len().min(left);
            match reader.read(&mut probe[..most]) {
                Ok(0) => return Ok(()),
                Ok(count) => {
                    append(into, &probe[..count])?;
                    left -= count;
                }
                Err(error) if error.kind() == Io::Interrupted => {}
                Err(error) => return Err(error),
            }
            continue;
        }
        let count = reader.by_ref().take(room as u64).read_to_end(into)?;
        left -= count;
        if count < room {
            return Ok(());
        }
    }
    Ok(())
}

/// Converts bytes to text. Invalid UTF-8 is replaced.
pub(crate) fn lossy(bytes: &[u8]) -> Result<Cow<'_, str>, TryReserveError> {
    if let Ok(text) = str::from_utf8(bytes) {
        return Ok(Cow::Borrowed(text));
    }
    let parts = || {
        let chunks = bytes.utf8_chunks();
        chunks.flat_map(|chunk| {
            let replaced = match chunk.invalid() {
                [] => "",
                _ => "\u{fffd}",
            };
            [chunk.valid(), replaced]
        })
    };
    let mut text = text_with_capacity(parts().map(str::len).sum())?;
    text.extend(parts());
    Ok(Cow::Owned(text))
}

/// Makes the error of a call that failed because there is no memory.
pub(crate) fn no_memory(what: impl fmt::Display) -> Error {
    Error::new(
        ErrorKind::Limit,
        format!("the system has no memory for {what}"),
    )
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A reader that returns a few bytes at a time, and is sometimes interrupted.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.1 += 1;
            if self.1.is_multiple_of(3) {
                return Err(Io::Interrupted.into());
            }
            let count = into.len().min(7);
            self.0.read(&mut into[..count])
        }
    }

    #[test]
    fn a_reader_is_read_to_its_end_or_to_the_limit() {
        let text: Vec<u8> = (0..=255).cycle().take(1000).collect();
        for (room, max) in [0, 1, 31, 32, 500, 999, 1000, 1001, 5000]
            .into_iter()
            .flat_map(|room| [0, 1, 33, 999, 1000, 1001, usize::MAX].map(|max| (room, max)))
        {
            let mut read = with_capacity(room + 1).expect("memory");
            read.push(b'!');
            let mut slow = Slow(&text, 0);
            read_to_end(&mut slow, &mut read, max).expect("read");
            assert_eq!(read[1..], text[..max.min(1000)], "{room} {max}");
        }
        let mut read = Vec::new();
        let error = read_to_end(&mut Broken, &mut read, 10).expect_err("broken");
        assert_eq!(error.kind(), Io::BrokenPipe);
    }

    struct Broken;

    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(Io::BrokenPipe.into())
        }
    }

    #[test]
    fn text_is_replaced_where_it_is_none() {
        for bytes in [
            &b""[..],
            b"plain",
            b"\xff",
            b"a\xc3\xb6\xc3b\xf0\x9f\x98",
            b"\xed\xa0\x80x",
        ] {
            let text = lossy(bytes).expect("memory");
            assert_eq!(text, String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let mut buffer = b"kept".to_vec();
        assert!(lengthen(&mut buffer, usize::MAX).is_err());
        assert!(with_capacity(usize::MAX).is_err());
        assert_eq!(buffer, b"kept");
        lengthen(&mut buffer, 6).expect("memory");
        lengthen(&mut buffer, 2).expect("nothing to do");
        append(&mut buffer, b"more").expect("memory");
        assert_eq!(buffer, b"kept\0\0more");
        assert_eq!(copy(&buffer).expect("memory"), buffer);
        assert_eq!(copy_text("text").expect("memory"), "text");
        assert_eq!(no_memory("it").kind(), ErrorKind::Limit);
    }
}
