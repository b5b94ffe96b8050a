//! What a conversation costs. Agents tell the sum over its whole life; what is passed on is what came on top.

use crate::backend::acp::update::Update;

/// The last sum that the agent told.
#[derive(Debug, Default)]
pub(super) struct Cost {
    /// Unknown until a fresh conversation begins, or a restored one tells a sum: that one holds what others paid.
    total_usd: Option<f64>,
}

impl Cost {
    /// A fresh conversation has cost nothing, whatever was told of the one that could not be restored.
    pub(super) fn begin(&mut self) {
        self.total_usd = Some(0.0);
    }

    pub(super) fn is_unknown(&self) -> bool {
        self.total_usd.is_none()
    }

    /// A sum of before: nothing of it is passed on.
    pub(super) fn settle(&mut self, update: &Update) {
        if let Update::Usage(usage) = update {
            self.total_usd = usage.cost_usd.or(self.total_usd);
        }
    }

    /// The update with what came on top of the last sum.
    pub(super) fn rise(&mut self, update: Update) -> Update {
        let Update::Usage(mut usage) = update else { return update };
        if let Some(total) = usage.cost_usd {
            usage.cost_usd = self.total_usd.replace(total).map(|known| (total - known).max(0.0));
        }
        Update::Usage(usage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::event::Usage;

    fn told(cost_usd: Option<f64>) -> Update {
        Update::Usage(Usage { cost_usd, ..Usage::default() })
    }

    #[track_caller]
    fn check(mut cost: Cost, totals: &[Option<f64>], expected: &[Option<f64>]) {
        let rises: Vec<Update> = totals.iter().map(|total| cost.rise(told(*total))).collect();
        assert_eq!(rises, expected.iter().map(|rise| told(*rise)).collect::<Vec<_>>());
    }

    #[test]
    fn what_others_paid_is_not_counted_again() {
        let mut fresh = Cost::default();
        fresh.settle(&told(Some(9.0)));
        fresh.begin();
        check(fresh, &[Some(1.0), None, Some(1.5), Some(1.0)], &[Some(1.0), None, Some(0.5), Some(0.0)]);
        check(Cost::default(), &[None, Some(4.0), Some(4.5)], &[None, None, Some(0.5)]);
        let mut replayed = Cost::default();
        [Some(1.0), Some(4.0), None].map(told).iter().for_each(|update| replayed.settle(update));
        check(replayed, &[Some(4.25)], &[Some(0.25)]);
    }
}
