//! Content models: a particle as written in the schema, and the automaton built from it.
//!
//! The automaton is small (at most some thirty states) and deterministic, as XML Schema requires. Apart from deciding
//! which element is allowed next, it reproduces where the server counts occurrences: a child that must occur twice or
//! more causes a different error once it has occurred at all.

use foldhash::{HashMap, HashMapExt};
use std::sync::OnceLock;

use super::Child;

/// Number of allowed occurrences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occurs {
    /// Minimum.
    pub min: u16,
    /// Maximum; `None` if unbounded.
    pub max: Option<u16>,
}

impl Occurs {
    /// Exactly once.
    pub(crate) const ONCE: Occurs = Occurs { min: 1, max: Some(1) };

    /// Whether more than one occurrence is allowed.
    pub fn repeats(self) -> bool {
        self.max.is_none_or(|max| max > 1)
    }
}

/// A part of a content model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Particle {
    /// A child, by its index in [`Model::children`].
    Child(u16, Occurs),
    /// Any element of some namespaces, by index in [`Model::wildcards`].
    Wildcard(u16, Occurs),
    /// All of them, in order.
    Sequence(Vec<Particle>, Occurs),
    /// One of them.
    Choice(Vec<Particle>, Occurs),
}

impl Particle {
    /// The number of allowed occurrences.
    pub fn occurs(&self) -> Occurs {
        match self {
            Particle::Child(_, occurs)
            | Particle::Wildcard(_, occurs)
            | Particle::Sequence(_, occurs)
            | Particle::Choice(_, occurs) => *occurs,
        }
    }

    /// Whether the particle matches empty content.
    pub(crate) fn optional(&self) -> bool {
        self.occurs().min == 0
            || match self {
                Particle::Child(..) | Particle::Wildcard(..) => false,
                Particle::Sequence(parts, _) => parts.iter().all(Particle::optional),
                Particle::Choice(parts, _) => parts.iter().any(Particle::optional),
            }
    }

    /// Whether the server counts occurrences instead of unrolling them, which it does only if every group occurs once,
    /// or contains a single child that does.
    fn counts(&self) -> bool {
        match self {
            Particle::Child(..) | Particle::Wildcard(..) => true,
            Particle::Sequence(parts, occurs) | Particle::Choice(parts, occurs) => {
                if *occurs == Occurs::ONCE {
                    return parts.iter().all(Particle::counts);
                }
                match parts.as_slice() {
                    [] => true,
                    [part @ (Particle::Child(..) | Particle::Wildcard(..))] => {
                        part.occurs() == Occurs::ONCE
                    }
                    _ => false,
                }
            }
        }
    }
}

/// The namespaces of a wildcard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Namespaces {
    /// Any namespace.
    Any,
    /// Any namespace but the schema's own, and not the empty one.
    Other,
    /// The listed namespaces.
    These(Vec<Box<str>>),
}

impl Namespaces {
    /// Whether an element of `namespace` matches in a document of the schema `own`.
    pub fn accept(&self, own: &str, namespace: &str) -> bool {
        match self {
            Namespaces::Any => true,
            Namespaces::Other => !namespace.is_empty() && namespace != own,
            Namespaces::These(list) => list.iter().any(|uri| &**uri == namespace),
        }
    }
}

/// A content model.
#[derive(Clone, Debug)]
pub struct Model {
    /// All children, each once, in schema order.
    pub children: Vec<Child>,
    /// All wildcards.
    pub wildcards: Vec<Namespaces>,
    /// The particle as written in the schema.
    pub particle: Particle,
    /// The automaton, built on first use: most models of a schema do not occur in a document.
    states: OnceLock<Vec<StateRow>>,
}

/// A state of the automaton.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct State(u16);

/// The input symbol of a transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Symbol {
    /// A child, by its index in [`Model::children`].
    Child(u16),
    /// A wildcard, by its index in [`Model::wildcards`].
    Wildcard(u16),
}

/// A child that has occurred, but fewer times than required.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// The child or wildcard.
    pub(crate) symbol: Symbol,
    /// Minimum number of occurrences.
    pub min: u16,
    /// Number of missing occurrences.
    pub missing: u16,
}

#[derive(Clone, Debug)]
struct StateRow {
    edges: Vec<(Symbol, State)>,
    end: bool,
    shortage: Option<Shortage>,
}

