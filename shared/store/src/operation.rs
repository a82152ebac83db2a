//! The token that a write carries, so that it recognises itself (DESIGN §6).

use aws_sdk_dynamodb::types::AttributeValue;
use expiry_core::guard;
use expiry_core::ids::{IdSource, OrderId};

/// One committed decision: its token on the item, and its ClientRequestToken, re-sent byte for byte.
#[derive(Debug)]
pub(crate) struct Operation {
    bits: [u8; 15],
}

/// Bytes of the token on the item: 64 bits are told apart within the one item that carries them.
const TOKEN_BYTES: usize = 8;

impl Operation {
    pub(crate) fn new(ids: &dyn IdSource) -> Operation {
        Operation { bits: ids.unique() }
    }

    pub(crate) fn token(&self) -> &[u8] {
        &self.bits[..TOKEN_BYTES]
    }

    pub(crate) fn request_token(&self) -> String {
        OrderId::from_bits(self.bits).to_string()
    }

    pub(crate) fn is(&self, value: &AttributeValue) -> bool {
        guard::OPERATION_TOKEN.stands() && value.as_b().is_ok_and(|found| found.as_ref() == self.token())
    }
}
