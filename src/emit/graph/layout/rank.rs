//! Assigns a row to each box.
//!
//! Takes links; returns the links that close a cycle and are reversed for the layout, and the layer of each box: after
//! its last predecessor, then moved towards most of its links, as far as there is slack.

/// Number of passes that shorten links by moving boxes.
const PASSES: usize = 4;

/// The links that close a cycle.
pub(super) fn turned(count: usize, links: &[(usize, usize)]) -> Vec<bool> {
    let mut exits: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut entered = vec![false; count];
    for (index, (from, to)) in links.iter().enumerate() {
        exits[*from].push(index);
        entered[*to] |= from != to;
    }
    let mut turned = vec![false; links.len()];
    // 0: not visited, 1: on the current path, 2: done.
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

/// The layer of each box. `forward` has no cycles except links of a box to itself; boxes without links come last, and
/// so do boxes without outgoing links for which `last` is true.
pub(super) fn layers(
    count: usize,
    forward: &[(usize, usize)],
    last: impl Fn(usize) -> bool,
) -> Vec<usize> {
    let mut exits: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut entries: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (from, to) in forward.iter().filter(|(from, to)| from != to) {
        exits[*from].push(*to);
        entries[*to].push(*from);
    }
    let mut waiting: Vec<usize> = entries.iter().map(Vec::len).collect();
    let mut layers = vec![0_usize; count];
    let mut order: Vec<usize> = (0..count).filter(|each| waiting[*each] == 0).collect();
    let mut next = 0;
    while let Some(at) = order.get(next).copied() {
        next += 1;
        for to in &exits[at] {
            layers[*to] = layers[*to].max(layers[at] + 1);
            waiting[*to] -= 1;
            if waiting[*to] == 0 {
                order.push(*to);
            }
        }
    }
    let end = layers.iter().copied().max().unwrap_or(0);
    for pass in 0..PASSES {
        let mut moved = false;
        for step in 0..order.len() {
            let at = order[if pass % 2 == 0 { order.len() - 1 - step } else { step }];
            let least = entries[at].iter().map(|from| layers[*from] + 1).max().unwrap_or(0);
            let most = exits[at].iter().map(|to| layers[*to] - 1).min().unwrap_or(end);
            let wished = match exits[at].len().cmp(&entries[at].len()) {
                std::cmp::Ordering::Greater => most,
                _ if exits[at].is_empty() && (entries[at].is_empty() || last(at)) => end,
                std::cmp::Ordering::Less => least,
                std::cmp::Ordering::Equal => layers[at].clamp(least, most),
            };
            moved |= wished != layers[at];
            layers[at] = wished;
        }
        if !moved {
            break;
        }
    }
    let first = layers.iter().copied().min().unwrap_or(0);
    layers.iter_mut().for_each(|layer| *layer -= first);
    layers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_lie_behind_their_predecessors_and_near_their_successors() {
        // A fork with a long and a short branch; a head that leads to the last box; and a single box.
        let links = [(0, 1), (1, 2), (2, 3), (0, 4), (4, 3), (5, 3)];
        assert_eq!(layers(7, &links, |_| false), [0, 1, 2, 3, 1, 2, 3]);
        // Boxes without outgoing links may come last.
        let links = [(0, 1), (1, 2), (2, 3), (0, 4)];
        assert_eq!(layers(5, &links, |_| false), [0, 1, 2, 3, 1]);
        assert_eq!(layers(5, &links, |each| each == 4), [0, 1, 2, 3, 3]);
    }

    #[test]
    fn one_link_of_a_circle_is_turned() {
        assert_eq!(turned(3, &[(0, 1), (1, 2), (2, 1), (1, 1)]), [false, false, true, false]);
        // Also without a first box.
        assert_eq!(turned(2, &[(0, 1), (1, 0)]), [false, true]);
    }
}
