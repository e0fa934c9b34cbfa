//! Lays out boxes, lines and labels.
//!
//! Takes the sizes of boxes, links between them, and the sizes of link labels; returns centers of the boxes, the
//! points of the lines, and centers of the labels, from top to bottom; for left to right, callers swap sizes and
//! points. The method is that of Sugiyama and others, one file per step: links that close a cycle are reversed and
//! each box gets a row ([`rank`]); long links get a waypoint in each row between, and labels are boxes in rows of
//! their own, so that nothing overlaps; rows are ordered ([`order`]) and their spots placed ([`place`]); then lines
//! are routed from spot to spot ([`route`]).
//!
//! Links to one box with the same label (failures, or very many) share one route, so that a thousand actions with one
//! `kill` stay readable and the work stays near-linear.
//!
//! Existing crates were considered first: `layout-rs` reserves no room for labels and lays out no frames,
//! `rust-sugiyama` has neither labels nor routes, and `dagre`, a port that has both, shares no routes and bounds no
//! work.

mod order;
mod place;
mod rank;
mod route;

use order::Neighbors;
use place::{Extent, Pull};
use std::collections::HashMap;

/// Maximum number of waypoints; links beyond that are drawn straight.
const WAYPOINT_LIMIT: usize = 200_000;
/// Number of long main links to one box beyond which they share a route.
const HUB: usize = 40;
/// Half the space that a line takes among its neighbors.
const LANE: f64 = 1.0;

/// The size of a box.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Size {
    /// Extent along the row.
    pub(super) width: f64,
    /// Extent across the rows.
    pub(super) height: f64,
}

/// How the links of a box relate to one another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Role {
    /// One way through the box is the main one, if there is one.
    #[default]
    Step,
    /// Its links are alternatives, and those that skip many rows do not bend another.
    Choice,
    /// All links are equal.
    Gate,
}

/// A link between two boxes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Link {
    pub(super) from: usize,
    pub(super) to: usize,
    /// The size of its label, if it has one.
    pub(super) words: Option<Size>,
    /// 0 for main links. The others are side links: all of one class that lead to one box share their route and their
    /// label.
    pub(super) class: u8,
    /// Whether the line is drawn all the way to its box, even along the route of another.
    pub(super) whole: bool,
}

/// The route of a link.
#[derive(Clone, Debug, Default)]
pub(super) struct Route {
    /// The points from its first box to its second, in pieces: labels are between them.
    pub(super) pieces: Vec<Vec<(f64, f64)>>,
    /// The center of its label; `None` if another link has it.
    pub(super) words: Option<(f64, f64)>,
    /// Whether it ends where it meets the route of another link to the same box.
    pub(super) joins: bool,
}

/// The result of the layout.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    /// The center of each box.
    pub(super) centers: Vec<(f64, f64)>,
    /// The route of each link.
    pub(super) routes: Vec<Route>,
    /// Total width.
    pub(super) width: f64,
    /// Total height.
    pub(super) height: f64,
}

/// A position in a row: a box, a label, or a waypoint of a line.
#[derive(Clone, Copy, Debug)]
struct Spot {
    row: usize,
    extent: Extent,
    height: f64,
    is_words: bool,
}

/// The spots of a drawing and the routes over them.
struct Spots {
    all: Vec<Spot>,
    rows: usize,
    near: Neighbors,
    /// The pull of each link in `near.below` to be straight.
    pulls: Vec<Vec<Pull>>,
    /// By link: the spots it passes, from top to bottom, and whether it ends where another continues.
    ways: Vec<Way>,
}

#[derive(Clone, Debug, Default)]
struct Way {
    spots: Vec<usize>,
    joins: bool,
    /// The spot of its label, if this link has it.
    words: Option<usize>,
}

