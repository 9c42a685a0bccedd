//! The decoder of the chunked transfer coding of a request body (RFC 9112, section 7.1).
//!
//! Chunk extensions are ignored. Trailer fields must be well-formed, and are otherwise ignored. The
//! size of extensions and trailers together is limited. Otherwise a client could make the listener
//! read any amount of useless input.

use memchr::memchr;

use super::head::Refusal;
use crate::fallible;

/// The maximum length of a chunk-size line, in bytes. A longer line is refused.
const MAX_LINE: usize = 256;
/// The maximum size of all chunk extensions and trailers of a request together, in bytes. A request
/// with more is refused.
const MAX_EXTRA: usize = 16 << 10;

/// The decoder of a chunked request body.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    place: Place,
    extra: usize,
}

#[derive(Clone, Copy, Debug, Default)]
enum Place {
    #[default]
    Size,
    Data(usize),
    DataEnd,
    Trailer,
}

/// The result of one decoding step.
enum Step {
    /// The number of bytes that the step has used.
    Used(usize),
    /// The step needs more input.
    More,
    /// The number of bytes that the step has used, after which the body has ended.
    Last(usize),
}

impl Chunks {
    /// Appends the data of the chunks in `input` to `body`, which may grow to `max` bytes. Returns
    /// the number of input bytes that were used, and whether the body has ended.
    pub(super) fn push(
        &mut self,
        input: &[u8],
        body: &mut Vec<u8>,
        max: usize,
    ) -> Result<(usize, bool), Refusal> {
        let mut used = 0;
        loop {
            match self.step(&input[used..], body, max)? {
                Step::Used(count) => used += count,
                Step::More => return Ok((used, false)),
                Step::Last(count) => return Ok((used + count, true)),
            }
        }
    }

    fn step(&mut self, input: &[u8], body: &mut Vec<u8>, max: usize) -> Result<Step, Refusal> {
        match self.place {
            Place::Size => self.read_size(input, body.len(), max),
            Place::Data(_) if input.is_empty() => Ok(Step::More),
            Place::Data(left) => {
                let count = left.min(input.len());
                let appended = fallible::append(body, &input[..count]);
                appended.map_err(|_| Refusal::no_memory())?;
                self.place = match left - count {
                    0 => Place::DataEnd,
                    left => Place::Data(left),
                };
                Ok(Step::Used(count))
            }
            Place::DataEnd if input.starts_with(b"\r\n") => {
                self.place = Place::Size;
                Ok(Step::Used(2))
            }
            Place::DataEnd if input.is_empty() || input == b"\r" => Ok(Step::More),
            Place::DataEnd => Err(Refusal::bad("a chunk is longer than its size")),
            Place::Trailer => self.skip_trailer(input),
        }
    }

    fn read_size(&mut self, input: &[u8], had: usize, max: usize) -> Result<Step, Refusal> {
        let line = memchr(b'\n', input);
        let Some(line) = line.filter(|at| *at < MAX_LINE) else {
            return match input.len() {
                // Input that can't become a size is refused before the end of its line.
                0..MAX_LINE if may_become_size(input) => Ok(Step::More),
                _ => Err(bad_size()),
            };
        };
        let input = &input[..=line];
        // Without a digit the line would count as size zero. The check above has already found a
        // line end.
        if !input[0].is_ascii_hexdigit() {
            return Err(bad_size());
        }
        let Ok(httparse::Status::Complete((length, size))) = httparse::parse_chunk_size(input)
        else {
            return Err(bad_size());
        };
        // Any size has up to 16 digits and the line end. The rest of the line is extension.
        self.count(length.saturating_sub(18))?;
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        if size > max.saturating_sub(had) {
            return Err(too_long(max));
        }
        self.place = match size {
            0 => Place::Trailer,
            size => Place::Data(size),
        };
        Ok(Step::Used(length))
    }

    fn skip_trailer(&mut self, input: &[u8]) -> Result<Step, Refusal> {
        let Some(line) = memchr(b'\n', input) else {
            return match self.extra.saturating_add(input.len()) {
                0..MAX_EXTRA => Ok(Step::More),
                _ => Err(too_much_extra()),
            };
        };
        match &input[..line] {
            b"\r" => Ok(Step::Last(line + 1)),
            [field @ .., b'\r'] => {
                check_trailer(field)?;
                self.count(line + 1).map(|()| Step::Used(line + 1))
            }
            _ => Err(Refusal::bad("a trailer does not end in CR LF")),
        }
    }

    fn count(&mut self, extra: usize) -> Result<(), Refusal> {
        self.extra += extra;
        if self.extra < MAX_EXTRA {
            Ok(())
        } else {
            Err(too_much_extra())
        }
    }
}

/// The names of fields that are not allowed in a trailer. They define the framing or the target of
/// the message (RFC 9110, section 6.5.1). Another server might trust such fields in a trailer.
const NEVER_TRAILERS: [&str; 3] = ["content-length", "transfer-encoding", "host"];

