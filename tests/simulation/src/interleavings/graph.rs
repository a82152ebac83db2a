//! The states of a search and what leads from one to another.

use std::collections::{BTreeMap, HashMap};

/// A state, by its place in the graph.
pub(super) type NodeNo = usize;

/// A choice at a state that was taken or is to be taken.
pub(super) type Edge = (NodeNo, usize);

/// States and choices; without cycles, because every choice is a call or a death more.
#[derive(Debug, Default)]
pub(super) struct Graph {
    nodes: Vec<Node>,
    known: HashMap<u128, NodeNo>,
}

/// A state that was reached.
#[derive(Debug)]
struct Node {
    /// The choices that led there first.
    path: Vec<usize>,
    /// Where each choice leads; `None` is not known yet.
    next: Vec<Option<NodeNo>>,
    /// How it ended, when there is no choice left.
    outcome: Option<String>,
}

impl Graph {
    /// How many states there are.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// `edge` leads to `state`, by `path`; whether it is new, with as many choices as `choices` says.
    pub(super) fn reach(
        &mut self,
        state: u128,
        edge: Option<Edge>,
        path: &[usize],
        choices: impl FnOnce() -> usize,
    ) -> (NodeNo, bool) {
        let known = self.known.get(&state).copied();
        let node = known.unwrap_or_else(|| {
            self.nodes.push(Node { path: path.to_vec(), next: vec![None; choices()], outcome: None });
            self.known.insert(state, self.nodes.len() - 1);
            self.nodes.len() - 1
        });
        if let Some((from, choice)) = edge {
            self.nodes[from].next[choice] = Some(node);
        }
        (node, known.is_none())
    }

    /// How many choices there are at `node`.
    pub(super) fn choices(&self, node: NodeNo) -> usize {
        self.nodes[node].next.len()
    }

    /// The choices that led to `node` first.
    pub(super) fn path(&self, node: NodeNo) -> Vec<usize> {
        self.nodes[node].path.clone()
    }

    /// `node` is an end.
    pub(super) fn ends(&mut self, node: NodeNo, outcome: String) {
        self.nodes[node].outcome = Some(outcome);
    }

    /// Every way it ends, each with the number of paths that lead there from the first state.
    pub(super) fn outcomes(&self) -> BTreeMap<String, u128> {
        let mut counted = vec![None; self.nodes.len()];
        if self.nodes.is_empty() { BTreeMap::new() } else { self.count(0, &mut counted) }
    }

    /// As deep as the longest schedule is long.
    fn count(&self, node: NodeNo, counted: &mut Vec<Option<BTreeMap<String, u128>>>) -> BTreeMap<String, u128> {
        if let Some(known) = &counted[node] {
            return known.clone();
        }
        let Node { next, outcome, .. } = &self.nodes[node];
        let mut paths: BTreeMap<String, u128> = outcome.iter().map(|outcome| (outcome.clone(), 1)).collect();
        for next in next.iter().flatten() {
            for (outcome, count) in self.count(*next, counted) {
                *paths.entry(outcome).or_default() += count;
            }
        }
        counted[node] = Some(paths.clone());
        paths
    }
}