/// Places boxes and routes links.
pub(super) fn lay_out(sizes: &[Size], roles: &[Role], links: &[Link]) -> Layout {
    if sizes.is_empty() {
        return Layout::default();
    }
    let ends: Vec<(usize, usize)> = links.iter().map(|link| (link.from, link.to)).collect();
    let turned = rank::turned(sizes.len(), &ends);
    let forward: Vec<(usize, usize)> = ends
        .iter()
        .zip(&turned)
        .map(|((from, to), turned)| if *turned { (*to, *from) } else { (*from, *to) })
        .collect();
    // Boxes that only side links lead to are at the end, out of the way.
    let mut aside = vec![true; sizes.len()];
    for ((_, to), link) in forward.iter().zip(links) {
        aside[*to] &= link.class > 0;
    }
    let layers = rank::layers(sizes.len(), &forward, |each| aside[each]);
    let spots = spots(sizes, roles, links, (&forward, &turned), &layers);
    let mut rows = first_order(&spots);
    order::order(&mut rows, &spots.near);
    let extents: Vec<Extent> = spots.all.iter().map(|spot| spot.extent).collect();
    let xs = place::place(&rows, &spots.near, &spots.pulls, &extents);
    route::route(&spots, &rows, &xs, (sizes, links), (&forward, &turned))
}

/// Creates spots for boxes, labels and waypoints, and links each to the spots in adjacent rows.
fn spots(
    sizes: &[Size],
    roles: &[Role],
    links: &[Link],
    (forward, turned): (&[(usize, usize)], &[bool]),
    layers: &[usize],
) -> Spots {
    // A label comes after the source of its link; a shared one, before the box where the routes meet.
    let words_after = |index: usize| {
        let (from, to) = forward[index];
        let first = (links[index].class > 0) == turned[index];
        if first { layers[from] } else { layers[to] - 1 }
    };
    let labelled = links.iter().enumerate().filter(|(_, link)| link.words.is_some());
    let labelled = labelled.filter(|(index, _)| forward[*index].0 != forward[*index].1);
    let (row_of, rows) = rows(layers, labelled.map(|(index, _)| words_after(index)));

    let mut all: Vec<Spot> = sizes
        .iter()
        .zip(layers)
        .map(|(size, layer)| Spot {
            row: row_of[*layer],
            extent: Extent { left: size.width / 2.0, right: size.width / 2.0 },
            height: size.height,
            is_words: false,
        })
        .collect();
    // Whether many long links lead to a box.
    let mut long = vec![0_usize; sizes.len()];
    for (index, (from, to)) in forward.iter().enumerate() {
        let is_long = layers[*to] > layers[*from] + 1;
        long[*to] += usize::from(is_long && links[index].class == 0);
    }
    let on_way = on_way(sizes.len(), links, forward);
    let mut shared: HashMap<(usize, usize, u8), usize> = HashMap::new();
    let mut ways: Vec<Way> = Vec::with_capacity(links.len());
    // Upper spot, lower spot, pull, and the link.
    let mut steps: Vec<(usize, usize, Pull, usize)> = Vec::new();
    for (index, link) in links.iter().enumerate() {
        let (from, to) = forward[index];
        let mut way = Way::default();
        if from == to {
            ways.push(way);
            continue;
        }
        let words_row = link.words.map(|_| row_of[words_after(index)] + 1);
        let aside = link.class > 0;
        let shares = !turned[index] && (aside || long[to] > HUB);
        let is_long = layers[to] > layers[from] + 1;
        let pull = match () {
            () if aside => 0,
            () if !on_way[from] && on_way[to] => 1,
            () if roles[from] == Role::Choice && roles[to] != Role::Gate && is_long => 1,
            () => 2,
        };
        let mut before = from;
        let mut cut = false;
        for row in all[from].row + 1..all[to].row {
            if all.len() - sizes.len() >= WAYPOINT_LIMIT {
                cut = true;
                break;
            }
            let is_words = words_row == Some(row);
            let new = all.len();
            // A label that is not shared has a spot of its own.
            let key = (to, row, link.class);
            let spot = match shares && (aside || !is_words) {
                true => *shared.entry(key).or_insert(new),
                false => new,
            };
            if spot == new {
                let size = link.words.filter(|_| is_words).unwrap_or_default();
                let half = f64::max(size.width / 2.0, LANE);
                let extent = Extent { left: half, right: half };
                all.push(Spot { row, extent, height: size.height, is_words });
                if is_words {
                    way.words = Some(spot);
                }
            }
            // Main routes have priority in being straight; a side route has priority over the links that lead to it.
            let pull = match (before >= sizes.len(), aside) {
                (false, _) => pull,
                (true, false) => 3,
                (true, true) => 1,
            };
            steps.push((before, spot, pull, index));
            way.spots.push(spot);
            before = spot;
            if spot != new && !link.whole {
                // The rest of the route is already that of another link.
                way.joins = true;
                break;
            }
        }
        if !way.joins && !cut {
            steps.push((before, to, pull, index));
        }
        ways.push(way);
    }
    let (near, pulls) = neighbors(all.len(), links, steps);
    Spots { all, rows, near, pulls, ways }
}