impl Model {
    /// Builds the automaton of a particle; `None` if it would be larger than any reasonable schema needs.
    pub fn new(
        children: Vec<Child>,
        wildcards: Vec<Namespaces>,
        particle: Particle,
    ) -> Option<Model> {
        let countable = children.len().max(wildcards.len()) < usize::from(u16::MAX);
        let states = Builder::default().build(&particle).filter(|_| countable)?;
        Some(Model { children, wildcards, particle, states: states.into() })
    }

    /// Creates the model of a built-in table, none of which is too large.
    pub(super) fn of_table(
        children: Vec<Child>,
        wildcards: Vec<Namespaces>,
        particle: Particle,
    ) -> Model {
        Model { children, wildcards, particle, states: OnceLock::new() }
    }

    fn row(&self, state: State) -> &StateRow {
        let build = || Builder::default().build(&self.particle);
        let states =
            self.states.get_or_init(|| build().expect("models of the language's tables are small"));
        &states[state.0 as usize]
    }

    /// The child with this name.
    pub fn child(&self, name: &str) -> Option<&Child> {
        self.children.iter().find(|child| &*child.name == name)
    }

    /// The next state after an element with this name, in a schema whose namespace is `own`.
    pub fn step(
        &self,
        state: State,
        own: &str,
        namespace: &str,
        name: &str,
    ) -> Option<(Symbol, State)> {
        self.step_in(state, namespace == own, own, namespace, name)
    }

    /// Does the same if it is known whether the namespace is the schema's own.
    pub(crate) fn step_in(
        &self,
        state: State,
        ours: bool,
        own: &str,
        namespace: &str,
        name: &str,
    ) -> Option<(Symbol, State)> {
        let row = self.row(state);
        row.edges.iter().copied().find(|(symbol, _)| match symbol {
            Symbol::Child(at) => ours && &*self.children[*at as usize].name == name,
            Symbol::Wildcard(at) => self.wildcards[*at as usize].accept(own, namespace),
        })
    }

    /// Whether the element may end in this state.
    pub(crate) fn may_end(&self, state: State) -> bool {
        self.row(state).end
    }

    /// The child that must occur more often before any other is allowed.
    pub(crate) fn shortage(&self, state: State) -> Option<Shortage> {
        self.row(state).shortage
    }

    /// The symbols allowed in this state.
    pub fn expected(&self, state: State) -> impl Iterator<Item = Symbol> {
        self.row(state).edges.iter().map(|(symbol, _)| *symbol)
    }
}

/// Maximum number of occurrences that are unrolled; no schema of Oozie's requires more than two.
const UNROLL_LIMIT: u16 = 64;

/// Maximum work for building an automaton, in positions and states that are connected: nested repetitions and repeated
/// choices make large automata from short schemas. Those of Oozie need some hundreds.
const MOST_WORK: usize = 2_000_000;
/// Maximum number of states.
const MOST_STATES: usize = 5_000;

/// Builds the positions of the particle (Glushkov construction), then states as sets of positions.
#[derive(Default)]
struct Builder {
    symbols: Vec<Symbol>,
    shortages: Vec<Option<Shortage>>,
    follow: Vec<Vec<usize>>,
    counting: bool,
    work: usize,
}

/// First and last positions of a part of the particle, and whether it can be empty.
struct Piece {
    empty: bool,
    first: Vec<usize>,
    last: Vec<usize>,
}