/// Checks that one trailer field is well-formed. The field is then ignored (RFC 9110, section 6.5).
fn check_trailer(field: &[u8]) -> Result<(), Refusal> {
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    let is_value = |byte: &u8| *byte == b'\t' || !byte.is_ascii_control();
    let colon = memchr(b':', field).unwrap_or(0);
    let (name, value) = field.split_at(colon);
    if name.is_empty() || !name.iter().all(is_token) || !value.iter().all(is_value) {
        return Err(Refusal::bad("malformed trailer field"));
    }
    let mut never = NEVER_TRAILERS.iter();
    match never.find(|other| name.eq_ignore_ascii_case(other.as_bytes())) {
        Some(name) => Err(Refusal::bad(format!("{name} can't be a trailer field"))),
        None => Ok(()),
    }
}

/// Whether the input can be the beginning of a chunk-size line. Such a line begins with a
/// hexadecimal digit, and CR occurs only at its end.
fn may_become_size(input: &[u8]) -> bool {
    let starts = input.first().is_none_or(u8::is_ascii_hexdigit);
    starts && memchr(b'\r', input).is_none_or(|at| at + 1 == input.len())
}

pub(super) fn too_long(max: usize) -> Refusal {
    Refusal::new(413, format!("the body exceeds {max} bytes"))
}

fn bad_size() -> Refusal {
    Refusal::bad("malformed chunk size")
}

fn too_much_extra() -> Refusal {
    Refusal::bad("too many chunk extensions or trailers")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the decoding of `input`: split in two at every offset, and byte by byte.
    fn check(input: &[u8], expected: Result<&[u8], u16>) {
        let bytewise: Vec<usize> = (1..input.len()).collect();
        let cuts = (0..=input.len()).map(|at| vec![at]).chain([bytewise]);
        for cuts in cuts {
            let result = decode(input, &cuts);
            let result = result.as_deref().map_err(|refusal| refusal.status);
            assert_eq!(result, expected, "{} at {cuts:?}", input.escape_ascii());
        }
    }

    fn decode(input: &[u8], cuts: &[usize]) -> Result<Vec<u8>, Refusal> {
        let (mut chunks, mut body) = (Chunks::default(), Vec::new());
        let mut used = 0;
        for end in cuts.iter().copied().chain([input.len()]) {
            let (more, ended) = chunks.push(&input[used..end], &mut body, 20)?;
            used += more;
            if ended {
                return Ok(body);
            }
        }
        Err(Refusal::new(0, "unfinished"))
    }

    #[test]
    fn bodies_are_put_together_whatever_the_cuts() {
        check(b"0\r\n\r\n", Ok(b""));
        check(b"3\r\nabc\r\n0\r\n\r\n", Ok(b"abc"));
        check(
            b"3;x=\"y\"\r\nabc\r\n2 ; z\r\nde\r\n000\r\n\r\n",
            Ok(b"abcde"),
        );
        check(
            b"A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n",
            Ok(b"01234567890123456789"),
        );
        check(
            b"1\r\nx\r\n0\r\nTrailer: y\r\nMore:z\t\xff\r\nE:\r\n\r\n",
            Ok(b"x"),
        );
    }

    #[test]
    fn what_could_be_understood_differently_is_refused() {
        for bad in [
            "\r\n\r\n",
            " 3\r\nabc",
            "-1\r\n",
            "+3\r\nabc",
            "0x3\r\nabc",
            "3\nabc",
            "3;a\nb\r\nabc",
            "g\r\n",
            "3\r\nabcd\r\n",
            "3\r\nabc\n0\r\n",
            "11111111111111111\r\n",
            "3 3\r\nabc",
            "0\r\nA: y\n\r\n",
            "0\r\nA: y\r\n folded\r\n\r\n",
            "0\r\nA : y\r\n\r\n",
            "0\r\n: y\r\n\r\n",
            "0\r\nno colon\r\n\r\n",
            "0\r\nA B: y\r\n\r\n",
            "0\r\nA: y\0\r\n\r\n",
            "0\r\nA: y\rz\r\n\r\n",
            "0\r\nA: y\x7f\r\n\r\n",
            "0\r\nContent-Length: 1\r\n\r\n",
            "0\r\ntransfer-encoding: chunked\r\n\r\n",
            "0\r\nHOST: x\r\n\r\n",
            "3\rabc",
        ] {
            check(bad.as_bytes(), Err(400));
        }
        check(b"15\r\n0123456789", Err(413));
        check(b"fffffffffffffff\r\n", Err(413));
        check(b"3\r\nab", Err(0));
    }

    #[test]
    fn extensions_are_bounded() {
        let line = format!("1;{}\r\nx\r\n", "e".repeat(200));
        check(format!("1;{}\r\n", "e".repeat(300)).as_bytes(), Err(400));
        let (mut chunks, mut body) = (Chunks::default(), Vec::new());
        let refused = (0..200).find_map(|_| chunks.push(line.as_bytes(), &mut body, 1000).err());
        assert_eq!(refused, Some(too_much_extra()));
    }
}