/// The row of each layer, and the number of rows: a layer after which labels come is followed by a row for them.
fn rows(layers: &[usize], words_after: impl Iterator<Item = usize>) -> (Vec<usize>, usize) {
    let count = 1 + layers.iter().copied().max().unwrap_or(0);
    let mut has_words = vec![false; count];
    for layer in words_after {
        has_words[layer] = true;
    }
    let mut row_of = Vec::with_capacity(count);
    let mut rows = 0;
    for has_words in &has_words {
        row_of.push(rows);
        rows += 1 + usize::from(*has_words);
    }
    (row_of, rows)
}

/// Which spots are above and below which, from left to right, and how strongly each pulls those below it. A step is an
/// upper spot, a lower one, the pull, and the link.
fn neighbors(
    count: usize,
    links: &[Link],
    mut steps: Vec<(usize, usize, Pull, usize)>,
) -> (Neighbors, Vec<Vec<Pull>>) {
    steps.sort_by_key(|(upper, lower, pull, index)| (*upper, *lower, u8::MAX - *pull, *index));
    steps.dedup_by_key(|(upper, lower, ..)| (*upper, *lower));
    // Side links come last, and so to the right.
    steps.sort_by_key(|(upper, _, _, index)| (*upper, links[*index].class, *index));
    let mut near = Neighbors { above: vec![Vec::new(); count], below: vec![Vec::new(); count] };
    let mut pulls = vec![Vec::new(); count];
    for (upper, lower, pull, _) in steps {
        near.below[upper].push(lower);
        near.above[lower].push(upper);
        pulls[upper].push(pull);
    }
    (near, pulls)
}

/// Whether each box is reachable by main links, and not only by side links.
fn on_way(count: usize, links: &[Link], forward: &[(usize, usize)]) -> Vec<bool> {
    let mut exits: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut on_way = vec![true; count];
    for (link, (from, to)) in links.iter().zip(forward).filter(|(_, (from, to))| from != to) {
        on_way[*to] = false;
        if link.class == 0 {
            exits[*from].push(*to);
        }
    }
    let mut open: Vec<usize> = (0..count).filter(|each| on_way[*each]).collect();
    while let Some(at) = open.pop() {
        for to in &exits[at] {
            if !std::mem::replace(&mut on_way[*to], true) {
                open.push(*to);
            }
        }
    }
    on_way
}

