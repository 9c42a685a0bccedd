//! The right to answer a request, whichever kind of request it is.

use std::sync::PoisonError;

use serde_json::value::RawValue;

use crate::error::{Error, ErrorKind, Result, RpcError};
use crate::protocol::{CancelToken, Responder};
use crate::schema::{
    CallToolResult, CompleteResult, ContentBlock, GetPromptResult, ReadResourceResult,
    ResourceContents,
};
use crate::server::{CompletionCall, Context, PromptCall, ResourceCall, ToolCall};

/// A request that is not answered yet. Dropped, it is answered with an internal error, or with what the handler asked in vain.
pub(super) enum Call {
    Tool(ToolCall),
    Resource(ResourceCall),
    Prompt(PromptCall),
    Completion(CompletionCall),
    /// A method of the host's own, on a server.
    Method(Responder),
    /// What a server asks a client.
    Question(Question),
}

/// Takes the answer to a question.
type Sink = Box<dyn FnOnce(Result<Box<RawValue>, RpcError>) -> Result<()> + Send>;

/// What a server asks a client. Dropped, it is answered with an internal error.
pub(super) struct Question {
    sink: std::sync::Mutex<Option<Sink>>,
    cancel: CancelToken,
}

impl Question {
    /// `sink` takes the answer: it says why it could not be given on, as [`Responder::respond`] does.
    pub(super) fn new(
        cancel: CancelToken,
        sink: impl FnOnce(Result<Box<RawValue>, RpcError>) -> Result<()> + Send + 'static,
    ) -> Self {
        Self {
            sink: std::sync::Mutex::new(Some(Box::new(sink))),
            cancel,
        }
    }

    fn answer(mut self, answer: Result<Box<RawValue>, RpcError>) -> Result<()> {
        let sink = self.sink.get_mut().unwrap_or_else(PoisonError::into_inner);
        let sink = sink.take().expect("answering takes the question");
        sink(answer)
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        let sink = self.sink.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(sink) = sink.take() {
            // It fails when nobody waits any more, and then there is nothing left to do.
            _ = sink(Err(RpcError::internal("internal error")));
        }
    }
}

/// What a handler gives.
pub(super) enum Answer {
    Text {
        text: String,
        mime_type: Option<String>,
    },
    Bytes {
        bytes: Vec<u8>,
        mime_type: Option<String>,
    },
    Structured(Box<RawValue>),
    /// A whole result.
    Whole(Box<RawValue>),
    ToolError(String),
    Values(Vec<String>),
    /// Those of them that fit what is typed.
    BestOf(Vec<String>),
    NotFound,
    Error(RpcError),
}

/// What is sent for an answer.
pub(super) enum Fitted {
    Tool(CallToolResult),
    Resource(ReadResourceResult),
    ResourceText(String),
    ResourceBytes(Vec<u8>),
    NoResource,
    Prompt(GetPromptResult),
    Completion(crate::schema::Completion),
    Raw(Box<RawValue>),
    Error(RpcError),
}

impl Call {
    /// What is known of the call, for the kinds that a server handles itself.
    pub(super) fn context(&self) -> Option<&Context> {
        match self {
            Self::Tool(call) => Some(call.context()),
            Self::Resource(call) => Some(call.context()),
            Self::Prompt(call) => Some(call.context()),
            Self::Completion(call) => Some(call.context()),
            Self::Method(_) | Self::Question(_) => None,
        }
    }

    pub(super) fn cancel_token(&self) -> &CancelToken {
        match self {
            Self::Method(responder) => responder.cancel_token(),
            Self::Question(question) => &question.cancel,
            Self::Tool(call) => call.context().cancel_token(),
            Self::Resource(call) => call.context().cancel_token(),
            Self::Prompt(call) => call.context().cancel_token(),
            Self::Completion(call) => call.context().cancel_token(),
        }
    }

