//! Pending requests of all kinds, and how they are answered.

use serde_json::value::RawValue;

use crate::error::{Error, ErrorKind, Result, RpcError};
use crate::protocol::{CancelToken, Responder};
use crate::schema::{
    CallToolResult, CompleteResult, Completion, ContentBlock, GetPromptResult, ReadResourceResult,
    ResourceContents,
};
use crate::server::{CompletionCall, Context, PromptCall, ResourceCall, ToolCall};
use crate::sync::Mutex;

/// A request that is not answered yet. Dropping the request sends an answer: the input requests if
/// the handler has requested input, and otherwise an internal error.
pub(super) enum Call {
    Tool(ToolCall, &'static Ways<ToolCall>),
    Resource(ResourceCall, &'static Ways<ResourceCall>),
    Prompt(PromptCall, &'static Ways<PromptCall>),
    Completion(CompletionCall, &'static Ways<CompletionCall>),
    /// A request that a server received for a custom method of the host.
    Method(Responder),
    /// A request from a server to a client.
    Question(Question),
}

/// The functions that answer one kind of request. They are stored in the request, so that a program
/// without requests of this kind is linked without these functions.
pub(super) struct Ways<C> {
    fit: fn(&C, Answer) -> Result<Fitted>,
    give: fn(C, Fitted) -> Result<()>,
}

/// A function that receives the answer to a request from a server.
type Sink = Box<dyn FnOnce(Result<Box<RawValue>, RpcError>) -> Result<()> + Send>;

/// A function that logs the reason why a handler failed.
type FailureLog = Box<dyn Fn(&str) + Send + Sync>;

/// A request from a server to a client. Dropping the request answers the request with an internal
/// error.
pub(super) struct Question {
    sink: Mutex<Option<Sink>>,
    cancel: CancelToken,
    /// Logs a failure of the handler, for the client.
    log: FailureLog,
}

impl Question {
    /// Makes a pending request. `sink` receives the answer. If the answer can't be delivered,
    /// `sink` returns the reason, like [`Responder::respond`]. `log` logs the reason why the
    /// handler failed.
    pub(super) fn new(
        cancel: CancelToken,
        log: FailureLog,
        sink: impl FnOnce(Result<Box<RawValue>, RpcError>) -> Result<()> + Send + 'static,
    ) -> Self {
        Self {
            sink: Mutex::new(Some(Box::new(sink))),
            cancel,
            log,
        }
    }

    fn answer(mut self, answer: Result<Box<RawValue>, RpcError>) -> Result<()> {
        let sink = self.sink.get_mut();
        let sink = sink.take().expect("answering takes the question");
        sink(answer)
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        let sink = self.sink.get_mut();
        if let Some(sink) = sink.take() {
            // Answering fails if the server no longer waits, which needs no handling.
            _ = sink(Err(RpcError::internal("internal error")));
        }
    }
}

/// An answer of a handler.
pub(super) enum Answer {
    /// Text, and its media type.
    Text(String, Option<String>),
    /// Bytes, and their media type.
    Bytes(Vec<u8>, Option<String>),
    Structured(Box<RawValue>),
    /// A complete result, as JSON.
    Whole(Box<RawValue>),
    ToolError(String),
    /// The content blocks of a tool result.
    Blocks(Vec<ContentBlock>),
    Values(Vec<String>),
    /// Completion values. Values that do not match the typed text are removed.
    BestOf(Vec<String>),
    NotFound,
    Error(RpcError),
    /// An internal error, whose reason is for the host only.
    Failure(String),
}

/// An answer that was checked for its request and converted into the result or error to send.
pub(super) enum Fitted {
    Tool(CallToolResult),
    Resource(ReadResourceResult),
    ResourceText(String),
    ResourceBytes(Vec<u8>),
    NoResource,
    Prompt(GetPromptResult),
    Completion(Completion),
    Raw(Box<RawValue>),
    Error(RpcError),
    Failure(Error),
}

impl Call {
    /// Returns the context of a request that the server dispatched to a handler; `None` for
    /// requests of other kinds.
    pub(super) fn context(&self) -> Option<&Context> {
        match self {
            Self::Tool(call, _) => Some(call.context()),
            Self::Resource(call, _) => Some(call.context()),
            Self::Prompt(call, _) => Some(call.context()),
            Self::Completion(call, _) => Some(call.context()),
            Self::Method(_) | Self::Question(_) => None,
        }
    }

    pub(super) fn cancel_token(&self) -> &CancelToken {
        match self {
            Self::Method(responder) => responder.cancel_token(),
            Self::Question(question) => &question.cancel,
            Self::Tool(call, _) => call.context().cancel_token(),
            Self::Resource(call, _) => call.context().cancel_token(),
            Self::Prompt(call, _) => call.context().cancel_token(),
            Self::Completion(call, _) => call.context().cancel_token(),
        }
    }

    /// Checks an answer, and converts it into the result or error that is sent for this request.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when the answer is invalid for the request,
    /// [`ErrorKind::Unsupported`] when an answer of this kind does not fit the request.
    pub(super) fn fit(&self, answer: Answer) -> Result<Fitted> {
        let answer = match answer {
            Answer::Error(error) => return Ok(Fitted::Error(error)),
            Answer::Failure(why) => {
                return Ok(Fitted::Failure(Error::new(ErrorKind::Io, why)));
            }
            answer => answer,
        };
        match self {
            Self::Tool(call, ways) => (ways.fit)(call, answer),
            Self::Resource(call, ways) => (ways.fit)(call, answer),
            Self::Prompt(call, ways) => (ways.fit)(call, answer),
            Self::Completion(call, ways) => (ways.fit)(call, answer),
            Self::Method(_) => raw(answer, "a request of a method of your own"),
            Self::Question(_) => raw(answer, "a question of a server"),
        }
    }

    /// Sends an answer that [`fit`](Self::fit) returned.
    pub(super) fn give(self, fitted: Fitted) -> Result<()> {
        match (self, fitted) {
            (Self::Tool(call, ways), fitted) => (ways.give)(call, fitted),
            (Self::Resource(call, ways), fitted) => (ways.give)(call, fitted),
            (Self::Prompt(call, ways), fitted) => (ways.give)(call, fitted),
            (Self::Completion(call, ways), fitted) => (ways.give)(call, fitted),
            (Self::Method(responder), Fitted::Raw(result)) => responder.respond(&result),
            (Self::Method(responder), Fitted::Error(error)) => responder.refuse(&error),
            (Self::Question(question), Fitted::Raw(result)) => question.answer(Ok(result)),
            (Self::Question(question), Fitted::Error(error)) => question.answer(Err(error)),
            (Self::Method(mut responder), Fitted::Failure(error)) => {
                responder.fail(&error.to_string())
            }
            (Self::Question(question), Fitted::Failure(error)) => {
                (question.log)(&error.to_string());
                question.answer(Err(RpcError::internal("internal error")))
            }
            (Self::Method(_) | Self::Question(_), _) => Err(mistaken()),
        }
    }

    pub(super) fn of_tool(call: ToolCall) -> Self {
        Self::Tool(
            call,
            &Ways {
                fit: |_, answer| match answer {
                    Answer::Text(text, None) => Ok(Fitted::Tool(CallToolResult::text(text))),
                    Answer::Blocks(blocks) => Ok(Fitted::Tool(CallToolResult::new(blocks))),
                    Answer::ToolError(text) => Ok(Fitted::Tool(CallToolResult::error(text))),
                    Answer::Structured(json) => {
                        let result = CallToolResult::default().structured(&json)?;
                        Ok(Fitted::Tool(result))
                    }
                    Answer::Bytes(bytes, mime_type) => {
                        let media = media(&bytes, mime_type)?;
                        Ok(Fitted::Tool(CallToolResult::new([media])))
                    }
                    Answer::Whole(json) => Ok(Fitted::Tool(read("CallToolResult", &json)?)),
                    _ => Err(unfit("a call of a tool")),
                },
                give: |call, fitted| match fitted {
                    Fitted::Tool(result) => call.respond(result),
                    Fitted::Error(error) => call.refuse(&error),
                    Fitted::Failure(error) => call.respond(Err::<CallToolResult, _>(error.into())),
                    _ => Err(mistaken()),
                },
            },
        )
    }

    pub(super) fn of_resource(call: ResourceCall) -> Self {
        Self::Resource(
            call,
            &Ways {
                fit: |call, answer| match answer {
                    Answer::Text(text, None) => Ok(Fitted::ResourceText(text)),
                    Answer::Bytes(bytes, None) => Ok(Fitted::ResourceBytes(bytes)),
                    Answer::Text(text, Some(mime_type)) => {
                        let contents = ResourceContents::text(call.read().uri(), text);
                        let contents = contents.mime_type(mime_type);
                        Ok(Fitted::Resource(ReadResourceResult::new([contents])))
                    }
                    Answer::Bytes(bytes, Some(mime_type)) => {
                        let contents = ResourceContents::blob(call.read().uri(), &bytes);
                        let contents = contents.mime_type(mime_type);
                        Ok(Fitted::Resource(ReadResourceResult::new([contents])))
                    }
                    Answer::Whole(json) => Ok(Fitted::Resource(read("ReadResourceResult", &json)?)),
                    Answer::NotFound => Ok(Fitted::NoResource),
                    _ => Err(unfit("a read of a resource")),
                },
                give: |call, fitted| match fitted {
                    Fitted::Resource(result) => call.respond(result),
                    Fitted::ResourceText(text) => call.respond(text),
                    Fitted::ResourceBytes(bytes) => call.respond(bytes),
                    Fitted::NoResource => call.not_found(),
                    Fitted::Error(error) => call.refuse(&error),
                    Fitted::Failure(error) => call.respond(Err::<String, _>(error.into())),
                    _ => Err(mistaken()),
                },
            },
        )
    }

    pub(super) fn of_prompt(call: PromptCall) -> Self {
        Self::Prompt(
            call,
            &Ways {
                fit: |_, answer| match answer {
                    Answer::Text(text, None) => Ok(Fitted::Prompt(GetPromptResult::user(text))),
                    Answer::Whole(json) => Ok(Fitted::Prompt(read("GetPromptResult", &json)?)),
                    _ => Err(unfit("a request for a prompt")),
                },
                give: |call, fitted| match fitted {
                    Fitted::Prompt(result) => call.respond(result),
                    Fitted::Error(error) => call.refuse(&error),
                    Fitted::Failure(error) => call.respond(Err::<String, _>(error.into())),
                    _ => Err(mistaken()),
                },
            },
        )
    }

    pub(super) fn of_completion(call: CompletionCall) -> Self {
        Self::Completion(
            call,
            &Ways {
                fit: |call, answer| match answer {
                    Answer::Values(values) => Ok(Fitted::Completion(Completion::new(values))),
                    Answer::BestOf(values) => {
                        let values = call.completing().best_of(values);
                        Ok(Fitted::Completion(Completion::new(values)))
                    }
                    Answer::Whole(json) => {
                        let result: CompleteResult = read("CompleteResult", &json)?;
                        Ok(Fitted::Completion(result.completion))
                    }
                    _ => Err(unfit("a completion")),
                },
                give: |call, fitted| match fitted {
                    Fitted::Completion(completion) => call.respond(completion),
                    Fitted::Error(error) => call.refuse(&error),
                    Fitted::Failure(error) => call.respond(Err::<Completion, _>(error.into())),
                    _ => Err(mistaken()),
                },
            },
        )
    }
}

/// Accepts only a complete result, and returns it unchanged. Other answers are an error.
fn raw(answer: Answer, noun: &str) -> Result<Fitted> {
    match answer {
        Answer::Whole(json) => Ok(Fitted::Raw(json)),
        _ => Err(unfit(noun)),
    }
}

fn unfit(noun: &str) -> Error {
    let text = format!("{noun} can't be answered like this");
    Error::new(ErrorKind::Unsupported, text)
}

/// Returns the error for an answer of the wrong kind. After this error the request is dropped, and
/// the peer receives an internal error.
fn mistaken() -> Error {
    let text = "a request was given the answer to one of another kind";
    Error::new(ErrorKind::Invalid, text)
}

/// Makes a content block with the image or audio that a tool returns.
pub(super) fn media(bytes: &[u8], mime_type: Option<String>) -> Result<ContentBlock> {
    let mime_type = mime_type.unwrap_or_default();
    if mime_type.starts_with("image/") {
        Ok(ContentBlock::image(bytes, mime_type))
    } else if mime_type.starts_with("audio/") {
        Ok(ContentBlock::audio(bytes, mime_type))
    } else {
        let text = format!(
            "a tool gives bytes of image/… or audio/…, not of '{mime_type}': embed others in a whole result, as a resource"
        );
        Err(Error::new(ErrorKind::Invalid, text))
    }
}

fn read<T: serde::de::DeserializeOwned>(what: &str, json: &RawValue) -> Result<T> {
    serde_json::from_str(json.get()).map_err(|error| {
        let text = format!("the result is not a {what}: {error}");
        Error::new(ErrorKind::Invalid, text)
    })
}
