//! The shard map: which ready writer should own which shard.

/// Who should have how many shards, and who should claim which free one. All writers that read the same board compute the same.
///
/// The numbers of shards of two writers differ by one at most, and as few shards as possible move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Balance {
    quotas: Vec<(u64, usize)>,
    /// Each free shard with the writer that should claim it.
    pub(crate) claims: Vec<(u32, u64)>,
}

impl Balance {
    /// `owners` are all shards with their active owners, `ready` the writers that want shards.
    pub(crate) fn new(owners: &[(u32, Option<u64>)], ready: &[u64]) -> Self {
        let mut counts: Vec<(u64, usize)> = ready.iter().map(|writer| (*writer, count(owners, *writer))).collect();
        // Those who have most keep the odd ones.
        counts.sort_by_key(|(writer, count)| (std::cmp::Reverse(*count), *writer));
        let Some(each) = owners.len().checked_div(counts.len()) else {
            return Balance { quotas: Vec::new(), claims: Vec::new() };
        };
        let odd = owners.len() % counts.len();
        let quota = |index: usize| each + usize::from(index < odd);
        let quotas = counts.iter().enumerate().map(|(index, (writer, _))| (*writer, quota(index))).collect();
        let mut claims = Vec::new();
        for (shard, _) in owners.iter().filter(|(_, owner)| owner.is_none()) {
            let missing = |index: usize| (counts[index].1 as i64) - (quota(index) as i64);
            if let Some(index) = (0..counts.len()).min_by_key(|index| (missing(*index), counts[*index].0)) {
                counts[index].1 += 1;
                claims.push((*shard, counts[index].0));
            }
        }
        Balance { quotas, claims }
    }

    /// How many shards the writer should have; 0 for one that is not ready.
    pub(crate) fn quota(&self, writer: u64) -> usize {
        self.quotas.iter().find(|(other, _)| *other == writer).map_or(0, |(_, quota)| *quota)
    }
}

fn count(owners: &[(u32, Option<u64>)], writer: u64) -> usize {
    owners.iter().filter(|(_, owner)| *owner == Some(writer)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owners(of: &[Option<u64>]) -> Vec<(u32, Option<u64>)> {
        (0..).zip(of.iter().copied()).collect()
    }

    #[test]
    fn free_shards_go_to_those_who_lack_most() {
        let balance = Balance::new(&owners(&[Some(1), Some(1), None, None, None]), &[1, 2]);
        assert_eq!(balance.claims, [(2, 2), (3, 1), (4, 2)]);
        assert_eq!((balance.quota(1), balance.quota(2), balance.quota(3)), (3, 2, 0));
    }

    #[test]
    fn a_new_writer_gets_its_part_and_no_other_shard_moves() {
        let before = owners(&(0..256).map(|shard| Some(1 + shard % 3)).collect::<Vec<_>>());
        let balance = Balance::new(&before, &[1, 2, 3, 4]);
        assert_eq!((1..=4).map(|writer| balance.quota(writer)).collect::<Vec<_>>(), [64, 64, 64, 64]);
        assert_eq!(balance.claims, []);
    }

    #[test]
    fn without_a_ready_writer_nobody_claims() {
        let balance = Balance::new(&owners(&[Some(1), None]), &[]);
        assert_eq!((balance.quota(1), balance.claims.len()), (0, 0));
    }
}
