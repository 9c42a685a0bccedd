//! The head of a request: finds its end, parses it, and validates it.
//!
//! A head that two servers could understand differently is refused, to prevent request smuggling
//! (RFC 9112, sections 3.2, 5 and 6). These heads are refused:
//!
//! - a head with line ends without CR, with white space before a colon, or with folded lines;
//! - a head with a repeated or malformed `Content-Length`, or with both `Content-Length` and a
//!   transfer coding;
//! - a head with a missing or repeated `Host`.

use std::borrow::Cow;
use std::mem::MaybeUninit;

use memchr::memchr;

use super::HttpLimits;

/// The maximum value of [`HttpLimits::max_fields`].
const MAX_FIELDS: usize = 256;

/// The refusal of a request that is not served: the status and the text of the error response.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) text: Cow<'static, str>,
}

impl Refusal {
    pub(super) fn new(status: u16, text: impl Into<Cow<'static, str>>) -> Self {
        let text = text.into();
        Self { status, text }
    }

    /// Returns the refusal of a request for which there is not enough memory.
    pub(super) fn no_memory() -> Self {
        Self::new(503, "there is no memory for the request: try again later")
    }

    pub(super) fn bad(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(400, text)
    }
}

/// The framing of a request body: how the end of the body is determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    Length(u64),
    Chunked,
}

/// A range of the bytes from which a head was parsed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Span {
    start: usize,
    end: usize,
}

impl Span {
    fn of(part: &[u8], bytes: &[u8]) -> Self {
        let start = part.as_ptr() as usize - bytes.as_ptr() as usize;
        Self {
            start,
            end: start + part.len(),
        }
    }

    fn of_bytes(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.start..self.end).unwrap_or_default()
    }

    /// Returns the text of a method, target or name. The parser has checked that the text is UTF-8.
    fn of_text(self, bytes: &[u8]) -> &str {
        std::str::from_utf8(self.of_bytes(bytes)).unwrap_or_default()
    }
}

/// A parsed request head. The head refers to its bytes by offsets, so that it can be stored while
/// the body arrives.
#[derive(Debug)]
pub(super) struct Head {
    method: Span,
    /// The path and the query of the request target. `None` for an absolute target without a path.
    target: Option<Span>,
    fields: Vec<(Span, Span)>,
    pub(super) framing: Framing,
    pub(super) is_http10: bool,
    pub(super) keeps_alive: bool,
    pub(super) expects_continue: bool,
}

/// Returns the offset of the head's end, or `None` if the end has not arrived. `scanned` is the
/// number of bytes that were already searched, and is updated.
pub(super) fn end(bytes: &[u8], scanned: &mut usize) -> Result<Option<usize>, Refusal> {
    while let Some(found) = memchr(b'\n', &bytes[*scanned..]) {
        let at = *scanned + found;
        if at == 0 || bytes[at - 1] != b'\r' {
            return Err(Refusal::bad("a line of the head does not end in CR LF"));
        }
        *scanned = at + 1;
        if at >= 2 && bytes[at - 2] == b'\n' {
            return Ok(Some(at + 1));
        }
    }
    *scanned = bytes.len();
    Ok(None)
}

/// Returns the refusal of a request whose head exceeds its limit.
pub(super) fn too_long(bytes: &[u8], limits: &HttpLimits) -> Refusal {
    let limit = limits.max_head_bytes;
    let line = memchr(b'\n', bytes).unwrap_or(bytes.len());
    if line >= limit {
        return Refusal::new(414, format!("the request line exceeds {limit} bytes"));
    }
    Refusal::new(431, format!("the header fields exceed {limit} bytes"))
}

