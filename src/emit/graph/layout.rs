//! Where boxes and lines go: layers, an order in each that crosses few lines, then places.
//!
//! In: sizes of boxes and links between them. Out: centers of the boxes and the points that lines go through, from the
//! top to the bottom; whoever wants it from the left to the right turns sizes and points. The method is that of Sugiyama
//! and others: turn the links that close a circle, give each box the layer behind its last predecessor, order each layer
//! by where the neighbors are, then place by least squares under the order. Long links to one box share their way, so
//! that a thousand actions with one `kill` stay readable, and the work stays near-linear.

use std::collections::HashMap;

/// Between two boxes of a layer.
const GAP: f64 = 24.0;
/// Between two layers.
const LAYER_GAP: f64 = 44.0;
/// Ways of long links beyond this are drawn straight.
const WAYPOINT_LIMIT: usize = 300_000;
/// Sweeps over all layers.
const SWEEPS: usize = 8;

/// A box to be placed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    /// Across the layers.
    pub(super) width: f64,
    /// Along them.
    pub(super) height: f64,
    /// The room it takes among its neighbors, at least its width.
    pub(super) room: f64,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    /// By box.
    pub(super) centers: Vec<(f64, f64)>,
    /// By link: the points it goes through, from its first box to its second.
    pub(super) routes: Vec<Vec<(f64, f64)>>,
    /// By link: whether its route ends where it comes to the way of another that leads on to the same box.
    pub(super) joins: Vec<bool>,
    /// Of all of it.
    pub(super) width: f64,
    /// Of all of it.
    pub(super) height: f64,
}

/// Places boxes and links. Those that are `whole` go all the way to their box even where others went before.
pub(super) fn lay_out(
    sizes: &[Size],
    links: &[(usize, usize)],
    whole: impl Fn(usize) -> bool,
) -> Layout {
    if sizes.is_empty() {
        return Layout::default();
    }
    let turned = turned(sizes.len(), links);
    let forward: Vec<(usize, usize)> = links
        .iter()
        .zip(&turned)
        .map(|((from, to), turned)| if *turned { (*to, *from) } else { (*from, *to) })
        .collect();
    let layers_of = layers(sizes.len(), &forward);

    // Long links go through a waypoint in each layer between; those to one box share them.
    let count = 1 + layers_of.iter().copied().max().unwrap_or(0);
    let mut spots: Vec<(usize, Size)> =
        layers_of.iter().zip(sizes).map(|(layer, size)| (*layer, *size)).collect();
    let mut waypoints: HashMap<(usize, usize), usize> = HashMap::new();
    let mut ways: Vec<Vec<usize>> = Vec::with_capacity(links.len());
    let mut joints: Vec<(usize, usize)> = Vec::new();
    let mut joins = vec![false; links.len()];
    for (index, (from, to)) in forward.iter().enumerate() {
        let mut way = Vec::new();
        if from != to {
            let mut before = *from;
            for layer in layers_of[*from] + 1..layers_of[*to] {
                if waypoints.len() >= WAYPOINT_LIMIT {
                    break;
                }
                let new = spots.len();
                let spot = *waypoints.entry((*to, layer)).or_insert(new);
                joints.push((before, spot));
                way.push(spot);
                before = spot;
                if spot == new {
                    spots.push((layer, Size { width: 2.0, height: 0.0, room: 2.0 }));
                } else if !whole(index) {
                    // From here on another has gone before.
                    joins[index] = true;
                    break;
                }
            }
            if spots[before].0 + 1 == layers_of[*to] {
                joints.push((before, *to));
            }
        }
        ways.push(way);
    }
    joints.sort_unstable();
    joints.dedup();

    let mut above: Vec<Vec<usize>> = vec![Vec::new(); spots.len()];
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); spots.len()];
    for (from, to) in joints {
        below[from].push(to);
        above[to].push(from);
    }
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); count];
    for spot in walk(&above, &below) {
        rows[spots[spot].0].push(spot);
    }
    order(&mut rows, &above, &below);
    let xs = place(&rows, &spots, &above, &below);

    let mut tops = Vec::with_capacity(count);
    let mut heights = Vec::with_capacity(count);
    let mut y = 0.0;
    for row in &rows {
        let height = row.iter().map(|spot| spots[*spot].1.height).fold(0.0, f64::max);
        tops.push(y);
        heights.push(height);
        y += height + LAYER_GAP;
    }
    let height = y - LAYER_GAP;
    let left = (0..spots.len()).map(|spot| xs[spot] - spots[spot].1.room / 2.0);
    let left = left.fold(f64::INFINITY, f64::min);
    let right = (0..spots.len()).map(|spot| xs[spot] + spots[spot].1.room / 2.0);
    let right = right.fold(f64::NEG_INFINITY, f64::max);
    let center = |spot: usize| {
        let layer = spots[spot].0;
        (xs[spot] - left, tops[layer] + heights[layer] / 2.0)
    };
    let mut width = right - left;
    let routes = links
        .iter()
        .enumerate()
        .map(|(index, _)| {
            let (from, to) = forward[index];
            if from == to {
                // Out at the side and back in.
                let (x, y) = center(from);
                let edge = x + sizes[from].width / 2.0;
                let (out, half) = (edge + GAP, sizes[from].height / 4.0);
                width = f64::max(width, out);
                return vec![(edge, y - half), (out, y - half), (out, y + half), (edge, y + half)];
            }
            let (x, y) = center(from);
            let mut route = vec![(x, y + sizes[from].height / 2.0)];
            for spot in &ways[index] {
                let layer = spots[*spot].0;
                let (x, _) = center(*spot);
                route.push((x, tops[layer]));
                route.push((x, tops[layer] + heights[layer]));
            }
            if !joins[index] {
                let (x, y) = center(to);
                route.push((x, y - sizes[to].height / 2.0));
            }
            if turned[index] {
                route.reverse();
            }
            route
        })
        .collect();
    // The end of one that is turned is the box where it was begun.
    let joins = joins.iter().zip(&turned).map(|(joins, turned)| *joins && !turned).collect();
    Layout { centers: (0..sizes.len()).map(center).collect(), routes, joins, width, height }
}

