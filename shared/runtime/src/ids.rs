//! Where new identifiers come from, and those that follow from what they name.

use aws_lc_rs::digest::{Context, SHA256};
use expiry_core::ids::{IdSource, OrderId, UserId};

/// New identifiers from the operating system's random source.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemIds;

impl IdSource for SystemIds {
    /// # Panics
    /// When the operating system has no random source: an identifier that is not unique would be worse than none.
    fn unique(&self) -> [u8; 15] {
        let mut bits = [0; 15];
        aws_lc_rs::rand::fill(&mut bits).expect("the operating system's random source");
        bits
    }
}

/// The order that `user` creates under `idempotency_key`: always the same for the same two, so that a repeated creation meets
/// the order it created before (DESIGN §6).
#[must_use]
pub fn order_id_for(user: &UserId, idempotency_key: &str) -> OrderId {
    OrderId::from_bits(first_bytes(&[b"order", user.as_str().as_bytes(), idempotency_key.as_bytes()]))
}

/// What a body is recognised by: the first 16 bytes of its SHA-256.
#[must_use]
pub fn digest(bytes: &[u8]) -> [u8; 16] {
    let mut kept = [0; 16];
    kept.copy_from_slice(&aws_lc_rs::digest::digest(&SHA256, bytes).as_ref()[..16]);
    kept
}

/// The first 15 bytes of the SHA-256 of `parts`, each after its length: no two lists of parts are hashed alike.
fn first_bytes(parts: &[&[u8]]) -> [u8; 15] {
    let mut hash = Context::new(&SHA256);
    for part in parts {
        hash.update(&(part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let mut kept = [0; 15];
    kept.copy_from_slice(&hash.finish().as_ref()[..15]);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(id: &str) -> UserId {
        UserId::new(id).expect("a user id")
    }

    #[test]
    fn an_order_id_follows_from_user_and_key_and_no_other_pair_shares_it() {
        let id = order_id_for(&user("ab"), "c");
        assert_eq!(id, order_id_for(&user("ab"), "c"));
        for (other_user, other_key) in [("a", "bc"), ("abc", "c"), ("ab", "C"), ("ab", "c ")] {
            assert_ne!(id, order_id_for(&user(other_user), other_key), "{other_user} {other_key}");
        }
    }

    #[test]
    fn the_order_of_a_key_never_changes_with_a_release() {
        // A change of the encoding would make a repeated creation a second order.
        assert_eq!(order_id_for(&user("user-1"), "key-1").as_str(), "evepzhkm4bbyxq54vvbq7ffy");
    }

    #[test]
    fn new_identifiers_differ_and_digests_are_the_head_of_sha_256() {
        assert_ne!(SystemIds.unique(), SystemIds.unique());
        assert_eq!(
            digest(b"abc"),
            [0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23]
        );
    }
}
