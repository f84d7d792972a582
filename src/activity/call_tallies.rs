//! Tallies of calls for the metrics: calls of one kind with the same outcome in one minute are counted together. The writer takes all tallies
//! once for each batch of events.

use std::{mem, sync::Arc, time::Duration};

use super::{
    call_kind::{CallMoment, ShownKind},
    seen_call::SeenCall,
};
use crate::{telemetry::metrics::CountedCall, text::moment::MINUTE};

/// The tallies that were not taken yet.
#[derive(Default)]
pub(super) struct CallTallies {
    tallies: Vec<CallTally>,
    /// The number of times that tallies were taken.
    round: u64,
}

/// The place of a tally. Valid only in its round: once the tallies are taken, their places go to others.
#[derive(Debug, Clone, Copy)]
pub(super) struct TallyPlace {
    round: u64,
    index: usize,
}

impl CallTallies {
    /// Counts a call of this kind in the last tally of the kind, or in a new one if that was taken or does not fit. Gives the place of the tally.
    pub(super) fn add(
        &mut self,
        kind: &Arc<ShownKind>,
        last: Option<TallyPlace>,
        call: &SeenCall,
        moment: CallMoment,
    ) -> TallyPlace {
        let took = call.ended - call.began;
        let last = last.filter(|place| place.round == self.round);
        if let Some(place) = last
            && let Some(tally) = self.tallies.get_mut(place.index)
            && tally.is_of(call, moment)
        {
            tally.took.push(took);
            tally.millis = tally.millis.max(moment.millis);
            return place;
        }
        self.tallies.push(CallTally {
            kind: kind.clone(),
            outcome: moment.outcome,
            is_caused: call.parent.is_some(),
            millis: moment.millis,
            took: vec![took],
        });
        TallyPlace {
            round: self.round,
            index: self.tallies.len() - 1,
        }
    }

    /// Takes all tallies.
    pub(super) fn take(&mut self) -> Vec<CallTally> {
        self.round += 1;
        mem::take(&mut self.tallies)
    }
}

/// Calls of one kind with the same outcome in one minute.
#[derive(Debug)]
pub(super) struct CallTally {
    kind: Arc<ShownKind>,
    outcome: &'static str,
    is_caused: bool,
    /// When the last one ended.
    millis: u64,
    took: Vec<Duration>,
}

impl CallTally {
    fn is_of(&self, call: &SeenCall, moment: CallMoment) -> bool {
        self.outcome == moment.outcome
            && self.is_caused == call.parent.is_some()
            && self.millis / MINUTE == moment.millis / MINUTE
    }

    /// The calls for the metrics.
    pub(super) fn counted(&self) -> CountedCall<'_> {
        CountedCall {
            millis: self.millis,
            calls: u64::try_from(self.took.len()).unwrap_or(u64::MAX),
            is_caused: self.is_caused,
            server: self.kind.record.server.as_deref(),
            tool: self.kind.record.tool.as_deref(),
            method: &self.kind.method,
            outcome: self.outcome,
            took: &self.took,
            client: self.kind.record.client.as_deref(),
            caller: self.kind.record.caller.as_deref(),
        }
    }
}
