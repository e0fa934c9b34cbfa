//! Computes the positions of spots in their rows.
//!
//! Takes ordered rows, the extent of each spot to its left and right, and the links from row to row with their
//! priority for being straight; returns a position for each spot that keeps order and distance. The method is that of
//! Brandes and Köpf: four times, from each side, spots are aligned with the median of their neighbors and then packed;
//! the result is the median of the four. Three things are added: a link is aligned only if neither end has a better
//! one, so that the main chain is straight and not the line that leaves it; of crossing links, the better one is
//! aligned; and finally a branching spot is moved to the middle of its branches.

use super::order::Neighbors;

/// Minimum distance between two spots of a row.
pub(super) const GAP: f64 = 22.0;

/// Number of passes that center branching spots.
const CENTERINGS: usize = 4;

/// Maximum distance from the middle of its branches for a spot that is in line with one of them.
const NEARLY: f64 = 15.0;

/// The extent of a spot in its row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Extent {
    pub(super) left: f64,
    pub(super) right: f64,
}

/// The priority of a link between adjacent rows for being straight; higher is stronger.
pub(super) type Pull = u8;

/// Places all spots. `pulls` correspond to the entries of `near.below`.
pub(super) fn place(
    rows: &[Vec<usize>],
    near: &Neighbors,
    pulls: &[Vec<Pull>],
    extents: &[Extent],
) -> Vec<f64> {
    let count = extents.len();
    let mut at = vec![0; count];
    for row in rows {
        for (index, spot) in row.iter().enumerate() {
            at[*spot] = index;
        }
    }
    let usable = usable(rows, near, pulls, &at);
    let mut found = Vec::with_capacity(4);
    for up in [false, true] {
        let towards = if up { &usable.below } else { &usable.above };
        for right in [false, true] {
            let blocks = align(rows, towards, &at, (up, right));
            found.push(pack(rows, &blocks, extents, right));
        }
    }
    let edges = |xs: &[f64]| {
        let left = xs.iter().zip(extents).map(|(x, extent)| x - extent.left);
        let right = xs.iter().zip(extents).map(|(x, extent)| x + extent.right);
        (left.fold(f64::INFINITY, f64::min), right.fold(f64::NEG_INFINITY, f64::max))
    };
    // All layouts are aligned with the edges of the narrowest: those packed to the left at its left edge, the others
    // at its right edge.
    let sizes: Vec<(f64, f64)> = found.iter().map(|xs| edges(xs)).collect();
    let narrowest = sizes.iter().min_by(|a, b| (a.1 - a.0).total_cmp(&(b.1 - b.0)));
    let (left, right) = narrowest.copied().unwrap_or_default();
    for (index, xs) in found.iter_mut().enumerate() {
        let (own_left, own_right) = sizes[index];
        let shift = if index % 2 == 0 { left - own_left } else { right - own_right };
        xs.iter_mut().for_each(|x| *x += shift);
    }
    let middle = |spot: usize| {
        let mut four = [found[0][spot], found[1][spot], found[2][spot], found[3][spot]];
        four.sort_by(f64::total_cmp);
        (four[1] + four[2]) / 2.0
    };
    let mut xs: Vec<f64> = (0..count).map(middle).collect();
    center(rows, &usable, extents, &at, &mut xs);
    xs
}

