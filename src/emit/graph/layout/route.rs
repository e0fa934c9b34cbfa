//! Routes the lines.
//!
//! Takes spots with their positions; returns the layout. A line leaves its box at the bottom, goes straight down to
//! the end of the row, bends only between two rows, passes each row in its spot there, and so crosses no box and no
//! label. Rows are further apart where lines go far to the side.

use super::place::GAP;
use super::{Layout, Link, Route, Size, Spots};

/// Distances between two rows of boxes, between a row of boxes and the labels below, and between labels and the boxes
/// below.
const APART: f64 = 36.0;
const BEFORE_WORDS: f64 = 16.0;
const BEHIND_WORDS: f64 = 24.0;
/// Maximum growth of the distance between two rows for lines that go far to the side.
const MOST_SLOPE: f64 = 44.0;

/// Routes all links through their spots.
pub(super) fn route(
    spots: &Spots,
    rows: &[Vec<usize>],
    xs: &[f64],
    (sizes, links): (&[Size], &[Link]),
    (forward, turned): (&[(usize, usize)], &[bool]),
) -> Layout {
    let (tops, heights) = heights(spots, rows, xs);
    let left = spots.all.iter().zip(xs).map(|(spot, x)| x - spot.extent.left);
    let left = left.fold(f64::INFINITY, f64::min);
    let right = spots.all.iter().zip(xs).map(|(spot, x)| x + spot.extent.right);
    let mut right = right.fold(f64::NEG_INFINITY, f64::max);
    let center = |spot: usize| {
        let row = spots.all[spot].row;
        (xs[spot] - left, tops[row] + heights[row] / 2.0)
    };
    // Side links leave and enter a box beside its main links.
    let mut leads_on = vec![false; sizes.len()];
    let mut is_led_to = vec![false; sizes.len()];
    for ((from, to), _) in forward.iter().zip(links).filter(|(_, link)| link.class == 0) {
        leads_on[*from] = true;
        is_led_to[*to] = true;
    }
    let port = |this: usize, next: usize, beside: bool| {
        let (x, other) = (center(this).0, center(next).0);
        let reach = sizes[this].width / 4.0;
        if beside { x + (other - x).clamp(-reach, reach) } else { x }
    };
    let mut routes = Vec::with_capacity(links.len());
    for (index, link) in links.iter().enumerate() {
        let (from, to) = forward[index];
        let (size, (x, y)) = (sizes[from], center(from));
        if from == to {
            // Leaves at the side and returns there.
            let edge = x + size.width / 2.0;
            let (out, half) = (edge + GAP / 2.0, size.height / 4.0);
            right = f64::max(right, out + left);
            let piece = vec![(edge, y - half), (out, y - half), (out, y + half), (edge, y + half)];
            routes.push(Route { pieces: vec![piece], ..Route::default() });
            continue;
        }
        let way = &spots.ways[index];
        let next = way.spots.first().copied().unwrap_or(to);
        let x = port(from, next, link.class > 0 && leads_on[from]);
        let row = spots.all[from].row;
        let mut pieces = Vec::new();
        let mut piece = vec![(x, y + size.height / 2.0), (x, tops[row] + heights[row])];
        let mut words = None;
        for spot in &way.spots {
            let row = spots.all[*spot].row;
            let (x, y) = center(*spot);
            piece.push((x, tops[row]));
            if spots.all[*spot].is_words {
                let half = spots.all[*spot].height / 2.0;
                piece.push((x, y - half));
                pieces.push(std::mem::take(&mut piece));
                piece.push((x, y + half));
                if way.words == Some(*spot) {
                    words = Some((x, y));
                }
            }
            piece.push((x, tops[row] + heights[row]));
        }
        if way.joins {
            // The line ends where the other link continues.
            let ends_in_words = way.spots.last().is_some_and(|spot| spots.all[*spot].is_words);
            piece.truncate(if ends_in_words { 0 } else { piece.len() - 1 });
        } else {
            let before = way.spots.last().copied().unwrap_or(from);
            let x = port(to, before, link.class > 0 && is_led_to[to]);
            let (_, y) = center(to);
            piece.push((x, tops[spots.all[to].row]));
            piece.push((x, y - sizes[to].height / 2.0));
        }
        pieces.push(piece);
        pieces.retain(|piece| piece.len() > 1);
        if turned[index] {
            pieces.reverse();
            pieces.iter_mut().for_each(|piece| piece.reverse());
        }
        // A reversed link ends at the box where it began.
        routes.push(Route { pieces, words, joins: way.joins && !turned[index] });
    }
    let height = tops.last().zip(heights.last()).map_or(0.0, |(top, height)| top + height);
    Layout { centers: (0..sizes.len()).map(center).collect(), routes, width: right - left, height }
}

/// The top and height of each row.
fn heights(spots: &Spots, rows: &[Vec<usize>], xs: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let mut tops = Vec::with_capacity(rows.len());
    let mut heights = Vec::with_capacity(rows.len());
    let is_words = |row: &[usize]| row.iter().any(|spot| spots.all[*spot].is_words);
    let mut y = 0.0;
    for (index, row) in rows.iter().enumerate() {
        let height = row.iter().map(|spot| spots.all[*spot].height).fold(0.0, f64::max);
        tops.push(y);
        heights.push(height);
        let apart = match rows.get(index + 1) {
            Some(next) if is_words(next) => BEFORE_WORDS,
            _ if is_words(row) => BEHIND_WORDS,
            _ => APART,
        };
        let ways = row.iter().flat_map(|spot| {
            spots.near.below[*spot].iter().map(|next| (xs[*spot] - xs[*next]).abs())
        });
        let widest = ways.fold(0.0, f64::max);
        y += height + apart + (widest / 10.0 - apart).clamp(0.0, MOST_SLOPE);
    }
    (tops, heights)
}
