//! The enqueue of late work: steps 3 to 6 of `device/dispatch/mod.rs`. All that the work follows is bound by now.

use super::Core;
use super::follow::Follows;
use super::late_frame::Edges;
use super::lease::Lease;
use super::members::Member;
use super::ring::Retired;
use super::slot::Mark;
use super::staging::Patience;
use super::table_staging;
use super::under_lease::{Given, Phase, Undone};
use crate::core::op::plan::AnyPlan;
use crate::core::sync::Arc;
use crate::engines::dispatch::Submission;

/// What the enqueue needs besides the submission itself.
pub(super) struct Behind<'a> {
    pub(super) edges: &'a Edges,
    pub(super) operands: usize,
    pub(super) member: Option<&'a Member<'a>>,
    pub(super) patience: Patience,
    pub(super) plans: &'a [AnyPlan],
}

impl Core {
    /// Takes a lease and enqueues one phase. It follows all that the work must follow, which is bound by now, and
    /// `end`, where the previous phase ended.
    pub(super) fn enqueue_behind(
        self: &Arc<Self>,
        s: &mut Submission<'_, '_>,
        of: &Behind<'_>,
        phase: Phase<'_>,
        end: &mut Option<Mark>,
    ) -> Result<(), Undone> {
        let (mut follows, mut retired) = (Follows::new(), Retired::new());
        for (edge, _) in of.edges {
            let _ = self.add(edge, &mut follows); // all are bound by now
        }
        follows.extend(end.iter().filter(|mark| !mark.is_past()).map(|mark| self.following(mark)));
        for view in s.views {
            view.region.history.lock().all().for_each(|end| {
                let _ = self.add(end, &mut follows);
            });
        }
        let traced = s.epoch.counters.trace().is_some();
        let given = Given { landed: self.landing(s.facts, s.epoch)?, traced, plans: of.plans, phase };
        let staging = match s.facts.listed && of.operands > table_staging::MOST_WITHOUT {
            true => Some(self.table_staging(s.epoch, of.operands, of.patience)?),
            false => None,
        };
        let mut lease = match of.member {
            None => self.hold(s.epoch, &mut follows)?,
            Some(member) => {
                if follows.iter().any(|f| f.must_be_closed(member.slot.shared.index)) {
                    self.close_open(s.epoch, &mut follows)?;
                }
                Lease { slot: member.slot, state: member.slot.lease.lock() }
            }
        };
        let has_staging = staging.map(|staging| *lease.state.tables.staging() = staging).is_some();
        let result = self.enqueue(s, &follows, &mut lease, (&mut retired, Some(end)), given);
        if has_staging {
            *lease.state.tables.staging() = table_staging::TableStaging::default();
        }
        drop(lease);
        retired.iter().for_each(|cargo| cargo.retire());
        result
    }
}
