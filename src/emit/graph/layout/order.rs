//! Orders the spots in their rows.
//!
//! Takes the rows and the links from one to the next, and finds an order with few crossings: sweeps down and up move
//! each spot to the average position of its neighbors, then neighbors in a row swap as long as that helps; the best
//! order found is kept. The work is bounded, whatever the graph.

/// Maximum number of sweeps over all rows.
const SWEEPS: usize = 24;
/// Maximum number of consecutive sweeps without improvement.
const VAIN: usize = 6;
/// Maximum number of pairs of links compared in all.
const PATIENCE: u64 = 30_000_000;

/// The neighbors of each spot in the rows above and below its own.
pub(super) struct Neighbors {
    pub(super) above: Vec<Vec<usize>>,
    pub(super) below: Vec<Vec<usize>>,
}

/// Orders the rows.
pub(super) fn order(rows: &mut [Vec<usize>], near: &Neighbors) {
    let mut at = vec![0; near.above.len()];
    number(rows, &mut at);
    let mut patience = PATIENCE;
    let mut best = rows.to_vec();
    let mut fewest = crossings(rows, near, &at);
    let mut vain = 0;
    for sweep in 0..SWEEPS {
        let links: usize = near.below.iter().map(Vec::len).sum();
        let spent = 4 * (links as u64 + near.above.len() as u64);
        if fewest == 0 || vain >= VAIN || patience < spent {
            break;
        }
        patience -= spent;
        let down = sweep % 2 == 0;
        // If two spots have the same average, the order of the two alternates.
        let turn = sweep % 4 > 1;
        for step in 0..rows.len() {
            let row = if down { step } else { rows.len() - 1 - step };
            let towards = if down { &near.above } else { &near.below };
            settle(&mut rows[row], towards, turn, &mut at);
        }
        exchange(rows, near, &mut at, &mut patience);
        let now = crossings(rows, near, &at);
        vain += 1;
        if now < fewest {
            fewest = now;
            best = rows.to_vec();
            vain = 0;
        }
    }
    rows.clone_from_slice(&best);
}

fn number(rows: &[Vec<usize>], at: &mut [usize]) {
    for row in rows {
        for (index, spot) in row.iter().enumerate() {
            at[*spot] = index;
        }
    }
}

/// Sorts the spots of a row by the average position of their neighbors; spots without neighbors stay in place.
fn settle(row: &mut [usize], towards: &[Vec<usize>], turn: bool, at: &mut [usize]) {
    let mut moving: Vec<(f64, usize, usize)> = Vec::with_capacity(row.len());
    let mut places = Vec::with_capacity(row.len());
    for (index, spot) in row.iter().enumerate() {
        let near = &towards[*spot];
        if near.is_empty() {
            continue;
        }
        let sum: usize = near.iter().map(|spot| at[*spot]).sum();
        let tie = if turn { row.len() - index } else { index };
        moving.push((sum as f64 / near.len() as f64, tie, *spot));
        places.push(index);
    }
    moving.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    for (place, (_, _, spot)) in places.into_iter().zip(moving) {
        row[place] = spot;
        at[spot] = place;
    }
}

/// Swaps neighbors in a row as long as that reduces crossings.
fn exchange(rows: &mut [Vec<usize>], near: &Neighbors, at: &mut [usize], patience: &mut u64) {
    for _ in 0..4 {
        let mut helped = false;
        for row in rows.iter_mut() {
            for index in 1..row.len() {
                let (left, right) = (row[index - 1], row[index]);
                let mut saved = 0;
                for side in [&near.above, &near.below] {
                    let (a, b) = (&side[left], &side[right]);
                    let work = (a.len() * b.len()) as u64;
                    if *patience < work {
                        return;
                    }
                    *patience -= work;
                    for one in a {
                        for other in b {
                            saved += i64::from(at[*one] > at[*other]);
                            saved -= i64::from(at[*one] < at[*other]);
                        }
                    }
                }
                if saved > 0 {
                    row.swap(index - 1, index);
                    (at[left], at[right]) = (index, index - 1);
                    helped = true;
                }
            }
        }
        if !helped {
            break;
        }
    }
}

/// Counts the pairs of links between neighboring rows that cross.
pub(super) fn crossings(rows: &[Vec<usize>], near: &Neighbors, at: &[usize]) -> u64 {
    let mut crossings = 0;
    for pair in rows.windows(2) {
        let mut counts = vec![0_u64; pair[1].len() + 1];
        let mut passed = 0;
        for spot in &pair[0] {
            let mut ends: Vec<usize> = near.below[*spot].iter().map(|spot| at[*spot]).collect();
            ends.sort_unstable();
            for end in &ends {
                // The number of links so far that end at or before this one (by a Fenwick tree).
                let mut before = 0;
                let mut place = end + 1;
                while place > 0 {
                    before += counts[place];
                    place &= place - 1;
                }
                crossings += passed - before;
            }
            for end in ends {
                passed += 1;
                let mut place = end + 1;
                while place < counts.len() {
                    counts[place] += 1;
                    place += place & place.wrapping_neg();
                }
            }
        }
    }
    crossings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crossings_that_can_be_avoided_are() {
        // Two rows of three, each linked to the opposite one; and a ladder that is twisted twice.
        let below =
            vec![vec![5], vec![4], vec![3], vec![7], vec![6], vec![8], vec![], vec![], vec![]];
        let mut above = vec![Vec::new(); 9];
        for (from, tos) in below.iter().enumerate() {
            tos.iter().for_each(|to: &usize| above[*to].push(from));
        }
        let near = Neighbors { above, below };
        let mut rows = vec![vec![0, 1, 2], vec![3, 4, 5], vec![6, 7, 8]];
        let mut at = vec![0; 9];
        number(&rows, &mut at);
        assert_eq!(crossings(&rows, &near, &at), 4);
        order(&mut rows, &near);
        number(&rows, &mut at);
        assert_eq!(crossings(&rows, &near, &at), 0);
    }
}