/// Which links close a circle.
fn turned(count: usize, links: &[(usize, usize)]) -> Vec<bool> {
    let mut exits: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut entered = vec![false; count];
    for (index, (from, to)) in links.iter().enumerate() {
        exits[*from].push(index);
        entered[*to] |= from != to;
    }
    let mut turned = vec![false; links.len()];
    // 0: not seen, 1: on the way, 2: done.
    let mut state = vec![0_u8; count];
    let first = (0..count).filter(|each| !entered[*each]);
    for root in first.chain(0..count).collect::<Vec<_>>() {
        if state[root] != 0 {
            continue;
        }
        state[root] = 1;
        let mut open = vec![(root, 0)];
        while let Some((at, next)) = open.pop() {
            let Some(link) = exits[at].get(next).copied() else {
                state[at] = 2;
                continue;
            };
            open.push((at, next + 1));
            let to = links[link].1;
            match state[to] {
                0 => {
                    state[to] = 1;
                    open.push((to, 0));
                }
                1 if to != at => turned[link] = true,
                _ => {}
            }
        }
    }
    turned
}

/// The layer of each box: behind its last predecessor, or right before its first successor where it has none.
fn layers(count: usize, forward: &[(usize, usize)]) -> Vec<usize> {
    let mut exits: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut waiting = vec![0_usize; count];
    for (from, to) in forward.iter().filter(|(from, to)| from != to) {
        exits[*from].push(*to);
        waiting[*to] += 1;
    }
    let first: Vec<bool> = waiting.iter().map(|waiting| *waiting == 0).collect();
    let mut layers = vec![0_usize; count];
    let mut open: Vec<usize> = (0..count).filter(|each| first[*each]).collect();
    while let Some(at) = open.pop() {
        for to in &exits[at] {
            layers[*to] = layers[*to].max(layers[at] + 1);
            waiting[*to] -= 1;
            if waiting[*to] == 0 {
                open.push(*to);
            }
        }
    }
    for at in (0..count).filter(|each| first[*each]) {
        if let Some(next) = exits[at].iter().map(|to| layers[*to]).min() {
            layers[at] = next.saturating_sub(1);
        }
    }
    layers
}

