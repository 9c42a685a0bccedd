//! Rules for input requests: which input requests are allowed, and which capabilities of the client
//! they need.

use std::fmt;

use super::session_state::ClientContext;
use crate::error::{Error, Excerpt, Result};
use crate::schema::{
    ClientCapabilities, CreateMessageRequestParams, ElicitRequestFormParams, ElicitRequestParams,
    ElicitRequestURLParams, ElicitSchema, ElicitationMode, IncludeContext, InputRequest,
    InputRequests, InputResponse, ProtocolVersion, RootsCapability, UrlDoubt, method,
};

/// Names of form fields that ask for secrets. Secrets must not pass through a client. The names
/// have only letters and digits, in lower case.
const SECRETS: &[&str] = &[
    "accesstoken",
    "apikey",
    "apitoken",
    "authtoken",
    "bearertoken",
    "cardnumber",
    "clientsecret",
    "creditcard",
    "creditcardnumber",
    "cvc",
    "cvv",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "refreshtoken",
    "secret",
    "secretaccesskey",
    "secretkey",
];

/// Checks that the specification allows an input request of a handler.
///
/// # Errors
///
/// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) for a forbidden input request, which is a
/// mistake of the handler.
pub(super) fn check(question: &InputRequest, revision: ProtocolVersion) -> Result<()> {
    match question {
        InputRequest::Elicit(request) => match &request.params {
            ElicitRequestParams::Form(form) => check_form(form, revision),
            ElicitRequestParams::Url(page) => page.check(),
        },
        InputRequest::CreateMessage(request) => request.params.check(),
        InputRequest::ListRoots(_) => Ok(()),
        InputRequest::Other { method, .. } => Err(Error::invalid(format!(
            "'{}' is nothing that a client can be asked",
            Excerpt(method)
        ))),
    }
}

fn check_form(form: &ElicitRequestFormParams, revision: ProtocolVersion) -> Result<()> {
    ElicitSchema::check(&form.requested_schema, revision)?;
    let fields = ElicitSchema::of(&form.requested_schema)?;
    for (name, field) in &fields.properties {
        let names = [Some(name.as_str()), field.title()];
        if let Some(secret) = names.into_iter().flatten().find(|name| is_secret(name)) {
            return Err(Error::invalid(format!(
                "a form must not ask for secrets such as '{}': send the user to a page (ElicitRequestParams::url)",
                Excerpt(secret)
            )));
        }
    }
    Ok(())
}

fn is_secret(name: &str) -> bool {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    let name: String = letters.map(|c| c.to_ascii_lowercase()).collect();
    SECRETS.contains(&name.as_str())
}

/// Returns the reasons why the specification advises against an input request. The reasons are
/// logged for the host.
pub(super) fn doubts(question: &InputRequest) -> Vec<String> {
    let InputRequest::Elicit(request) = question else {
        return Vec::new();
    };
    match &request.params {
        ElicitRequestParams::Form(form) => form_doubts(form),
        ElicitRequestParams::Url(page) => page_doubts(page),
    }
}

fn form_doubts(form: &ElicitRequestFormParams) -> Vec<String> {
    let texts = [form.message.as_str(), form.requested_schema.as_str()];
    let address = |text: &&str| text.contains("https://") || text.contains("http://");
    match texts.iter().any(address) {
        true => vec![
            "a form has an address in it, which the user may take for safe to open: send the user to a page instead".to_owned(),
        ],
        false => Vec::new(),
    }
}

fn page_doubts(page: &ElicitRequestURLParams) -> Vec<String> {
    let doubts = page.doubts().into_iter();
    let doubts = doubts.filter_map(|doubt| match doubt {
        UrlDoubt::NotEncrypted => Some("a page is not of https:".to_owned()),
        UrlDoubt::UserInfo => Some("the address of a page has a user in it".to_owned()),
        _ => None,
    });
    doubts.collect()
}

/// Checks that the answer to an input request has the form that this kind of input request
/// requires.
pub(super) fn check_answer(method: Asked, answer: &InputResponse) -> Result<()> {
    match method {
        Asked::Elicit => answer.elicit_result()?.check(),
        Asked::CreateMessage => answer.create_message_result().map(drop),
        Asked::ListRoots => answer.list_roots_result().map(drop),
    }
}

/// The kinds of input requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Elicit,
    CreateMessage,
    ListRoots,
}

impl Asked {
    pub(super) fn of(question: &InputRequest) -> Option<Self> {
        match question {
            InputRequest::Elicit(_) => Some(Self::Elicit),
            InputRequest::CreateMessage(_) => Some(Self::CreateMessage),
            InputRequest::ListRoots(_) => Some(Self::ListRoots),
            InputRequest::Other { .. } => None,
        }
    }

