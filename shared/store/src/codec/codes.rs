//! The short codes of closed lists, as they are stored.

use expiry_core::attempt::{AttemptStatus, Standing};
use expiry_core::closing::{CloseReason, CloseTrigger};
use expiry_core::order::OrderStatus;
use expiry_core::refund::RefundStatus;
use expiry_core::reservation::{CouponReason, CouponStatus, HoldStatus};

/// A closed list with a short code for each of its members.
pub(crate) trait Code: Copy + 'static {
    /// Every member.
    const MEMBERS: &'static [Self];

    /// Its code.
    fn code(self) -> &'static str;

    /// The member with that code.
    fn from_code(code: &str) -> Option<Self> {
        Self::MEMBERS.iter().copied().find(|member| member.code() == code)
    }
}

impl Code for OrderStatus {
    const MEMBERS: &'static [Self] = &Self::ALL;

    fn code(self) -> &'static str {
        match self {
            OrderStatus::PendingPayment => "N",
            OrderStatus::Paying => "Y",
            OrderStatus::Closing => "G",
            OrderStatus::Paid => "P",
            OrderStatus::Closed => "C",
        }
    }
}

impl Code for AttemptStatus {
    const MEMBERS: &'static [Self] = &Self::ALL;

    fn code(self) -> &'static str {
        match self {
            AttemptStatus::Initiated => "I",
            AttemptStatus::Processing => "P",
            AttemptStatus::Unknown => "U",
            AttemptStatus::Failed => "F",
            AttemptStatus::Closed => "C",
            AttemptStatus::Succeeded => "S",
        }
    }
}

impl Code for Standing {
    const MEMBERS: &'static [Self] = &Self::ALL;

    fn code(self) -> &'static str {
        match self {
            Standing::Counted => "C",
            Standing::Surplus => "S",
            Standing::Mismatch => "M",
            Standing::RefundedElsewhere => "R",
        }
    }
}

impl Code for HoldStatus {
    const MEMBERS: &'static [Self] = &Self::ALL;

    fn code(self) -> &'static str {
        match self {
            HoldStatus::Reserved => "R",
            HoldStatus::Confirmed => "C",
            HoldStatus::Released => "L",
        }
    }
}

impl Code for CouponStatus {
    const MEMBERS: &'static [Self] = &Self::ALL;

    fn code(self) -> &'static str {
        match self {
            CouponStatus::Locked => "L",
            CouponStatus::Used => "U",
            CouponStatus::Available => "A",
            CouponStatus::Expired => "E",
            CouponStatus::Void => "V",
        }
    }
}

impl Code for CouponReason {
    const MEMBERS: &'static [Self] = &Self::ALL;

    fn code(self) -> &'static str {
        match self {
            CouponReason::CampaignStopped => "S",
            CouponReason::NotRefundable => "N",
            CouponReason::Expired => "E",
        }
    }
}

impl Code for RefundStatus {
    const MEMBERS: &'static [Self] = &Self::ALL;

    fn code(self) -> &'static str {
        match self {
            RefundStatus::Pending => "P",
            RefundStatus::Submitted => "B",
            RefundStatus::Succeeded => "S",
            RefundStatus::Failed => "F",
        }
    }
}

impl Code for CloseTrigger {
    const MEMBERS: &'static [Self] = &Self::ALL;

    fn code(self) -> &'static str {
        match self {
            CloseTrigger::Wake => "W",
            CloseTrigger::Scan => "S",
            CloseTrigger::Retry => "R",
            CloseTrigger::Cancel => "C",
            CloseTrigger::Operator => "O",
        }
    }
}

impl Code for CloseReason {
    const MEMBERS: &'static [Self] = &Self::ALL;

    fn code(self) -> &'static str {
        match self {
            CloseReason::Expired => "E",
            CloseReason::CancelledByUser => "U",
            CloseReason::CancelledByOperator => "O",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every_code_is_one_members<C: Code + PartialEq + std::fmt::Debug>() {
        for member in C::MEMBERS {
            assert_eq!(C::from_code(member.code()), Some(*member));
        }
        assert_eq!(C::from_code("?"), None);
    }

    #[test]
    fn no_two_members_of_a_list_share_a_code() {
        every_code_is_one_members::<OrderStatus>();
        every_code_is_one_members::<AttemptStatus>();
        every_code_is_one_members::<Standing>();
        every_code_is_one_members::<HoldStatus>();
        every_code_is_one_members::<CouponStatus>();
        every_code_is_one_members::<CouponReason>();
        every_code_is_one_members::<RefundStatus>();
        every_code_is_one_members::<CloseTrigger>();
        every_code_is_one_members::<CloseReason>();
    }
}