    fn noun(&self) -> &'static str {
        match self {
            Self::Tool(_) => "a call of a tool",
            Self::Resource(_) => "a read of a resource",
            Self::Prompt(_) => "a request for a prompt",
            Self::Completion(_) => "a completion",
            Self::Method(_) => "a request of a method of your own",
            Self::Question(_) => "a question of a server",
        }
    }

    /// Makes what is sent of an answer.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when it is not what the request wants, [`ErrorKind::Unsupported`] when such a request has no such answer.
    pub(super) fn fit(&self, answer: Answer) -> Result<Fitted> {
        let fitted = match (self, answer) {
            (_, Answer::Error(error)) => Fitted::Error(error),
            (
                Self::Tool(_),
                Answer::Text {
                    text,
                    mime_type: None,
                },
            ) => Fitted::Tool(CallToolResult::text(text)),
            (Self::Tool(_), Answer::ToolError(text)) => Fitted::Tool(CallToolResult::error(text)),
            (Self::Tool(_), Answer::Structured(json)) => {
                Fitted::Tool(CallToolResult::default().structured(&json)?)
            }
            (Self::Tool(_), Answer::Bytes { bytes, mime_type }) => {
                Fitted::Tool(CallToolResult::new([media(&bytes, mime_type)?]))
            }
            (Self::Tool(_), Answer::Whole(json)) => Fitted::Tool(read("CallToolResult", &json)?),
            (
                Self::Resource(_),
                Answer::Text {
                    text,
                    mime_type: None,
                },
            ) => Fitted::ResourceText(text),
            (
                Self::Resource(_),
                Answer::Bytes {
                    bytes,
                    mime_type: None,
                },
            ) => Fitted::ResourceBytes(bytes),
            (
                Self::Resource(call),
                Answer::Text {
                    text,
                    mime_type: Some(mime_type),
                },
            ) => {
                let contents = ResourceContents::text(call.read().uri(), text);
                Fitted::Resource(ReadResourceResult::new([contents.mime_type(mime_type)]))
            }
            (
                Self::Resource(call),
                Answer::Bytes {
                    bytes,
                    mime_type: Some(mime_type),
                },
            ) => {
                let contents = ResourceContents::blob(call.read().uri(), &bytes);
                Fitted::Resource(ReadResourceResult::new([contents.mime_type(mime_type)]))
            }
            (Self::Resource(_), Answer::Whole(json)) => {
                Fitted::Resource(read("ReadResourceResult", &json)?)
            }
            (Self::Resource(_), Answer::NotFound) => Fitted::NoResource,
            (
                Self::Prompt(_),
                Answer::Text {
                    text,
                    mime_type: None,
                },
            ) => Fitted::Prompt(GetPromptResult::user(text)),
            (Self::Prompt(_), Answer::Whole(json)) => {
                Fitted::Prompt(read("GetPromptResult", &json)?)
            }
            (Self::Completion(_), Answer::Values(values)) => {
                Fitted::Completion(crate::schema::Completion::new(values))
            }
            (Self::Completion(call), Answer::BestOf(values)) => {
                let values = call.completing().best_of(values);
                Fitted::Completion(crate::schema::Completion::new(values))
            }
            (Self::Completion(_), Answer::Whole(json)) => {
                Fitted::Completion(read::<CompleteResult>("CompleteResult", &json)?.completion)
            }
            (Self::Method(_) | Self::Question(_), Answer::Whole(json)) => Fitted::Raw(json),
            (call, _) => {
                let text = format!("{} can't be answered like this", call.noun());
                return Err(Error::new(ErrorKind::Unsupported, text));
            }
        };
        Ok(fitted)
    }

    /// Answers with what [`fit`](Self::fit) made.
    pub(super) fn give(self, fitted: Fitted) -> Result<()> {
        match (self, fitted) {
            (Self::Tool(call), Fitted::Tool(result)) => call.respond(result),
            (Self::Tool(call), Fitted::Error(error)) => call.refuse(&error),
            (Self::Resource(call), Fitted::Resource(result)) => call.respond(result),
            (Self::Resource(call), Fitted::ResourceText(text)) => call.respond(text),
            (Self::Resource(call), Fitted::ResourceBytes(bytes)) => call.respond(bytes),
            (Self::Resource(call), Fitted::NoResource) => call.not_found(),
            (Self::Resource(call), Fitted::Error(error)) => call.refuse(&error),
            (Self::Prompt(call), Fitted::Prompt(result)) => call.respond(result),
            (Self::Prompt(call), Fitted::Error(error)) => call.refuse(&error),
            (Self::Completion(call), Fitted::Completion(completion)) => call.respond(completion),
            (Self::Completion(call), Fitted::Error(error)) => call.refuse(&error),
            (Self::Method(responder), Fitted::Raw(result)) => responder.respond(&result),
            (Self::Method(responder), Fitted::Error(error)) => responder.refuse(&error),
            (Self::Question(question), Fitted::Raw(result)) => question.answer(Ok(result)),
            (Self::Question(question), Fitted::Error(error)) => question.answer(Err(error)),
            // Dropping the call answers it with an internal error.
            (call, _) => {
                let text = format!("{} was given the answer to another one", call.noun());
                Err(Error::new(ErrorKind::Invalid, text))
            }
        }
    }
}

/// What a tool shows or plays.
fn media(bytes: &[u8], mime_type: Option<String>) -> Result<ContentBlock> {
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