/// Moves a spot with branches, or where branches meet, to the middle of them, as far as there is room; spots in line
/// with it move as well.
fn center(
    rows: &[Vec<usize>],
    usable: &Neighbors,
    extents: &[Extent],
    at: &[usize],
    xs: &mut [f64],
) {
    // Chains: spots linked one to one in a straight line.
    let mut chain = vec![usize::MAX; xs.len()];
    let mut chains: Vec<Vec<usize>> = Vec::new();
    for spot in rows.iter().flatten().copied() {
        let above = match usable.above[spot].as_slice() {
            [one] if usable.below[*one].len() == 1 && (xs[*one] - xs[spot]).abs() < 0.01 => {
                Some(*one)
            }
            _ => None,
        };
        chain[spot] = match above {
            Some(above) => chain[above],
            None => {
                chains.push(Vec::new());
                chains.len() - 1
            }
        };
        chains[chain[spot]].push(spot);
    }
    let row_of = {
        let mut row_of = vec![0; xs.len()];
        for (index, row) in rows.iter().enumerate() {
            row.iter().for_each(|spot| row_of[*spot] = index);
        }
        row_of
    };
    let halfway = |near: &[usize], xs: &[f64]| {
        let least = near.iter().map(|spot| xs[*spot]).fold(f64::INFINITY, f64::min);
        let most = near.iter().map(|spot| xs[*spot]).fold(f64::NEG_INFINITY, f64::max);
        let middle = (least + most) / 2.0;
        // A straight line is preferred over the exact middle.
        let mut straight = near.iter().map(|spot| xs[*spot]);
        let straight = straight.find(|x| (x - middle).abs() < NEARLY);
        (near.len() > 1).then_some(straight.unwrap_or(middle))
    };
    for sweep in 0..CENTERINGS {
        for step in 0..chains.len() {
            let members = &chains[if sweep % 2 == 0 { chains.len() - 1 - step } else { step }];
            let (Some(first), Some(last)) = (members.first(), members.last()) else { continue };
            let wished: Vec<f64> = halfway(&usable.above[*first], xs)
                .into_iter()
                .chain(halfway(&usable.below[*last], xs))
                .collect();
            if wished.is_empty() {
                continue;
            }
            let mut wish = wished.iter().sum::<f64>() / wished.len() as f64 - xs[*first];
            for spot in members {
                let (row, index) = (&rows[row_of[*spot]], at[*spot]);
                if let Some(left) = index.checked_sub(1).map(|left| row[left]) {
                    let least = xs[left] + extents[left].right + GAP + extents[*spot].left;
                    wish = wish.max(f64::min(least - xs[*spot], 0.0));
                }
                if let Some(right) = row.get(index + 1) {
                    let most = xs[*right] - extents[*right].left - GAP - extents[*spot].right;
                    wish = wish.min(f64::max(most - xs[*spot], 0.0));
                }
            }
            members.iter().for_each(|spot| xs[*spot] += wish);
        }
    }
}

/// The links that may be straight, by their lower and their upper end, in the order of the rows.
fn usable(rows: &[Vec<usize>], near: &Neighbors, pulls: &[Vec<Pull>], at: &[usize]) -> Neighbors {
    let count = at.len();
    let mut out = Neighbors { above: vec![Vec::new(); count], below: vec![Vec::new(); count] };
    let mut best_above = vec![0; count];
    let mut best_below = vec![0; count];
    for (spot, (lower, pulls)) in near.below.iter().zip(pulls).enumerate() {
        for (to, pull) in lower.iter().zip(pulls) {
            best_below[spot] = Pull::max(best_below[spot], *pull);
            best_above[*to] = Pull::max(best_above[*to], *pull);
        }
    }
    for pair in rows.windows(2) {
        // Upper position, lower position, pull.
        let mut wanted: Vec<(usize, usize, Pull)> = Vec::new();
        for spot in &pair[0] {
            for (to, pull) in near.below[*spot].iter().zip(&pulls[*spot]) {
                if *pull == best_below[*spot] && *pull == best_above[*to] {
                    wanted.push((at[*spot], at[*to], *pull));
                }
            }
        }
        wanted.sort_unstable();
        let mut kept = vec![true; wanted.len()];
        let mut levels: Vec<Pull> = wanted.iter().map(|(_, _, pull)| *pull).collect();
        levels.sort_unstable();
        levels.dedup();
        for level in levels.into_iter().skip(1) {
            drop_crossed(&wanted, level, pair[0].len(), &mut kept);
        }
        for ((upper, lower, _), _) in wanted.iter().zip(&kept).filter(|(_, kept)| **kept) {
            let (upper, lower) = (pair[0][*upper], pair[1][*lower]);
            out.below[upper].push(lower);
            out.above[lower].push(upper);
        }
    }
    // Links are sorted by their upper ends and then by their lower ones.
    out
}