/// Every spot once, depth first from the top: neighbors come out near each other.
fn walk(above: &[Vec<usize>], below: &[Vec<usize>]) -> Vec<usize> {
    let mut seen = vec![false; above.len()];
    let mut out = Vec::with_capacity(above.len());
    let roots = (0..above.len()).filter(|spot| above[*spot].is_empty()).chain(0..above.len());
    for root in roots.collect::<Vec<_>>() {
        let mut open = vec![root];
        while let Some(spot) = open.pop() {
            if std::mem::replace(&mut seen[spot], true) {
                continue;
            }
            out.push(spot);
            open.extend(below[spot].iter().rev().filter(|next| !seen[**next]));
        }
    }
    out
}

/// Sweeps down and up and puts each spot where its neighbors are on average; the best order wins.
fn order(rows: &mut [Vec<usize>], above: &[Vec<usize>], below: &[Vec<usize>]) {
    let mut position = vec![0.0; above.len()];
    let number = |rows: &[Vec<usize>], position: &mut Vec<f64>| {
        for row in rows {
            for (index, spot) in row.iter().enumerate() {
                position[*spot] = index as f64;
            }
        }
    };
    number(rows, &mut position);
    let mut best = rows.to_vec();
    let mut fewest = crossings(rows, below, &position);
    for sweep in 0..SWEEPS {
        if fewest == 0 {
            break;
        }
        let down = sweep % 2 == 0;
        let neighbors = if down { above } else { below };
        let count = rows.len();
        for step in 0..count {
            let row = &mut rows[if down { step } else { count - 1 - step }];
            let mut keyed: Vec<(f64, usize)> = row
                .iter()
                .map(|spot| {
                    let near = &neighbors[*spot];
                    let sum: f64 = near.iter().map(|spot| position[*spot]).sum();
                    let own = position[*spot];
                    (if near.is_empty() { own } else { sum / near.len() as f64 }, *spot)
                })
                .collect();
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
            for (index, (_, spot)) in keyed.into_iter().enumerate() {
                row[index] = spot;
                position[spot] = index as f64;
            }
        }
        let now = crossings(rows, below, &position);
        if now < fewest {
            fewest = now;
            best = rows.to_vec();
        }
    }
    rows.clone_from_slice(&best);
}

/// How many pairs of links between neighboring layers cross.
fn crossings(rows: &[Vec<usize>], below: &[Vec<usize>], position: &[f64]) -> u64 {
    let mut crossings = 0;
    for pair in rows.windows(2) {
        let mut counts = vec![0_u64; pair[1].len() + 1];
        let mut passed = 0;
        for spot in &pair[0] {
            let mut ends: Vec<usize> =
                below[*spot].iter().map(|spot| position[*spot] as usize).collect();
            ends.sort_unstable();
            for end in &ends {
                // How many of the links so far end at or before this one (a Fenwick tree).
                let mut before = 0;
                let mut at = end + 1;
                while at > 0 {
                    before += counts[at];
                    at &= at - 1;
                }
                crossings += passed - before;
            }
            for end in ends {
                passed += 1;
                let mut at = end + 1;
                while at < counts.len() {
                    counts[at] += 1;
                    at += at & at.wrapping_neg();
                }
            }
        }
    }
    crossings
}