impl Head {
    /// Parses a complete head.
    pub(super) fn parse(bytes: &[u8], limits: &HttpLimits) -> Result<Self, Refusal> {
        let mut room = [const { MaybeUninit::uninit() }; MAX_FIELDS];
        let max_fields = limits.max_fields.min(MAX_FIELDS);
        let mut request = httparse::Request::new(&mut []);
        match request.parse_with_uninit_headers(bytes, &mut room[..max_fields]) {
            Ok(httparse::Status::Complete(end)) if end == bytes.len() => {}
            Ok(_) => return Err(Refusal::bad("the request has no request line")),
            Err(error) => return Err(refusal_of(error, max_fields)),
        }
        let method = request.method.unwrap_or_default();
        let target = request.path.unwrap_or_default();
        let mut head = Self {
            method: Span::of(method.as_bytes(), bytes),
            target: Some(Span::of(target.as_bytes(), bytes)),
            fields: Vec::new(),
            framing: Framing::Length(0),
            is_http10: request.version == Some(0),
            keeps_alive: request.version == Some(1),
            expects_continue: false,
        };
        head.fields
            .try_reserve_exact(request.headers.len())
            .map_err(|_| Refusal::no_memory())?;
        let known = head.read_fields(request.headers, bytes)?;
        head.framing = known.framing(head.is_http10)?;
        head.check_host(&known)?;
        head.read_target(method, target, bytes, known.host)?;
        Ok(head)
    }

    fn read_fields(
        &mut self,
        fields: &[httparse::Header<'_>],
        bytes: &[u8],
    ) -> Result<Known, Refusal> {
        let mut known = Known::default();
        let (mut close, mut keep) = (false, false);
        for field in fields {
            let value = field.value.trim_ascii();
            let is = |name: &str| field.name.eq_ignore_ascii_case(name);
            match field.name.len() {
                4 if is("host") => known.take_host(self.fields.len(), value)?,
                6 if is("expect") => self.take_expectation(value)?,
                10 if is("connection") => {
                    for token in tokens(value) {
                        close |= token.eq_ignore_ascii_case(b"close");
                        keep |= token.eq_ignore_ascii_case(b"keep-alive");
                    }
                }
                14 if is("content-length") => known.take_length(value)?,
                17 if is("transfer-encoding") => known.codings.extend(tokens(value).map(coding)),
                _ => {}
            }
            let name = Span::of(field.name.as_bytes(), bytes);
            self.fields.push((name, Span::of(value, bytes)));
        }
        self.keeps_alive = !close && (keep || !self.is_http10);
        Ok(known)
    }

    /// Checks the field `Expect` (RFC 9110, section 10.1.1). In HTTP/1.0 the field is ignored.
    fn take_expectation(&mut self, value: &[u8]) -> Result<(), Refusal> {
        if !value.eq_ignore_ascii_case(b"100-continue") {
            let value = value.escape_ascii();
            return Err(Refusal::new(417, format!("can't meet Expect: {value}")));
        }
        self.expects_continue = !self.is_http10;
        Ok(())
    }

    fn check_host(&self, known: &Known) -> Result<(), Refusal> {
        if known.host.is_none() && !self.is_http10 {
            return Err(Refusal::bad("the request has no Host field"));
        }
        Ok(())
    }

    /// Reads the request target (RFC 9112, section 3.2). The authority of an absolute target
    /// replaces the `Host` field.
    fn read_target(
        &mut self,
        method: &str,
        target: &str,
        bytes: &[u8],
        host: Option<usize>,
    ) -> Result<(), Refusal> {
        if target.starts_with('/') || (target == "*" && method == "OPTIONS") {
            return Ok(());
        }
        let Some(rest) = ["http://", "https://"].iter().find_map(|scheme| {
            let (start, rest) = target.split_at_checked(scheme.len())?;
            start.eq_ignore_ascii_case(scheme).then_some(rest)
        }) else {
            let text = "the request target is neither a path nor an http URL";
            return Err(Refusal::bad(text));
        };
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if authority.is_empty() || path.starts_with('?') {
            return Err(Refusal::bad("the URL in the request line is incomplete"));
        }
        check_authority(authority.as_bytes())?;
        self.target = (!path.is_empty()).then(|| Span::of(path.as_bytes(), bytes));
        if let Some((_, value)) = host.and_then(|at| self.fields.get_mut(at)) {
            *value = Span::of(authority.as_bytes(), bytes);
        }
        Ok(())
    }

    pub(super) fn method<'a>(&self, bytes: &'a [u8]) -> &'a str {
        self.method.of_text(bytes)
    }

    pub(super) fn target<'a>(&self, bytes: &'a [u8]) -> &'a str {
        self.target.map_or("/", |target| target.of_text(bytes))
    }

    pub(super) fn fields<'a>(&self, bytes: &'a [u8]) -> Vec<(&'a str, &'a [u8])> {
        self.fields
            .iter()
            .map(|(name, value)| (name.of_text(bytes), value.of_bytes(bytes)))
            .collect()
    }
}