/// Visits every spot once, depth first from the top, so that neighbors end up near each other.
fn first_order(spots: &Spots) -> Vec<Vec<usize>> {
    let near = &spots.near;
    let count = spots.all.len();
    let mut seen = vec![false; count];
    let mut rows = vec![Vec::new(); spots.rows];
    let roots = (0..count).filter(|spot| near.above[*spot].is_empty()).chain(0..count);
    for root in roots.collect::<Vec<_>>() {
        let mut open = vec![root];
        while let Some(spot) = open.pop() {
            if std::mem::replace(&mut seen[spot], true) {
                continue;
            }
            rows[spots.all[spot].row].push(spot);
            open.extend(near.below[spot].iter().rev().filter(|next| !seen[**next]));
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxes(count: usize) -> (Vec<Size>, Vec<Role>) {
        (vec![Size { width: 60.0, height: 30.0 }; count], vec![Role::Step; count])
    }

    fn link(from: usize, to: usize) -> Link {
        Link { from, to, ..Link::default() }
    }

    #[test]
    fn boxes_keep_their_distance_and_links_go_down() {
        // A fork with three paths and its join, a shared end, and a link back.
        let links =
            [(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 4), (4, 5), (0, 5), (4, 0), (2, 2)];
        let mut links = links.map(|(from, to)| link(from, to));
        links[1].words = Some(Size { width: 80.0, height: 12.0 });
        let (sizes, roles) = boxes(6);
        let layout = lay_out(&sizes, &roles, &links);
        for (a, one) in layout.centers.iter().enumerate() {
            for other in &layout.centers[a + 1..] {
                let apart = (one.0 - other.0).abs() >= 60.0 || (one.1 - other.1).abs() >= 30.0;
                assert!(apart, "{:?}", layout.centers);
            }
        }
        assert!(layout.centers[0].1 < layout.centers[1].1);
        assert!(layout.centers[4].1 < layout.centers[5].1);
        let back: Vec<_> = layout.routes[8].pieces.iter().flatten().collect();
        assert!(back.first().unwrap().1 > back.last().unwrap().1);
        for (x, y) in layout.routes.iter().flat_map(|route| &route.pieces).flatten() {
            assert!((0.0..=layout.width).contains(x) && (0.0..=layout.height).contains(y));
        }
        // The label interrupts the line.
        let (route, (x, y)) = (&layout.routes[1], layout.routes[1].words.unwrap());
        assert_eq!(route.pieces.len(), 2);
        assert!(route.pieces[0].last().unwrap().1 <= y - 6.0);
        assert!(route.pieces[1].first().unwrap().1 >= y + 6.0);
        assert_eq!(route.pieces[1].first().unwrap().0, x);
    }

    #[test]
    fn links_aside_share_their_way_and_their_words() {
        // A chain of five boxes with one common side target.
        let mut links: Vec<Link> = (0..4).map(|at| link(at, at + 1)).collect();
        let words = Some(Size { width: 30.0, height: 12.0 });
        links.extend((0..4).map(|at| Link { words, class: 1, ..link(at, 5) }));
        let (sizes, roles) = boxes(6);
        let layout = lay_out(&sizes, &roles, &links);
        assert!(layout.centers[..5].windows(2).all(|pair| pair[0].0 == pair[1].0));
        let told = layout.routes.iter().filter(|route| route.words.is_some());
        assert_eq!(told.count(), 1);
        assert_eq!(layout.routes.iter().filter(|route| route.joins).count(), 3);
    }

    #[test]
    fn a_long_chain_with_one_way_out_is_no_trouble() {
        let count = 10_000;
        let mut links: Vec<Link> = (0..count - 2).map(|at| link(at, at + 1)).collect();
        links.extend((0..count - 2).map(|at| link(at, count - 1)));
        let (sizes, roles) = boxes(count);
        let layout = lay_out(&sizes, &roles, &links);
        assert_eq!(layout.routes.len(), links.len());
    }

    #[test]
    fn what_is_made_to_be_hard_ends_too() {
        // Every box leads to many far below it, and everything crosses.
        let count = 1_200;
        let mut links = Vec::new();
        for at in 0..count - 1 {
            links.push(link(at, at + 1));
            links.extend([7, 301, 703].iter().map(|far| link(at, (at * far + far) % count)));
        }
        let (sizes, roles) = boxes(count);
        let layout = lay_out(&sizes, &roles, &links);
        assert_eq!(layout.routes.len(), links.len());
    }
}
