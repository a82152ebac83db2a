//! The body of `POST /orders/{id}/payments`.

use expiry_core::ids::{ChannelId, Method};
use expiry_core::initiator::{Agent, AgentText, Initiator};
use expiry_core::limits;
use expiry_core::money::Amount;
use expiry_runtime::http::Object;
use expiry_runtime::problem::Problem;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PaymentRequest {
    pub(crate) channel: ChannelId,
    #[serde(default)]
    pub(crate) method: Option<Method>,
    #[serde(default)]
    amount: Option<u64>,
    #[serde(default)]
    initiator: Option<Object<InitiatorRequest>>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum InitiatorRequest {
    /// With braces, or fields that are not known would be taken.
    Customer {},
    Agent {
        protocol: AgentText,
        session_id: AgentText,
        #[serde(default)]
        mandate_ref: Option<AgentText>,
    },
}

impl PaymentRequest {
    /// The leg that is asked for; `None` is all that is unpaid.
    pub(crate) fn amount(&self) -> Result<Option<Amount>, Problem> {
        let within = |minor| {
            Amount::new(minor)
                .ok_or_else(|| Problem::invalid("#/amount", format!("must be from 1 to {}", limits::AMOUNT)))
        };
        self.amount.map(within).transpose()
    }

    pub(crate) fn initiator(self) -> Initiator {
        match self.initiator {
            None | Some(Object(InitiatorRequest::Customer {})) => Initiator::Customer,
            Some(Object(InitiatorRequest::Agent { protocol, session_id, mandate_ref })) => {
                Initiator::Agent(Agent { protocol, session: session_id, mandate: mandate_ref })
            }
        }
    }
}