/// Drops links below a priority that cross one at or above it.
fn drop_crossed(wanted: &[(usize, usize, Pull)], level: Pull, width: usize, kept: &mut [bool]) {
    // For each upper position, the greatest lower position of better links up to it, and the least from it on.
    let mut most = vec![None; width + 1];
    let mut least = vec![None; width + 2];
    for (upper, lower, _) in wanted.iter().filter(|(_, _, pull)| *pull >= level) {
        most[upper + 1] = Option::max(most[upper + 1], Some(*lower));
        let own = &mut least[*upper];
        *own = Some(own.map_or(*lower, |known: usize| known.min(*lower)));
    }
    for place in 1..=width {
        most[place] = Option::max(most[place], most[place - 1]);
    }
    for place in (0..=width).rev() {
        least[place] = match (least[place], least[place + 1]) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
    for (index, (upper, lower, pull)) in wanted.iter().enumerate() {
        if *pull < level {
            let from_left = most[*upper].is_some_and(|other| other > *lower);
            let from_right = least[upper + 1].is_some_and(|other| other < *lower);
            kept[index] &= !from_left && !from_right;
        }
    }
}

/// Aligned spots form blocks: the block of each spot, and the blocks in the order in which they begin.
struct Blocks {
    of: Vec<usize>,
    count: usize,
}

fn align(
    rows: &[Vec<usize>],
    towards: &[Vec<usize>],
    at: &[usize],
    (up, right): (bool, bool),
) -> Blocks {
    let count = at.len();
    let mut of = vec![usize::MAX; count];
    let mut blocks = 0;
    // Whether another spot of the current row is aligned with this one.
    let mut taken = vec![false; count];
    for step in 0..rows.len() {
        let row = &rows[if up { rows.len() - 1 - step } else { step }];
        // The outermost position in the previous row that is taken.
        let mut edge: Option<usize> = None;
        for index in 0..row.len() {
            let spot = row[if right { row.len() - 1 - index } else { index }];
            let near = &towards[spot];
            let middle = near.len() / 2;
            let candidates: &[usize] = match near.len() {
                0 => &[],
                len if len % 2 == 1 => &near[middle..=middle],
                _ => &near[middle - 1..=middle],
            };
            for step in 0..candidates.len() {
                let other = candidates[if right { candidates.len() - 1 - step } else { step }];
                let is_free = match edge {
                    None => true,
                    Some(edge) if right => at[other] < edge,
                    Some(edge) => at[other] > edge,
                };
                if of[spot] == usize::MAX && is_free && !taken[other] {
                    of[spot] = of[other];
                    taken[other] = true;
                    edge = Some(at[other]);
                }
            }
            if of[spot] == usize::MAX {
                of[spot] = blocks;
                blocks += 1;
            }
        }
    }
    Blocks { of, count: blocks }
}

/// Packs blocks to the left (or right), and then moves each back as close to its other neighbors as possible.
fn pack(rows: &[Vec<usize>], blocks: &Blocks, extents: &[Extent], right: bool) -> Vec<f64> {
    // The order of blocks and their distances; mirrored for the right.
    let mut after: Vec<Vec<(usize, f64)>> = vec![Vec::new(); blocks.count];
    let mut waiting = vec![0_usize; blocks.count];
    for row in rows {
        for pair in row.windows(2) {
            let apart = extents[pair[0]].right + GAP + extents[pair[1]].left;
            let (mut one, mut other) = (blocks.of[pair[0]], blocks.of[pair[1]]);
            if right {
                std::mem::swap(&mut one, &mut other);
            }
            after[one].push((other, apart));
            waiting[other] += 1;
        }
    }
    // The extent of each block: the picture ends at the outer edges of spots, not at their centers.
    let mut places = vec![0.0; blocks.count];
    for row in rows {
        let outer = if right { row.last() } else { row.first() };
        if let Some(spot) = outer {
            let extent = if right { extents[*spot].right } else { extents[*spot].left };
            let own = &mut places[blocks.of[*spot]];
            *own = f64::max(*own, extent);
        }
    }
    let mut order: Vec<usize> = (0..blocks.count).filter(|block| waiting[*block] == 0).collect();
    let mut next = 0;
    while let Some(block) = order.get(next).copied() {
        next += 1;
        for (other, apart) in &after[block] {
            places[*other] = f64::max(places[*other], places[block] + apart);
            waiting[*other] -= 1;
            if waiting[*other] == 0 {
                order.push(*other);
            }
        }
    }
    debug_assert_eq!(order.len(), blocks.count, "blocks do not cross");
    for block in order.into_iter().rev() {
        let room = after[block].iter().map(|(other, apart)| places[*other] - apart);
        let room = room.fold(f64::INFINITY, f64::min);
        if room.is_finite() {
            places[block] = f64::max(places[block], room);
        }
    }
    let sign = if right { -1.0 } else { 1.0 };
    blocks.of.iter().map(|block| sign * places[*block]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(rows: &[Vec<usize>], links: &[(usize, usize, Pull)], half: f64) -> Vec<f64> {
        let count = rows.iter().map(Vec::len).sum();
        let mut near = Neighbors { above: vec![Vec::new(); count], below: vec![Vec::new(); count] };
        let mut pulls = vec![Vec::new(); count];
        for (from, to, pull) in links {
            near.below[*from].push(*to);
            near.above[*to].push(*from);
            pulls[*from].push(*pull);
        }
        place(rows, &near, &pulls, &vec![Extent { left: half, right: half }; count])
    }

    #[test]
    fn a_fork_stands_over_the_middle_of_its_branches() {
        // 0 branches into 1, 2 and 3; the branch of 1 has two spots; 6 joins them.
        let rows = [vec![0], vec![1, 2, 3], vec![4, 5, 6], vec![7]];
        let links: Vec<_> =
            [(0, 1), (0, 2), (0, 3), (1, 4), (2, 5), (3, 6), (4, 7), (5, 7), (6, 7)]
                .map(|(from, to)| (from, to, 2))
                .into();
        let xs = run(&rows, &links, 20.0);
        assert_eq!((xs[0], xs[7]), (xs[2], xs[2]));
        assert_eq!((xs[1], xs[3]), (xs[4], xs[6]));
        assert_eq!(xs[2] - xs[1], xs[3] - xs[2]);
        // The same with another line beside it, which leaves all three and goes down on the right.
        let rows = [vec![0], vec![1, 2, 3], vec![4, 5], vec![6, 7]];
        let links = [(0, 1, 2), (0, 2, 2), (0, 3, 2), (1, 4, 2), (2, 4, 2), (3, 4, 2)];
        let aside = [(1, 5, 0), (2, 5, 0), (3, 5, 0), (4, 6, 2), (5, 7, 1)];
        let all: Vec<_> = links.into_iter().chain(aside).collect();
        let xs = run(&rows, &all, 20.0);
        assert_eq!((xs[0], xs[4], xs[6]), (xs[2], xs[2], xs[2]), "{xs:?}");
        // With two branches as well.
        let xs = run(&[vec![0], vec![1, 2]], &[(0, 1, 2), (0, 2, 2)], 20.0);
        assert_eq!(xs[0], (xs[1] + xs[2]) / 2.0);
    }

    #[test]
    fn a_chain_is_straight_whatever_leaves_it() {
        // 0 - 1 - 2 - 3, each with a line to the right.
        let rows = [vec![0], vec![1, 4], vec![2, 5], vec![3, 6]];
        let links = [
            (0, 1, 2),
            (1, 2, 2),
            (2, 3, 2),
            (0, 4, 0),
            (1, 5, 0),
            (2, 6, 0),
            (4, 5, 1),
            (5, 6, 1),
        ];
        let xs = run(&rows, &links, 20.0);
        assert!(
            xs[..4].iter().all(|x| *x == xs[0]) && xs[4..].iter().all(|x| *x == xs[4]),
            "{xs:?}"
        );
        assert_eq!(xs[4] - xs[0], 40.0 + GAP);
    }
}
