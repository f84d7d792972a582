//! Combinations of hints that are findings where they stand near each other.

use super::{
    Severity::{self, Hold, Remark},
    phrase::Hint::{
        self, Addressed, Answers, Authority, Belongings, Command, Conceal, EveryTime, Everything,
        Exclusive, Foreign, ForeignParameter, Frame, Give, HandOver, KindRequest, Model, Order,
        OtherTools, Praise, Priority, Private, Provider, Quiet, Recipient, Redirect, SecretFile,
        SecretWord, Send, StrangersTool, Take, User,
    },
};

/// Hints that are a finding where they stand near each other.
pub(super) struct Combination {
    pub(super) rule: &'static str,
    pub(super) severity: Severity,
    /// The most bytes of folded text between a hint of the first set and those of the other sets.
    pub(super) within: usize,
    /// Sets of hints. One of each set must be there.
    pub(super) all_of: &'static [&'static [Hint]],
}

const fn near(
    rule: &'static str,
    severity: Severity,
    within: usize,
    all_of: &'static [&'static [Hint]],
) -> Combination {
    Combination {
        rule,
        severity,
        within,
        all_of,
    }
}

/// All combinations, by rule, the gravest first. If several of a rule are in a text, the first of the gravest ones gives the words that are shown.
#[rustfmt::skip]
pub(super) const COMBINATIONS: &[Combination] = &[
    // `EveryTime` alone satisfies the second and the third set: it is an order by itself.
    near("command.order", Hold, 120, &[&[Command], &[EveryTime, Quiet, Authority], &[Order, EveryTime]]),
    near("command.order", Remark, 60, &[&[Command], &[Order]]),

    near("exfiltration.file", Hold, 160, &[&[SecretFile], &[Take], &[Give, Send], &[Order]]),
    near("exfiltration.file", Hold, 160, &[&[SecretFile], &[EveryTime, Quiet, Send, OtherTools]]),
    near("exfiltration.file", Hold, 80, &[&[SecretFile], &[Take], &[Give, Send, Authority]]),
    near("exfiltration.file", Hold, 120, &[&[SecretFile], &[Take, Give, Send], &[Conceal, Quiet, EveryTime, Model, Order]]),
    near("exfiltration.file", Remark, 120, &[&[SecretFile], &[Take, Give]]),

    near("exfiltration.foreign", Hold, 90, &[&[Foreign], &[Send, Quiet, Conceal, Priority, Model, KindRequest, Redirect]]),
    near("exfiltration.foreign", Hold, 90, &[&[Foreign], &[Give, Take], &[Order, EveryTime, OtherTools, Authority, Everything]]),
    near("exfiltration.foreign", Hold, 40, &[&[Foreign], &[Give, KindRequest]]),
    near("exfiltration.foreign", Hold, 25, &[&[ForeignParameter], &[Everything, Give, Take]]),
    near("exfiltration.foreign", Hold, 90, &[&[Belongings], &[HandOver], &[Quiet, Conceal, Priority, Model, KindRequest]]),
    near("exfiltration.foreign", Remark, 60, &[&[Foreign], &[Give, Take, Order, Everything]]),
    near("exfiltration.foreign", Remark, 60, &[&[Belongings], &[HandOver], &[EveryTime, Send, Authority]]),

    near("exfiltration.private", Hold, 60, &[&[SecretWord, Private], &[Take], &[EveryTime]]),
    near("exfiltration.private", Hold, 120, &[&[SecretWord, Private], &[Give, Send], &[Authority, Quiet]]),
    near("exfiltration.private", Hold, 160, &[&[Private], &[Send], &[Order, Quiet, EveryTime]]),
    near("exfiltration.private", Hold, 120, &[&[Private], &[Give], &[EveryTime, Quiet]]),
    near("exfiltration.private", Hold, 120, &[&[Private, SecretWord], &[Take, Give, Send], &[Conceal, Priority]]),
    near("exfiltration.private", Hold, 90, &[&[Private], &[Send], &[Take, Give, Order]]),
    near("exfiltration.private", Hold, 90, &[&[Private, SecretWord], &[Give], &[Model]]),
    near("exfiltration.private", Remark, 60, &[&[Private], &[Give], &[Order]]),
    near("exfiltration.private", Remark, 90, &[&[Private], &[KindRequest, Send]]),

    near("exfiltration.quiet", Hold, 100, &[&[Quiet], &[Send, Redirect], &[Order, EveryTime]]),
    near("exfiltration.quiet", Hold, 60, &[&[Quiet], &[Send, Redirect]]),

    near("exfiltration.secret", Hold, 100, &[&[SecretWord, Private], &[Take, Give], &[OtherTools, EveryTime], &[Order]]),
    near("exfiltration.secret", Hold, 160, &[&[SecretWord], &[Send], &[Order, Quiet, EveryTime]]),
    near("exfiltration.secret", Hold, 160, &[&[SecretWord], &[Take], &[Give], &[EveryTime, Quiet]]),
    near("exfiltration.secret", Remark, 100, &[&[SecretWord], &[Take, Give], &[Order], &[Private, SecretFile, Authority]]),

    near("exfiltration.send", Hold, 100, &[&[Send], &[EveryTime, Quiet, Authority], &[Order, Give, Private, Take]]),
    near("exfiltration.send", Remark, 40, &[&[Send], &[Order]]),

    near("orders.addressed", Hold, 100, &[&[Model], &[Order], &[Send, Quiet, Redirect, Command, SecretFile]]),
    near("orders.addressed", Hold, 80, &[&[Model], &[Order], &[Private, SecretWord], &[Take, Give]]),
    near("orders.addressed", Hold, 80, &[&[Addressed], &[Belongings, Foreign, Private, ForeignParameter], &[Give, HandOver, Take, Send, KindRequest]]),
    near("orders.addressed", Remark, 60, &[&[Addressed], &[Order, KindRequest, EveryTime, Give, Praise, Exclusive, HandOver, OtherTools]]),

    near("orders.answers", Hold, 100, &[&[Answers], &[KindRequest, Model, Quiet, Conceal], &[Order, EveryTime, Praise, Send, Exclusive, Private, Foreign]]),
    near("orders.answers", Remark, 80, &[&[Answers], &[KindRequest, Order, EveryTime, Model]]),

    near("orders.conceal", Hold, 100, &[
        &[Conceal],
        &[Send, Private, SecretWord, SecretFile, OtherTools, StrangersTool, Redirect, Model, Command, Priority, Recipient],
    ]),
    near("orders.conceal", Hold, 100, &[&[Quiet], &[StrangersTool, Priority, Recipient]]),
    near("orders.conceal", Hold, 100, &[&[Conceal], &[Answers, Order, EveryTime, KindRequest, Take, Give, Foreign, Belongings]]),
    near("orders.conceal", Remark, 0, &[&[Conceal]]),

    near("orders.frame", Hold, 120, &[
        &[Frame],
        &[
            Take, Give, Send, Quiet, Conceal, Foreign, Private, SecretWord, SecretFile, OtherTools, Command, Priority, Redirect, StrangersTool,
            Order, KindRequest, Exclusive,
        ],
    ]),
    near("orders.frame", Hold, 100, &[&[Frame], &[Answers, Belongings, HandOver]]),
    near("orders.frame", Remark, 0, &[&[Frame]]),

    near("orders.override", Hold, 100, &[&[Priority], &[Exclusive, OtherTools, Private, Conceal, Quiet, Send, Give, Redirect]]),
    near("orders.override", Remark, 0, &[&[Priority]]),

    near("orders.soft", Hold, 90, &[&[Provider], &[Foreign, Belongings, Private, User], &[KindRequest, Give, HandOver, Everything]]),
    near("orders.soft", Hold, 90, &[&[KindRequest], &[Belongings], &[HandOver], &[User, Model]]),
    near("orders.soft", Hold, 80, &[&[KindRequest], &[Private, SecretWord, Foreign, OtherTools], &[Give, Send, Model]]),
    near("orders.soft", Remark, 90, &[&[Provider], &[Foreign, Belongings, Private, User]]),
    near("orders.soft", Remark, 80, &[&[KindRequest], &[Model, Private, Send, OtherTools, SecretWord, Foreign, Belongings, User]]),

    near("parameters.beyond_purpose", Remark, 0, &[&[ForeignParameter]]),

    near("preference.exclusive", Hold, 100, &[&[Exclusive], &[Priority, Quiet, Praise, Model]]),
    near("preference.exclusive", Hold, 80, &[&[Exclusive], &[EveryTime, OtherTools, StrangersTool, Order]]),
    near("preference.exclusive", Remark, 0, &[&[Exclusive]]),

    near("preference.first", Remark, 60, &[&[Praise], &[OtherTools]]),

    near("preference.praise", Hold, 100, &[&[Praise], &[Model], &[Order, EveryTime, OtherTools, KindRequest, Exclusive]]),
    near("preference.praise", Remark, 60, &[&[Praise], &[Model, OtherTools, EveryTime]]),

    near("shadowing.first", Remark, 50, &[&[OtherTools], &[EveryTime]]),

    near("shadowing.order", Hold, 100, &[&[StrangersTool], &[Order, Recipient, SecretWord, SecretFile, Send, Authority]]),
    near("shadowing.order", Hold, 160, &[&[StrangersTool], &[Redirect, EveryTime, Quiet]]),
    near("shadowing.order", Hold, 120, &[&[StrangersTool], &[Praise]]),
    near("shadowing.order", Hold, 60, &[&[StrangersTool], &[Conceal, Priority, Exclusive, Take]]),
    near("shadowing.order", Remark, 40, &[&[OtherTools], &[Order], &[Give, Redirect, Send, Take]]),

    near("shadowing.redirect", Hold, 80, &[&[OtherTools], &[Give, Send, Redirect], &[EveryTime]]),
    near("shadowing.redirect", Hold, 60, &[&[Redirect], &[Recipient]]),
    near("shadowing.redirect", Hold, 120, &[&[OtherTools], &[Redirect, Quiet], &[Order, EveryTime]]),
    near("shadowing.redirect", Hold, 120, &[&[Redirect], &[Recipient], &[Order, EveryTime]]),

    near("shadowing.uses", Hold, 80, &[&[OtherTools], &[Private, SecretWord, SecretFile, Command], &[Take, Give, Send]]),
];

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;

    use super::*;

    #[test]
    fn they_stand_by_rule_the_graver_first() {
        let key = |one: &Combination| (one.rule, Reverse(one.severity));
        for pair in COMBINATIONS.windows(2) {
            let (one, next) = (&pair[0], &pair[1]);
            assert!(key(one) <= key(next), "{} before {}", one.rule, next.rule);
        }
    }
}
