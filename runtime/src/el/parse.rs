//! The loop that drives the grammar's tables.
//!
//! In: tokens. Out: the builder's operations, or nothing but that there is a fault: then the generated parser reads the
//! text again, which knows what to say of it. It does what the generated loop does, and takes the steps of precedence (a
//! sum that is one product that is one value) and parentheses without calling anything: they only change the state.

use super::build::Builder;
use super::grammar::{self, __parse__Expression as generated};
use super::token::Lexer;

/// A symbol with its place.
type Symbol = (u32, generated::__Symbol, u32);

/// Stacks that one expression after the other can use.
#[derive(Default)]
pub(super) struct Stacks {
    states: Vec<i16>,
    symbols: Vec<Symbol>,
}

/// Where a dozen steps lead, by what they begin with: state below, nonterminal and token, with the state at their end and
/// what is to be done there. A text takes few ways, again and again.
type Way = (u32, u8, i16);
const WAYS: usize = 32;

/// There is a fault somewhere.
pub(super) struct Faulty;

/// Reads one expression.
pub(super) fn expression(
    builder: &mut Builder<'_>,
    lexer: &mut Lexer<'_>,
    stacks: &mut Stacks,
) -> Result<(), Faulty> {
    let Stacks { states, symbols } = stacks;
    states.clear();
    symbols.clear();
    if states.capacity() == 0 {
        states.reserve(32);
        symbols.reserve(32);
    }
    states.push(0);
    let mut state = 0_u8;
    let mut ways = [(u32::MAX, 0, 0); WAYS];
    loop {
        let token = lexer.next();
        let column = match &token {
            Some((_, token, _)) => {
                generated::__token_to_integer(token, std::marker::PhantomData).ok_or(Faulty)?
            }
            None => grammar::END,
        };
        let start = token.as_ref().map(|(start, ..)| *start);
        loop {
            let action = grammar::ACTION[usize::from(state)][column & 63];
            if action > 0 {
                let Some((start, token, end)) = token else { return Err(Faulty) };
                let symbol = generated::__token_to_symbol(column, token, std::marker::PhantomData);
                symbols.push((start, symbol, end));
                state = (action - 1) as u8;
                states.push(action - 1);
                break;
            }
            if action == 0 {
                return Err(Faulty);
            }
            if action >= -255 {
                let done = generated::__reduce(
                    builder,
                    !action,
                    start.as_ref(),
                    states,
                    symbols,
                    std::marker::PhantomData,
                );
                if let Some(result) = done {
                    return result.map_err(|_| Faulty);
                }
                state = states.last().copied().unwrap_or(0) as u8;
                continue;
            }
            state = silently(action, column, states, symbols, &mut ways).ok_or(Faulty)?;
        }
    }
}

/// Reduces by one production after the other that does nothing, mostly a dozen; answers the state that is on top then.
#[inline]
fn silently(
    mut action: i16,
    column: usize,
    states: &mut Vec<i16>,
    symbols: &mut Vec<Symbol>,
    ways: &mut [Way; WAYS],
) -> Option<u8> {
    loop {
        let code = (-256 - i32::from(action)) as usize;
        let surplus = (code >> 6).checked_sub(1)?;
        if surplus > 0 {
            let (_, _, end) = *symbols.last()?;
            let first = symbols.len().checked_sub(surplus + 1)?;
            symbols.truncate(first + 1);
            let (_, symbol, last) = symbols.last_mut()?;
            (*symbol, *last) = (grammar::NOTHING, end);
            states.truncate(states.len() - surplus);
        }
        let [.., below, top] = states.as_mut_slice() else { return None };
        let next;
        (next, action) = way(*below as u8, code & 63, column, ways);
        *top = i16::from(next);
        if action >= -255 {
            return Some(next);
        }
    }
}

/// The state that steps of one symbol end in, and what is to be done there.
#[inline]
fn way(below: u8, mut nonterminal: usize, column: usize, ways: &mut [Way; WAYS]) -> (u8, i16) {
    let key = (u32::from(below) << 12) | (nonterminal as u32) << 6 | column as u32;
    let known = &mut ways[(key ^ (key >> 5) ^ (key >> 11)) as usize % WAYS];
    if known.0 == key {
        return (known.1, known.2);
    }
    loop {
        let next = grammar::GOTO[nonterminal][usize::from(below)];
        let action = grammar::ACTION[usize::from(next)][column & 63];
        if !(-256 - 127..=-256 - 64).contains(&action) {
            *known = (key, next, action);
            return (next, action);
        }
        nonterminal = (-256 - 64 - i32::from(action)) as usize & 63;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::el::Dialect;

    /// Both loops over the same tables must do the same, whatever the tokens.
    #[test]
    fn both_loops_agree() {
        const TOKENS: [&str; 40] = [
            "a",
            "b ",
            "f(",
            "x:y(",
            "(",
            "(",
            ")",
            ")",
            "[",
            "]",
            "{",
            "}",
            ".",
            ",",
            ":",
            " ? ",
            ";",
            "=",
            "->",
            "+=",
            "+",
            "-",
            "*",
            "/",
            "%",
            "==",
            "!=",
            "<",
            ">=",
            " and ",
            " or ",
            " not ",
            " empty ",
            "1",
            "2.5",
            "'t'",
            "null ",
            "true ",
            " instanceof ",
            "@",
        ];
        let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = |below: usize| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % below
        };
        let mut stacks = Stacks::default();
        let mut whole = 0;
        for round in 0..60_000 {
            // Half of them alternate values and operators, so that many are expressions.
            let tokens: String = (0..random(14) + 1)
                .map(|at| match (round % 2, at % 2) {
                    (0, 0) => ["a", "1", "(a)", "f(1)", "'t'", "-b", "((c))", "[1,2]", "(x->x)(1)"]
                        [random(9)],
                    (0, _) => TOKENS[15 + random(16)],
                    _ => TOKENS[random(TOKENS.len())],
                })
                .collect();
            let text = format!("${{{tokens}}}");
            let dialect = if round % 3 == 0 { Dialect::Commons } else { Dialect::Tomcat };
            let mut ours = Builder::new(&text, dialect);
            let mut lexer = Lexer::new(&text, 2, dialect, 1_000);
            let read = expression(&mut ours, &mut lexer, &mut stacks).is_ok();
            let mut theirs = Builder::new(&text, dialect);
            let lexer = Lexer::new(&text, 2, dialect, 1_000);
            let expected = grammar::ExpressionParser::new().parse(&mut theirs, lexer).is_ok();
            assert_eq!(read, expected, "{text}");
            if read {
                whole += 1;
                assert_eq!(ours.nodes, theirs.nodes, "{text}");
                assert_eq!(ours.errors, theirs.errors, "{text}");
            }
        }
        assert!(whole > 5_000, "{whole} expressions among them");
    }
}