/// The parsed fields `Host`, `Content-Length` and `Transfer-Encoding` of a request head.
#[derive(Debug, Default)]
struct Known {
    /// The index of the `Host` field among the header fields. `None` if there is no such field.
    host: Option<usize>,
    length: Option<u64>,
    codings: Vec<Coding>,
}

#[derive(Debug, PartialEq, Eq)]
enum Coding {
    Chunked,
    Other,
}

impl Known {
    fn take_host(&mut self, at: usize, value: &[u8]) -> Result<(), Refusal> {
        if self.host.replace(at).is_some() {
            return Err(Refusal::bad("the request has more than one Host field"));
        }
        check_authority(value)
    }

    fn take_length(&mut self, value: &[u8]) -> Result<(), Refusal> {
        // Nineteen digits always fit into the integer. A sign is not a digit.
        let is_number = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
        let text = std::str::from_utf8(value).unwrap_or_default();
        match text.parse() {
            Ok(length) if is_number && value.len() < 20 && self.length.is_none() => {
                self.length = Some(length);
                Ok(())
            }
            _ => Err(Refusal::bad(
                "Content-Length has to be one number of bytes, said once",
            )),
        }
    }

    /// Determines the framing of the body from the header fields (RFC 9112, section 6.3).
    fn framing(&self, is_http10: bool) -> Result<Framing, Refusal> {
        match (self.codings.as_slice(), self.length) {
            ([], length) => Ok(Framing::Length(length.unwrap_or(0))),
            (_, Some(_)) => Err(Refusal::bad(
                "the request has both Content-Length and Transfer-Encoding",
            )),
            _ if is_http10 => Err(Refusal::bad("HTTP/1.0 has no Transfer-Encoding")),
            ([Coding::Chunked], None) => Ok(Framing::Chunked),
            ([before @ .., Coding::Chunked], None) if !before.contains(&Coding::Chunked) => Err(
                Refusal::new(501, "the only transfer coding here is chunked"),
            ),
            _ => Err(Refusal::bad("the last transfer coding has to be chunked")),
        }
    }
}

fn tokens(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

fn coding(token: &[u8]) -> Coding {
    if token.eq_ignore_ascii_case(b"chunked") {
        Coding::Chunked
    } else {
        Coding::Other
    }
}

/// Checks a host name or address with an optional port. An empty value is allowed, because some
/// URLs have no host.
fn check_authority(value: &[u8]) -> Result<(), Refusal> {
    let is_fine = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+;=:[]".contains(byte);
    if value.iter().all(is_fine) {
        Ok(())
    } else {
        let value = value.escape_ascii();
        Err(Refusal::bad(format!("no host and port: '{value}'")))
    }
}

fn refusal_of(error: httparse::Error, max_fields: usize) -> Refusal {
    match error {
        httparse::Error::TooManyHeaders => {
            Refusal::new(431, format!("more than {max_fields} header fields"))
        }
        httparse::Error::Version => Refusal::new(505, "only HTTP/1.1 and HTTP/1.0 are spoken here"),
        other => Refusal::bad(format!("malformed request: {other}")),
    }
}
