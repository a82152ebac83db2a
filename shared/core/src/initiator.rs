//! Who begins a payment: a customer, or an agent on a customer's behalf (CHANNELS §5). An initiator is not a channel: the facts
//! about the money come from the channel either way.

use crate::limits;

/// Who began an attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Initiator {
    /// The customer, in the storefront.
    #[default]
    Customer,
    /// A program with a mandate.
    Agent(Agent),
}

/// An agent's standing for one attempt.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Agent {
    /// The protocol it speaks, for example `acp`.
    pub protocol: AgentText,
    /// Its session in that protocol.
    pub session: AgentText,
    /// The mandate it acts under.
    pub mandate: Option<AgentText>,
}

/// A text of an agent: 1 … [`limits::INITIATOR_REFERENCE_BYTES`] bytes without control characters.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Deserialize, serde::Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct AgentText(String);

impl AgentText {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for AgentText {
    type Error = String;
    fn try_from(text: String) -> Result<AgentText, String> {
        let fits = (1..=limits::INITIATOR_REFERENCE_BYTES).contains(&text.len());
        if fits && !text.chars().any(char::is_control) {
            Ok(AgentText(text))
        } else {
            Err(format!("must be 1 to {} bytes without control characters", limits::INITIATOR_REFERENCE_BYTES))
        }
    }
}

impl From<AgentText> for String {
    fn from(text: AgentText) -> String {
        text.0
    }
}