    /// Returns the method of the request in the legacy era.
    pub(super) fn method(self) -> &'static str {
        match self {
            Self::Elicit => method::ELICITATION_CREATE,
            Self::CreateMessage => method::SAMPLING_CREATE_MESSAGE,
            Self::ListRoots => method::ROOTS_LIST,
        }
    }

    /// Returns the letter with which the digest of an input request of this kind begins.
    pub(super) fn letter(self) -> char {
        match self {
            Self::Elicit => 'e',
            Self::CreateMessage => 's',
            Self::ListRoots => 'r',
        }
    }

    pub(super) fn of_letter(letter: char) -> Option<Self> {
        let all = [Self::Elicit, Self::CreateMessage, Self::ListRoots];
        all.into_iter().find(|kind| kind.letter() == letter)
    }
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.method())
    }
}

/// Returns the capabilities that these input requests need but the client has not declared.
pub(super) fn missing_capabilities(
    asked: &InputRequests,
    terms: &ClientContext,
) -> ClientCapabilities {
    let mut missing = ClientCapabilities::default();
    for question in asked.values() {
        match question {
            InputRequest::Elicit(request) => {
                let mode = match &request.params {
                    ElicitRequestParams::Url(_) => ElicitationMode::Url,
                    ElicitRequestParams::Form(_) => ElicitationMode::Form,
                };
                if !can_elicit(mode, terms) {
                    let elicitation = missing.elicitation.take().unwrap_or_default();
                    missing.elicitation = Some(match mode {
                        // An empty object means forms, and is the usual declaration.
                        ElicitationMode::Form => elicitation,
                        ElicitationMode::Url => elicitation.with(mode),
                    });
                }
            }
            InputRequest::CreateMessage(request) => {
                note_sampling(&request.params, terms, &mut missing);
            }
            InputRequest::ListRoots(_) if terms.capabilities.roots.is_none() => {
                missing.roots.get_or_insert_with(RootsCapability::default);
            }
            InputRequest::ListRoots(_) | InputRequest::Other { .. } => {}
        }
    }
    missing
}

fn can_elicit(mode: ElicitationMode, terms: &ClientContext) -> bool {
    let since = match mode {
        ElicitationMode::Form => ProtocolVersion::V2025_06_18,
        ElicitationMode::Url => ProtocolVersion::V2025_11_25,
    };
    terms.revision >= since && terms.capabilities.supports_elicitation(mode)
}

fn note_sampling(
    params: &CreateMessageRequestParams,
    terms: &ClientContext,
    missing: &mut ClientCapabilities,
) {
    let detailed = terms.revision >= ProtocolVersion::V2025_11_25;
    let declared = terms.capabilities.sampling.as_ref();
    let uses_tools = params.tools.is_some() || params.tool_choice.is_some();
    let tools = uses_tools && !(detailed && terms.capabilities.supports_sampling_tools());
    let adds_context = matches!(
        params.include_context,
        Some(IncludeContext::ThisServer | IncludeContext::AllServers)
    );
    // Before 2025-11-25 there was no capability for context: every client with sampling supported
    // context.
    let context = adds_context && detailed && declared.is_none_or(|it| it.context.is_none());
    if declared.is_some() && !tools && !context {
        return;
    }
    let mut sampling = missing.sampling.take().unwrap_or_default();
    if tools {
        sampling = sampling.with_tools();
    }
    if context {
        sampling = sampling.with_context();
    }
    missing.sampling = Some(sampling);
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::schema::{BooleanSchema, StringSchema};

    // M-ELIC-S-01, L-ELIC-S-01
    #[test]
    fn forms_that_ask_for_secrets_are_refused() {
        let asked = |name: &str, title: &str| {
            let field = StringSchema::new().title(title);
            let schema = ElicitSchema::default().required(name, field).to_schema();
            let form = ElicitRequestParams::form("?", schema.expect("JSON"));
            check(&form.into(), ProtocolVersion::LATEST)
        };
        for secret in [
            "password",
            "API key",
            "client_secret",
            "apiKey",
            "card-number",
        ] {
            for refused in [asked(secret, "A"), asked("a", secret)] {
                let error = refused.expect_err(secret).to_string();
                assert!(error.contains(secret) && error.contains("page"), "{error}");
            }
        }
        for harmless in ["name", "max_tokens", "secretary", "passwordless", "key"] {
            asked(harmless, "A").expect(harmless);
        }
    }

    // M-ELIC-S-36, M-ELIC-S-37, L-ELIC-S-35, L-ELIC-S-36
    #[test]
    fn addresses_in_forms_and_pages_in_plain_text_are_noticed() {
        let form = |message: &str| {
            let schema = ElicitSchema::default().required("a", BooleanSchema::new());
            ElicitRequestParams::form(message, schema.to_schema().expect("JSON"))
        };
        assert_eq!(doubts(&form("See https://example.com").into()).len(), 1);
        assert!(doubts(&form("Go on?").into()).is_empty());
        let page = |url: &str| ElicitRequestParams::url("Sign in", url);
        assert_eq!(doubts(&page("http://example.com").into()).len(), 1);
        for fine in ["https://example.com", "http://localhost:8080/a"] {
            assert!(doubts(&page(fine).into()).is_empty(), "{fine}");
        }
    }
}
