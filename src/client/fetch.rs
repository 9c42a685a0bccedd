//! Requests whose responses may be cached.

use serde::de::DeserializeOwned;

use super::Client;
use super::cache::{self, Fetched, Looked, Topic};
use super::call_options::CallOptions;
use super::mrtr::FirstRequest;
use crate::error::Result;
use crate::schema::{ReadResourceResult, method};

impl Client {
    /// Reads a resource whose content the caller verifies. Returns the value of `check`.
    ///
    /// A response is cached only if `check` accepts its result. If `check` refuses a response from
    /// the cache, which may be outdated, the resource is requested once more. `check` runs on the
    /// calling thread.
    ///
    /// # Errors
    ///
    /// As [`read_resource`](Self::read_resource), and the error of `check`.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use mcplink::client::{CallOptions, Client};
    /// use mcplink::{Error, ErrorKind};
    ///
    /// # fn f(client: &Client) -> mcplink::Result<()> {
    /// let uri = "file:///project/build.json";
    /// let text = client.read_resource_checked(uri, CallOptions::new(), |result| {
    ///     let text = result.contents.first().and_then(|it| it.as_text());
    ///     let text = text.filter(|text| text.ends_with("}\n"));
    ///     text.map(str::to_owned)
    ///         .ok_or_else(|| Error::new(ErrorKind::Protocol, "the file was cut off"))
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn read_resource_checked<T>(
        &self,
        uri: &str,
        mut options: CallOptions<'_>,
        mut check: impl FnMut(ReadResourceResult) -> Result<T>,
    ) -> Result<T> {
        let mut read = |answer: &Fetched| {
            let result = self.decode(method::RESOURCES_READ, answer.as_str());
            result.and_then(&mut check)
        };
        let mut answer = self.fetch_resource(uri, options.for_one())?;
        let mut checked = read(&answer);
        if checked.is_err() && answer.is_cached() {
            answer = self.fetch_resource(uri, options.for_one().bypass_cache())?;
            checked = read(&answer);
        }
        let value = checked?;
        answer.keep();
        Ok(value)
    }

    /// Decodes a result. If the result can be parsed, the response is cached.
    pub(super) fn decode_and_keep<R: DeserializeOwned>(
        &self,
        method: &str,
        answer: Fetched,
    ) -> Result<R> {
        let result = self.decode(method, answer.as_str())?;
        answer.keep();
        Ok(result)
    }

    /// Looks up the cached response to a request. A response that is found replaces the request.
    pub(super) fn look_up(
        &self,
        method: &str,
        topic: Topic,
        params: &str,
        options: &CallOptions<'_>,
    ) -> Looked {
        let request = cache::request_text(method, params, &options.meta);
        // Cached responses of a server that has gone are not used.
        let supervisor = &self.0.supervisor;
        let bypass = options.bypass_cache || supervisor.connection().peer.is_closed();
        supervisor.server.cache.look_up(request, topic, bypass)
    }

    /// Returns the response that was found in the cache. Otherwise sends the request, unless it was
    /// started as `first`, and the response may be cached.
    pub(super) fn fetch_looked_up(
        &self,
        method: &str,
        params: String,
        mut options: CallOptions<'_>,
        looked: Looked,
        first: FirstRequest,
    ) -> Result<Fetched> {
        let fetch = match looked {
            Looked::Found(text) => return Ok(Fetched::Cached(text)),
            Looked::Missing(fetch) => fetch,
        };
        let answer = self.call_round_trips(method, params, &mut options, first)?;
        // The answer depends on a user's input, which is not part of the cache key.
        if answer.asked {
            fetch.replace_by_nothing();
            return Ok(Fetched::New(answer.result, None));
        }
        Ok(Fetched::New(answer.result, Some(fetch)))
    }
}