impl Builder {
    fn build(mut self, particle: &Particle) -> Option<Vec<StateRow>> {
        self.counting = particle.counts();
        let piece = self.piece(particle);
        let mut last = vec![false; self.symbols.len()];
        piece.last.iter().for_each(|position| last[*position] = true);
        let mut sets: Vec<Vec<usize>> = vec![Vec::new()];
        let mut known: HashMap<Vec<usize>, u16> = HashMap::new();
        let mut rows: Vec<StateRow> = Vec::new();
        while rows.len() < sets.len() {
            let at = rows.len();
            let set = sets[at].clone();
            self.work += set.iter().map(|position| self.follow[*position].len()).sum::<usize>();
            if self.work > MOST_WORK || sets.len() > MOST_STATES {
                return None;
            }
            let mut next: Vec<usize> = match at {
                0 => piece.first.clone(),
                _ => set.iter().flat_map(|position| self.follow[*position].clone()).collect(),
            };
            next.sort_unstable();
            next.dedup();
            let mut edges: Vec<(Symbol, Vec<usize>)> = Vec::new();
            let mut places: HashMap<Symbol, usize> = HashMap::new();
            for position in next {
                let symbol = self.symbols[position];
                let place = *places.entry(symbol).or_insert(edges.len());
                match edges.get_mut(place) {
                    Some((_, positions)) => positions.push(position),
                    None => edges.push((symbol, vec![position])),
                }
            }
            let edges = edges
                .into_iter()
                .map(|(symbol, positions)| {
                    let state = known.get(&positions).copied().unwrap_or_else(|| {
                        known.insert(positions.clone(), sets.len() as u16);
                        sets.push(positions);
                        sets.len() as u16 - 1
                    });
                    (symbol, State(state))
                })
                .collect();
            let end = match at {
                0 => piece.empty,
                _ => set.iter().any(|position| last[*position]),
            };
            let shortage = match set.as_slice() {
                [position] => self.shortages[*position],
                _ => None,
            };
            rows.push(StateRow { edges, end, shortage });
        }
        Some(rows)
    }

    fn leaf(&mut self, symbol: Symbol, shortage: Option<Shortage>) -> Piece {
        self.work += 1;
        self.symbols.push(symbol);
        self.shortages.push(shortage);
        self.follow.push(Vec::new());
        let at = self.symbols.len() - 1;
        Piece { empty: false, first: vec![at], last: vec![at] }
    }

    fn join(&mut self, before: Piece, after: Piece) -> Piece {
        let pieces = before.first.len() + after.first.len() + before.last.len() + after.last.len();
        self.work += before.last.len() * after.first.len() + pieces;
        for last in before.last.iter().take_while(|_| self.work <= MOST_WORK) {
            self.follow[*last].extend(&after.first);
        }
        let mut first = before.first;
        if before.empty {
            first.extend(&after.first);
        }
        let mut last = after.last;
        if after.empty {
            last.extend(&before.last);
        }
        Piece { empty: before.empty && after.empty, first, last }
    }

    /// The recursion depth is the nesting of the schema, which documents do not affect.
    fn piece(&mut self, particle: &Particle) -> Piece {
        let occurs = particle.occurs();
        let mut whole = Piece { empty: true, first: Vec::new(), last: Vec::new() };
        if self.work > MOST_WORK {
            return whole;
        }
        let min = occurs.min.min(UNROLL_LIMIT);
        let copies = match occurs.max {
            Some(max) => max.min(UNROLL_LIMIT).max(min),
            None => min.max(1),
        };
        for copy in 1..=copies {
            let mut piece = self.once(particle, copy, occurs.min);
            if copy == copies && occurs.max.is_none() {
                self.work += piece.last.len() * piece.first.len();
                for last in piece.last.iter().take_while(|_| self.work <= MOST_WORK) {
                    self.follow[*last].extend(&piece.first);
                }
            }
            if copy > min {
                piece.empty = true;
            }
            whole = self.join(whole, piece);
        }
        whole
    }

    fn once(&mut self, particle: &Particle, copy: u16, min: u16) -> Piece {
        let leaf = |symbol| {
            let missing = min.saturating_sub(copy);
            (
                symbol,
                (self.counting && min > 1 && missing > 0).then_some(Shortage {
                    symbol,
                    min,
                    missing,
                }),
            )
        };
        match particle {
            Particle::Child(at, _) => {
                let (symbol, shortage) = leaf(Symbol::Child(*at));
                self.leaf(symbol, shortage)
            }
            Particle::Wildcard(at, _) => {
                let (symbol, shortage) = leaf(Symbol::Wildcard(*at));
                self.leaf(symbol, shortage)
            }
            Particle::Sequence(parts, _) => {
                let mut whole = Piece { empty: true, first: Vec::new(), last: Vec::new() };
                for part in parts {
                    let piece = self.piece(part);
                    whole = self.join(whole, piece);
                }
                whole
            }
            Particle::Choice(parts, _) => {
                let mut whole =
                    Piece { empty: parts.is_empty(), first: Vec::new(), last: Vec::new() };
                for part in parts {
                    let piece = self.piece(part);
                    whole.empty |= piece.empty;
                    whole.first.extend(piece.first);
                    whole.last.extend(piece.last);
                }
                whole
            }
        }
    }
}