/// Places along each layer: as near to the neighbors as the order allows.
fn place(
    rows: &[Vec<usize>],
    spots: &[(usize, Size)],
    above: &[Vec<usize>],
    below: &[Vec<usize>],
) -> Vec<f64> {
    let mut xs = vec![0.0; spots.len()];
    for row in rows {
        let mut x = 0.0;
        for spot in row {
            let room = spots[*spot].1.room;
            xs[*spot] = x + room / 2.0;
            x += room + GAP;
        }
    }
    let count = rows.len();
    for sweep in 0..=SWEEPS {
        let down = sweep % 2 == 0;
        for step in 0..count {
            let row = &rows[if down { step } else { count - 1 - step }];
            let wished: Vec<f64> = row
                .iter()
                .map(|spot| {
                    let (first, second) = (&above[*spot], &below[*spot]);
                    let near: Vec<usize> = match () {
                        () if sweep == SWEEPS => first.iter().chain(second).copied().collect(),
                        () if down => first.clone(),
                        () => second.clone(),
                    };
                    if near.is_empty() {
                        return xs[*spot];
                    }
                    near.iter().map(|spot| xs[*spot]).sum::<f64>() / near.len() as f64
                })
                .collect();
            settle(row, &wished, spots, &mut xs);
        }
    }
    xs
}

/// The places nearest to those wished for, by least squares, that keep order and distance: pools of neighbors that would
/// violate it move as one.
fn settle(row: &[usize], wished: &[f64], spots: &[(usize, Size)], xs: &mut [f64]) {
    let mut offsets = Vec::with_capacity(row.len());
    let mut offset = 0.0;
    for (index, spot) in row.iter().enumerate() {
        if index > 0 {
            offset += (spots[row[index - 1]].1.room + spots[*spot].1.room) / 2.0 + GAP;
        }
        offsets.push(offset);
    }
    // Pools: sum of what is wished, and how many.
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for (wish, offset) in wished.iter().zip(&offsets) {
        let mut pool = (wish - offset, 1);
        while let Some(last) = pools.last()
            && last.0 / last.1 as f64 > pool.0 / pool.1 as f64
        {
            pool = (pool.0 + last.0, pool.1 + last.1);
            pools.pop();
        }
        pools.push(pool);
    }
    let mut index = 0;
    for (sum, size) in pools {
        for _ in 0..size {
            xs[row[index]] = sum / size as f64 + offsets[index];
            index += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxes(count: usize) -> Vec<Size> {
        vec![Size { width: 60.0, height: 30.0, room: 60.0 }; count]
    }

    #[test]
    fn boxes_keep_their_distance_and_links_go_down() {
        // A fork of three that is joined, a shared end, and a way back.
        let links =
            [(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 4), (4, 5), (0, 5), (4, 0), (2, 2)];
        let layout = lay_out(&boxes(6), &links, |_| true);
        for (a, one) in layout.centers.iter().enumerate() {
            for other in &layout.centers[a + 1..] {
                let apart = (one.0 - other.0).abs() >= 60.0 || (one.1 - other.1).abs() >= 30.0;
                assert!(apart, "{:?}", layout.centers);
            }
        }
        assert!(layout.centers[0].1 < layout.centers[1].1);
        assert!(layout.centers[4].1 < layout.centers[5].1);
        let back = &layout.routes[8];
        assert!(back.first().unwrap().1 > back.last().unwrap().1);
        for (x, y) in layout.routes.iter().flatten() {
            assert!((0.0..=layout.width).contains(x) && (0.0..=layout.height).contains(y));
        }
    }

    #[test]
    fn a_long_chain_with_one_way_out_is_no_trouble() {
        let count = 20_000;
        let mut links: Vec<_> = (0..count - 2).map(|at| (at, at + 1)).collect();
        links.extend((0..count - 2).map(|at| (at, count - 1)));
        let layout = lay_out(&boxes(count), &links, |_| false);
        assert_eq!(layout.routes.len(), links.len());
    }
}
