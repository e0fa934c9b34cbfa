//! Thin helpers for the usual shapes of procedures. They are values to keep in a procedure's own state, not base
//! classes.

use serde::{Deserialize, Serialize};

use super::{Context, Failure, New, Procedure, Step};

/// The path of a state machine: which states it has visited, in order. Keep it in the procedure's state.
///
/// ```
/// use ankus_procedure::{Step, Visited};
///
/// let mut visited = Visited::default();
/// assert_eq!(visited.enter(0), Some(0));
/// visited.next(1);
/// assert!(matches!(visited.step(Vec::new()), Step::More));
/// assert_eq!(visited.enter(0), Some(1));
/// visited.end();
/// assert!(matches!(visited.step(Vec::new()), Step::Done));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Visited {
    states: Vec<u32>,
    ended: bool,
}

impl Visited {
    /// Returns the state to execute now, starting with `initial`; none when the machine has ended.
    pub fn enter(&mut self, initial: u32) -> Option<u32> {
        if self.ended {
            return None;
        }
        if self.states.is_empty() {
            self.states.push(initial);
        }
        self.states.last().copied()
    }

    /// Sets the next state. Without this the same one is executed again.
    pub fn next(&mut self, state: u32) {
        self.states.push(state);
    }

    /// Ends the machine.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// Whether the machine has ended.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Returns the step to answer after a state: its children if it has some, else more, else done. A machine whose
    /// last state has children is called once more when they have succeeded; `enter` then returns none.
    pub fn step(&self, children: Vec<New>) -> Step {
        match (children.is_empty(), self.ended) {
            (false, _) => Step::Children(children),
            (true, true) => Step::Done,
            (true, false) => Step::More,
        }
    }

    /// Returns the state to undo now; the initial one if the step had entered none.
    pub fn undoing(&self, initial: u32) -> u32 {
        self.states.last().copied().unwrap_or(initial)
    }

    /// Records that the state is undone. Not to be called for one that has to be retried.
    pub fn undone(&mut self) {
        self.states.pop();
        self.ended = false;
    }
}

/// A procedure whose `execute` is called once: it only starts children, and ends when they have ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sequence {
    executed: bool,
}

impl Sequence {
    /// Runs `first` the first time; after that, the procedure is done.
    pub fn once(&mut self, first: impl FnOnce() -> Result<Step, Failure>) -> Result<Step, Failure> {
        if self.executed {
            return Ok(Step::Done);
        }
        let step = first();
        self.executed = !matches!(step, Ok(Step::Yield | Step::Suspend(_)));
        step
    }

    /// Whether there is anything to undo.
    pub fn has_executed(&self) -> bool {
        self.executed
    }
}

/// Creates a procedure of one step from a function and the bytes it needs. Register it with the same function:
///
/// ```
/// use ankus_procedure::{Registry, Step, one_step};
///
/// let mut registry = Registry::new();
/// registry.register("greet", |data| Ok(one_step(data, |name, context| {
///     context.set_result([b"hello ", name].concat());
///     Ok(Step::Done)
/// })));
/// ```
pub fn one_step<F>(data: &[u8], execute: F) -> impl Procedure + 'static + use<F>
where
    F: FnMut(&[u8], &mut Context<'_>) -> Result<Step, Failure> + Send + 'static,
{
    OneStep { data: data.into(), execute }
}

struct OneStep<F> {
    data: Box<[u8]>,
    execute: F,
}

impl<F: FnMut(&[u8], &mut Context<'_>) -> Result<Step, Failure> + Send> Procedure for OneStep<F> {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<Step, Failure> {
        (self.execute)(&self.data, context)
    }

    fn save(&self) -> Vec<u8> {
        self.data.to_vec()
    }
}
