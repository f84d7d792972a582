//! What signals mean that stand near each other.

use super::{
    Severity::{self, Hold, Remark},
    phrase::Hint::{
        self, Claim, Command, EveryTime, Give, Model, Order, OtherTools, Praise, Private, Quiet,
        Recipient, Redirect, SecretFile, SecretWord, Send, StrangersTool, Take,
    },
};

/// Signals that together are a finding.
pub(super) struct Combination {
    pub(super) rule: &'static str,
    pub(super) severity: Severity,
    /// One signal of each of these.
    pub(super) all_of: &'static [&'static [Hint]],
    /// The most bytes of folded text between the first kind of signal and each of the others.
    pub(super) within: usize,
}

/// What is judged by words that stand near each other: by rule, the graver first.
#[rustfmt::skip]
pub(super) const COMBINATIONS: &[Combination] = &[
    Combination { rule: "command.order", severity: Hold, all_of: &[&[Command], &[EveryTime, Quiet, Claim], &[Order, EveryTime]], within: 120 },
    Combination { rule: "command.order", severity: Remark, all_of: &[&[Command], &[Order]], within: 60 },

    Combination { rule: "exfiltration.file", severity: Hold, all_of: &[&[SecretFile], &[Take], &[Give, Send], &[Order]], within: 160 },
    Combination { rule: "exfiltration.file", severity: Hold, all_of: &[&[SecretFile], &[EveryTime, Quiet, Send, OtherTools]], within: 160 },
    Combination { rule: "exfiltration.file", severity: Hold, all_of: &[&[SecretFile], &[Take], &[Give, Send, Claim]], within: 80 },
    Combination { rule: "exfiltration.file", severity: Remark, all_of: &[&[SecretFile], &[Take, Give]], within: 120 },

    Combination { rule: "exfiltration.private", severity: Hold, all_of: &[&[SecretWord, Private], &[Take], &[EveryTime]], within: 60 },
    Combination { rule: "exfiltration.private", severity: Hold, all_of: &[&[SecretWord, Private], &[Give, Send], &[Claim, Quiet]], within: 120 },
    Combination { rule: "exfiltration.private", severity: Hold, all_of: &[&[Private], &[Send], &[Order, Quiet, EveryTime]], within: 160 },
    Combination { rule: "exfiltration.private", severity: Hold, all_of: &[&[Private], &[Give], &[EveryTime, Quiet]], within: 120 },
    Combination { rule: "exfiltration.private", severity: Remark, all_of: &[&[Private], &[Give], &[Order]], within: 60 },

    Combination { rule: "exfiltration.quiet", severity: Hold, all_of: &[&[Quiet], &[Send, Redirect], &[Order, EveryTime]], within: 100 },

    Combination { rule: "exfiltration.secret", severity: Hold, all_of: &[&[SecretWord, Private], &[Take, Give], &[OtherTools, EveryTime], &[Order]], within: 100 },
    Combination { rule: "exfiltration.secret", severity: Hold, all_of: &[&[SecretWord], &[Send], &[Order, Quiet, EveryTime]], within: 160 },
    Combination { rule: "exfiltration.secret", severity: Hold, all_of: &[&[SecretWord], &[Take], &[Give], &[EveryTime, Quiet]], within: 160 },
    Combination { rule: "exfiltration.secret", severity: Remark, all_of: &[&[SecretWord], &[Take, Give], &[Order], &[Private, SecretFile, Claim]], within: 100 },

    Combination { rule: "exfiltration.send", severity: Hold, all_of: &[&[Send], &[EveryTime, Quiet, Claim], &[Order, Give, Private, Take]], within: 100 },
    Combination { rule: "exfiltration.send", severity: Remark, all_of: &[&[Send], &[Order]], within: 40 },

    Combination { rule: "orders.addressed", severity: Hold, all_of: &[&[Model], &[Order], &[Send, Quiet, Redirect, Command, SecretFile]], within: 100 },
    Combination { rule: "orders.addressed", severity: Hold, all_of: &[&[Model], &[Order], &[Private, SecretWord], &[Take, Give]], within: 80 },

    Combination { rule: "preference.first", severity: Remark, all_of: &[&[Praise], &[OtherTools]], within: 60 },

    Combination { rule: "shadowing.first", severity: Remark, all_of: &[&[OtherTools], &[EveryTime]], within: 50 },

    Combination { rule: "shadowing.order", severity: Hold, all_of: &[&[StrangersTool], &[Order, Recipient, SecretWord, SecretFile, Send, Claim]], within: 100 },
    Combination { rule: "shadowing.order", severity: Hold, all_of: &[&[StrangersTool], &[Redirect, EveryTime, Quiet]], within: 160 },
    Combination { rule: "shadowing.order", severity: Hold, all_of: &[&[StrangersTool], &[Praise]], within: 120 },
    Combination { rule: "shadowing.order", severity: Remark, all_of: &[&[OtherTools], &[Order], &[Give, Redirect, Send, Take]], within: 40 },

    Combination { rule: "shadowing.redirect", severity: Hold, all_of: &[&[OtherTools], &[Give, Send, Redirect], &[EveryTime]], within: 80 },
    Combination { rule: "shadowing.redirect", severity: Hold, all_of: &[&[Redirect], &[Recipient]], within: 60 },
    Combination { rule: "shadowing.redirect", severity: Hold, all_of: &[&[OtherTools], &[Redirect, Quiet], &[Order, EveryTime]], within: 120 },
    Combination { rule: "shadowing.redirect", severity: Hold, all_of: &[&[Redirect], &[Recipient], &[Order, EveryTime]], within: 120 },

    Combination { rule: "shadowing.uses", severity: Hold, all_of: &[&[OtherTools], &[Private, SecretWord, SecretFile, Command], &[Take, Give, Send]], within: 80 },
];
