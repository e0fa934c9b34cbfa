//! The rows of a run, by node.
//!
//! A node is looked up by its index without comparisons, iteration is in the order of nodes, and a run stores only
//! nodes that it has visited: a definition may have a hundred thousand nodes of which a job reaches ten.

use std::ops::Index;

use super::Row;
use crate::plan::NodeIndex;

/// Number of nodes per page.
const PAGE: usize = 32;

type Page = [Option<Box<Row>>; PAGE];

/// The rows of a run.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    pages: Vec<Option<Box<Page>>>,
    length: usize,
}

impl Rows {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns the row of a node.
    #[inline]
    pub fn get(&self, node: &NodeIndex) -> Option<&Row> {
        let at = *node as usize;
        self.pages.get(at / PAGE)?.as_ref()?[at % PAGE].as_deref()
    }

    /// Returns the row of a node for modification.
    #[inline]
    pub fn get_mut(&mut self, node: &NodeIndex) -> Option<&mut Row> {
        let at = *node as usize;
        self.pages.get_mut(at / PAGE)?.as_mut()?[at % PAGE].as_deref_mut()
    }

    /// Inserts a row and returns the one it replaces.
    pub fn insert(&mut self, node: NodeIndex, row: Row) -> Option<Row> {
        let at = node as usize;
        if self.pages.len() <= at / PAGE {
            self.pages.resize_with(at / PAGE + 1, || None);
        }
        let page = self.pages[at / PAGE].get_or_insert_with(Box::default);
        let before = page[at % PAGE].replace(Box::new(row));
        self.length += usize::from(before.is_none());
        before.map(|row| *row)
    }

    /// Iterates over rows with their nodes, in the order of nodes.
    pub fn iter(&self) -> impl Iterator<Item = (NodeIndex, &Row)> {
        let pages = self.pages.iter().enumerate();
        pages.filter_map(|(at, page)| Some((at, page.as_ref()?))).flat_map(|(at, page)| {
            page.iter().enumerate().filter_map(move |(within, row)| {
                Some(((at * PAGE + within) as NodeIndex, row.as_deref()?))
            })
        })
    }

    /// Iterates over the nodes, in order.
    pub fn keys(&self) -> impl Iterator<Item = NodeIndex> {
        self.iter().map(|(node, _)| node)
    }

    /// Iterates over the rows, in the order of nodes.
    pub fn values(&self) -> impl Iterator<Item = &Row> {
        self.iter().map(|(_, row)| row)
    }

    /// Removes all rows and iterates over them, in the order of nodes.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = (NodeIndex, Row)> + use<> {
        self.length = 0;
        let pages = std::mem::take(&mut self.pages).into_iter().enumerate();
        pages.filter_map(|(at, page)| Some((at, page?))).flat_map(|(at, page)| {
            page.into_iter()
                .enumerate()
                .filter_map(move |(within, row)| Some(((at * PAGE + within) as NodeIndex, *row?)))
        })
    }
}

impl Index<&NodeIndex> for Rows {
    type Output = Row;

    #[inline]
    fn index(&self, node: &NodeIndex) -> &Row {
        self.get(node).expect("only nodes with a row are looked up")
    }
}

impl FromIterator<(NodeIndex, Row)> for Rows {
    fn from_iter<I: IntoIterator<Item = (NodeIndex, Row)>>(rows: I) -> Rows {
        let mut all = Rows::default();
        for (node, row) in rows {
            all.insert(node, row);
        }
        all
    }
}
