//! Rules for conversations with a model, and the choice of a model by the server's preferences.
//!
//! Spec: Client Features, "Sampling", "Message Content Constraints", "Model Preferences" (hints:
//! every revision; tools since 2025-11-25).

use std::collections::BTreeSet;

use super::annotations::Role;
use super::sampling::{CreateMessageRequestParams, ModelPreferences, SamplingMessage};
use super::sampling_content::SamplingMessageContentBlock as Block;
use crate::error::{Error, ErrorKind, Excerpt, Result};

impl CreateMessageRequestParams {
    /// Checks the specification's rules for a conversation.
    ///
    /// Each tool call has to be answered by a result in the very next message. That message has to
    /// contain the results of all tool calls, and nothing else. Images and audio have to be base64.
    /// Priorities have to be from 0 to 1.
    ///
    /// Client and server both check a request for sampling. A client refuses an invalid request
    /// with *invalid params*.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`], with the number of the first message that violates a rule, counted
    /// from 0.
    pub fn check(&self) -> Result<()> {
        let mut unanswered = BTreeSet::new();
        for (number, message) in self.messages.iter().enumerate() {
            let wrong =
                |what: String| Error::new(ErrorKind::Invalid, format!("message {number}: {what}"));
            check_results(message, &unanswered).map_err(wrong)?;
            unanswered = uses_of(message).map_err(wrong)?;
            for block in message.content.blocks() {
                check_data(block).map_err(|error| wrong(error.to_string()))?;
            }
        }
        if let Some(id) = unanswered.first() {
            let text = format!(
                "the conversation ends with a use of a tool that has no result: '{}'",
                Excerpt(id)
            );
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        self.model_preferences
            .as_ref()
            .map_or(Ok(()), ModelPreferences::check)
    }
}

/// Checks that the tool results in a message answer all tool calls of the previous message. A
/// message with tool results must not contain anything else.
fn check_results(message: &SamplingMessage, unanswered: &BTreeSet<String>) -> Result<(), String> {
    let blocks = message.content.blocks();
    let mut missing: BTreeSet<&str> = unanswered.iter().map(String::as_str).collect();
    let mut results = 0;
    for block in blocks {
        if let Block::ToolResult(result) = block {
            results += 1;
            if !missing.remove(result.tool_use_id.as_str()) {
                let id = Excerpt(&result.tool_use_id);
                return Err(format!(
                    "the message before it has no use '{id}' of a tool without a result"
                ));
            }
        }
    }
    if results > 0 && message.role != Role::User {
        return Err("results of tools are told by the user".to_owned());
    }
    if results > 0 && results < blocks.len() {
        return Err("results of tools stand in a message of their own".to_owned());
    }
    match missing.first() {
        Some(id) => Err(format!("the use '{}' of a tool has no result", Excerpt(id))),
        None => Ok(()),
    }
}

/// Returns the ids of the tool calls in a message. Each tool call needs a result.
fn uses_of(message: &SamplingMessage) -> Result<BTreeSet<String>, String> {
    let mut uses = BTreeSet::new();
    for block in message.content.blocks() {
        if let Block::ToolUse(wanted) = block {
            if message.role != Role::Assistant {
                return Err("a tool is used by the assistant".to_owned());
            }
            if !uses.insert(wanted.id.clone()) {
                let id = Excerpt(&wanted.id);
                return Err(format!("two uses of tools have the id '{id}'"));
            }
        }
    }
    Ok(uses)
}

fn check_data(block: &Block) -> Result<()> {
    match block {
        Block::Image(image) => image.bytes().map(drop),
        Block::Audio(audio) => audio.bytes().map(drop),
        _ => Ok(()),
    }
}

/// The description of one of the client's models, for [`ModelPreferences::choose`].
///
/// # Examples
///
/// ```
/// use mcplink::client::Client;
/// use mcplink::schema::{CreateMessageResult, ModelOffer};
///
/// let small = ModelOffer::new("otter-small").qualities(0.9, 0.8, 0.4);
/// let models = [small, ModelOffer::new("otter-large").qualities(0.2, 0.3, 0.9)];
/// let builder = Client::builder("host", "1.0").on_sample(move |params, _| {
///     let wanted = params.model_preferences.clone().unwrap_or_default();
///     let model = wanted.choose(&models).unwrap_or(&models[0]);
///     Ok(CreateMessageResult::new(&model.name, "the answer of the model"))
/// });
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ModelOffer {
    /// The name of the model.
    pub name: String,
    /// The cheapness of the model, from 0 (expensive) to 1 (cheap).
    pub cheapness: f64,
    /// The speed of the model, from 0 (slow) to 1 (fast).
    pub speed: f64,
    /// The intelligence of the model, from 0 (lowest) to 1 (highest).
    pub intelligence: f64,
}

impl ModelOffer {
    /// Makes the description of a model whose cheapness, speed and intelligence are 0.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }

    /// Sets the cheapness, speed and intelligence of the model, each from 0 to 1.
    pub fn qualities(mut self, cheapness: f64, speed: f64, intelligence: f64) -> Self {
        (self.cheapness, self.speed, self.intelligence) = (cheapness, speed, intelligence);
        self
    }
}

impl ModelPreferences {
    /// Chooses the model that fits the preferences best. Returns `None` if `models` is empty.
    ///
    /// Hints take precedence over priorities. A hint fits a model if the name of the model contains
    /// the hint. The candidates are all models that the first fitting hint fits. If no hint fits,
    /// all models are candidates. The function chooses the candidate with the greatest weighted sum
    /// of qualities. If several sums are equal, the function chooses the first of these models.
    pub fn choose<'a>(&self, models: &'a [ModelOffer]) -> Option<&'a ModelOffer> {
        let hints = self.hints.iter().flatten();
        let names = hints.filter_map(|hint| hint.name.as_deref());
        for name in names.filter(|name| !name.is_empty()) {
            let fitting = models.iter().filter(|model| model.name.contains(name));
            if let Some(model) = self.heaviest(fitting) {
                return Some(model);
            }
        }
        self.heaviest(models.iter())
    }

    fn heaviest<'a>(&self, models: impl Iterator<Item = &'a ModelOffer>) -> Option<&'a ModelOffer> {
        models.reduce(|best, model| {
            if self.weigh(model) > self.weigh(best) {
                model
            } else {
                best
            }
        })
    }

    fn weigh(&self, model: &ModelOffer) -> f64 {
        let priority = |priority: Option<f64>| priority.unwrap_or(0.0);
        priority(self.cost_priority) * model.cheapness
            + priority(self.speed_priority) * model.speed
            + priority(self.intelligence_priority) * model.intelligence
    }

    fn check(&self) -> Result<()> {
        let priorities = [
            ("costPriority", self.cost_priority),
            ("speedPriority", self.speed_priority),
            ("intelligencePriority", self.intelligence_priority),
        ];
        for (name, priority) in priorities {
            if priority.is_some_and(|priority| !(0.0..=1.0).contains(&priority)) {
                let text = format!("{name} has to be from 0 to 1");
                return Err(Error::new(ErrorKind::Invalid, text));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{ImageContent, ModelHint};

    fn conversation(messages: &str) -> Result<()> {
        let json = format!(r#"{{"messages":{messages},"maxTokens":10}}"#);
        let params: CreateMessageRequestParams = serde_json::from_str(&json).expect(&json);
        params.check()
    }

    // M-SAMP-S-11, M-SAMP-S-22, M-SAMP-S-27, M-SAMP-B-10, L-SAMP-B-08, L-SAMP-S-09, L-SAMP-S-18,
    // L-SAMP-S-23
    #[test]
    fn every_use_of_a_tool_is_answered_at_once_by_its_result_and_nothing_else() {
        const USE: &str = r#"{"role":"assistant","content":[{"type":"text","text":"let me see"},{"type":"tool_use","id":"1","name":"n","input":{}},{"type":"tool_use","id":"2","name":"n","input":{}}]}"#;
        const TEXT: &str = r#"{"role":"user","content":{"type":"text","text":"well?"}}"#;
        let result =
            |id: &str| format!(r#"{{"type":"tool_result","toolUseId":"{id}","content":[]}}"#);
        let said = |role, blocks: &[String]| {
            format!(r#"{{"role":"{role}","content":[{}]}}"#, blocks.join(","))
        };
        let user = |ids: &[&str]| {
            let results: Vec<String> = ids.iter().map(|id| result(id)).collect();
            said("user", &results)
        };
        let text = r#"{"type":"text","text":"and"}"#.to_owned();
        let check = |messages: &[String], expected: Option<&str>| {
            let checked = conversation(&format!("[{}]", messages.join(",")));
            match (checked, expected) {
                (Ok(()), None) => {}
                (Err(error), Some(expected)) => {
                    assert!(error.to_string().contains(expected), "{error}");
                }
                (checked, _) => panic!("{messages:?}: {checked:?}"),
            }
        };
        let (uses, words) = (|| USE.to_owned(), || TEXT.to_owned());
        check(&[words()], None);
        check(&[words(), uses(), user(&["1", "2"])], None);
        check(&[uses(), user(&["2", "1"]), words()], None);
        check(&[uses(), user(&["1"])], Some("message 1: the use '2'"));
        check(&[uses(), words(), user(&["1", "2"])], Some("message 1"));
        check(&[uses()], Some("ends with a use"));
        check(
            &[words(), user(&["1"])],
            Some("message 1: the message before"),
        );
        check(&[uses(), user(&["1", "2", "3"])], Some("'3'"));
        check(&[uses(), user(&["1", "1", "2"])], Some("'1'"));
        let mixed = said("user", &[result("1"), result("2"), text]);
        check(&[uses(), mixed], Some("a message of their own"));
        let assistant = said("assistant", &[result("1"), result("2")]);
        check(&[uses(), assistant], Some("told by the user"));
        check(
            &[USE.replace("assistant", "user")],
            Some("by the assistant"),
        );
        check(&[USE.replace("\"2\"", "\"1\"")], Some("have the id '1'"));
    }

    // M-SAMP-B-18, L-SAMP-B-14, M-SAMP-B-33
    #[test]
    fn data_and_priorities_are_checked() {
        assert!(conversation(r#"[{"role":"user","content":{"type":"image","data":"AAAA","mimeType":"image/png"}}]"#).is_ok());
        for kind in ["image", "audio"] {
            let message = format!(
                r#"[{{"role":"user","content":{{"type":"{kind}","data":"?","mimeType":"a/b"}}}}]"#
            );
            let error = conversation(&message).expect_err("no base64");
            assert!(error.to_string().contains("message 0"), "{error}");
        }
        let asking = |priority| {
            let preferences = ModelPreferences::default().cost_priority(priority);
            let image =
                SamplingMessage::new(Role::User, Block::from(ImageContent::new(&[1], "a/b")));
            CreateMessageRequestParams::new([image], 1)
                .model_preferences(preferences)
                .check()
        };
        assert!(asking(0.0).is_ok() && asking(1.0).is_ok());
        for wrong in [-0.1, 1.1, f64::NAN] {
            assert!(asking(wrong).is_err(), "{wrong}");
        }
    }

    // M-SAMP-C-19, M-SAMP-C-30, M-SAMP-C-31, M-SAMP-C-32, L-SAMP-C-15, L-SAMP-C-26, L-SAMP-C-27,
    // L-SAMP-C-28
    #[test]
    fn the_first_hint_that_fits_decides_and_then_the_priorities() {
        let models = [
            ModelOffer::new("claude-3-5-haiku-20241022").qualities(0.9, 0.9, 0.3),
            ModelOffer::new("claude-3-5-sonnet-20241022").qualities(0.5, 0.5, 0.8),
            ModelOffer::new("claude-3-7-sonnet-20250219").qualities(0.4, 0.4, 0.9),
            ModelOffer::new("gemini-1.5-pro").qualities(0.6, 0.6, 0.6),
        ];
        let check = |hints: &[&str], preferences: ModelPreferences, expected: &str| {
            let hints: Vec<ModelHint> = hints.iter().map(|hint| ModelHint::new(*hint)).collect();
            let chosen = preferences.hints(hints).choose(&models);
            assert_eq!(chosen.expect("one").name, expected);
        };
        let none = ModelPreferences::default;
        let cheap = || none().cost_priority(1.0);
        let clever = || none().intelligence_priority(1.0);
        check(&["sonnet"], none(), "claude-3-5-sonnet-20241022");
        check(
            &["claude-3-5-sonnet"],
            cheap(),
            "claude-3-5-sonnet-20241022",
        );
        check(&["sonnet", "haiku"], cheap(), "claude-3-5-sonnet-20241022");
        check(&["sonnet"], clever(), "claude-3-7-sonnet-20250219");
        check(&["gpt", "gemini"], cheap(), "gemini-1.5-pro");
        check(&["gpt", ""], cheap(), "claude-3-5-haiku-20241022");
        check(&[], clever(), "claude-3-7-sonnet-20250219");
        check(&[], none().speed_priority(0.5), "claude-3-5-haiku-20241022");
        assert!(none().choose(&[]).is_none());
    }
}
