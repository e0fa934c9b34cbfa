//! The order of an element's children: a particle as written in the schema, and the automaton built from it.
//!
//! The automaton is small (at most some thirty states) and deterministic, as XML Schema requires. Besides "is this
//! allowed here" it knows when the server counts instead of listing: a child that must occur twice or more gives a
//! different error once it has occurred at all.

use foldhash::{HashMap, HashMapExt};
use std::sync::OnceLock;

use super::Child;

/// How often something may occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occurs {
    /// At least.
    pub min: u16,
    /// At most; none: any number.
    pub max: Option<u16>,
}

impl Occurs {
    /// Exactly once.
    pub(crate) const ONCE: Occurs = Occurs { min: 1, max: Some(1) };

    /// Whether more than one is allowed.
    pub fn repeats(self) -> bool {
        self.max.is_none_or(|max| max > 1)
    }
}

/// A part of a content model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Particle {
    /// A child, by its place in [`Model::children`].
    Child(u16, Occurs),
    /// Any element of some namespaces, by its place in [`Model::wildcards`].
    Wildcard(u16, Occurs),
    /// One after the other.
    Sequence(Vec<Particle>, Occurs),
    /// One of them.
    Choice(Vec<Particle>, Occurs),
}

impl Particle {
    /// How often it may occur.
    pub fn occurs(&self) -> Occurs {
        match self {
            Particle::Child(_, occurs)
            | Particle::Wildcard(_, occurs)
            | Particle::Sequence(_, occurs)
            | Particle::Choice(_, occurs) => *occurs,
        }
    }

    /// Whether nothing at all satisfies it.
    pub(crate) fn optional(&self) -> bool {
        self.occurs().min == 0
            || match self {
                Particle::Child(..) | Particle::Wildcard(..) => false,
                Particle::Sequence(parts, _) => parts.iter().all(Particle::optional),
                Particle::Choice(parts, _) => parts.iter().any(Particle::optional),
            }
    }

    /// Whether the server keeps counts instead of unrolling: only where every group occurs once, or holds a single
    /// child that does.
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
    /// Any.
    Any,
    /// Any but the schema's own, and not none.
    Other,
    /// These.
    These(Vec<Box<str>>),
}

impl Namespaces {
    /// Whether an element of `namespace` may stand in a document of the schema `own`.
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
    /// All children, each once, in the order of the schema.
    pub children: Vec<Child>,
    /// All wildcards.
    pub wildcards: Vec<Namespaces>,
    /// The model as the schema writes it.
    pub particle: Particle,
    /// Made when first asked for: most models of a schema are in no document.
    states: OnceLock<Vec<StateRow>>,
}

/// Where the automaton stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct State(u16);

/// What a step was taken on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Symbol {
    /// A child, by its place in [`Model::children`].
    Child(u16),
    /// A wildcard, by its place in [`Model::wildcards`].
    Wildcard(u16),
}

/// A child that has occurred, but not often enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// Which.
    pub(crate) symbol: Symbol,
    /// How often it must occur.
    pub min: u16,
    /// How many more are needed.
    pub missing: u16,
}

#[derive(Clone, Debug)]
struct StateRow {
    edges: Vec<(Symbol, State)>,
    end: bool,
    shortage: Option<Shortage>,
}

impl Model {
    /// Makes the automaton of a particle; nothing where it would be larger than any that somebody has written for people.
    pub fn new(
        children: Vec<Child>,
        wildcards: Vec<Namespaces>,
        particle: Particle,
    ) -> Option<Model> {
        let countable = children.len().max(wildcards.len()) < usize::from(u16::MAX);
        let states = Builder::default().build(&particle).filter(|_| countable)?;
        Some(Model { children, wildcards, particle, states: states.into() })
    }

    /// The same of a table that ankus brings, none of which is too large.
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

    /// The child called `name`.
    pub fn child(&self, name: &str) -> Option<&Child> {
        self.children.iter().find(|child| &*child.name == name)
    }

    /// Where an element of this name leads from `state`, in a schema whose namespace is `own`.
    pub fn step(
        &self,
        state: State,
        own: &str,
        namespace: &str,
        name: &str,
    ) -> Option<(Symbol, State)> {
        let ours = namespace == own;
        let row = self.row(state);
        row.edges.iter().copied().find(|(symbol, _)| match symbol {
            Symbol::Child(at) => ours && &*self.children[*at as usize].name == name,
            Symbol::Wildcard(at) => self.wildcards[*at as usize].accept(own, namespace),
        })
    }

    /// Whether the element may end here.
    pub(crate) fn may_end(&self, state: State) -> bool {
        self.row(state).end
    }

    /// The child that must occur more often before anything else may come.
    pub(crate) fn shortage(&self, state: State) -> Option<Shortage> {
        self.row(state).shortage
    }

    /// What may come here.
    pub fn expected(&self, state: State) -> impl Iterator<Item = Symbol> {
        self.row(state).edges.iter().map(|(symbol, _)| *symbol)
    }
}

/// How often something with limits is written out; no schema of Oozie's asks for more than two.
const UNROLL_LIMIT: u16 = 64;

/// What the automaton of a model may take, in positions and states that are put one behind the other: repetitions within
/// repetitions, and choices that repeat, make large ones of short schemas. Oozie's own take some hundreds.
const MOST_WORK: usize = 2_000_000;
/// How many states it may have.
const MOST_STATES: usize = 5_000;

/// Positions of the particle (Glushkov), then their sets as states.
#[derive(Default)]
struct Builder {
    symbols: Vec<Symbol>,
    shortages: Vec<Option<Shortage>>,
    follow: Vec<Vec<usize>>,
    counting: bool,
    work: usize,
}

/// First and last positions of a piece, and whether it may be empty.
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

    /// Recursion is over the schema's own nesting, which no document reaches.
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
