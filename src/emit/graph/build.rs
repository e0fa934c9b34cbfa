//! Builds a drawing from definitions.

use super::{
    DEPTH_LIMIT, Definition, Definitions, Drawing, Edge, Fault, GROUP_LIMIT, Group, Hidden, Kind,
    Node, Options, Place, Relation, clipped, clipped_path, data, shortened,
};
use crate::analysis::Analysis;
use crate::check::{FileKind, Finding};
use crate::diag::{self, Level};
use crate::ir::Scalar;
use crate::ir::coordinator::{self, Bundle, Coordinator, DataEvent};
use crate::ir::workflow::{Action, Details, Name, Shape, Way, Workflow};
use crate::passes::flow::Flow;
use crate::source::{Source, Span};
use crate::syntax::xml::Tree;
use std::collections::{HashMap, VecDeque};

/// Maximum length of a path or a predicate in a drawing, in characters.
const WIDTH: usize = 48;
/// Maximum length of a note, in characters.
const NOTE: usize = 200;

/// A definition to be drawn.
struct Task {
    definition: Definition,
    /// The group and the node that it belongs to.
    parent: Option<(usize, usize)>,
    depth: usize,
    /// The files of the enclosing definitions: no definition is expanded inside itself.
    around: Vec<String>,
}

/// The data of a node before any run.
struct Bare {
    id: String,
    name: String,
    kind: Kind,
    detail: Option<String>,
    notes: Vec<String>,
    place: Option<Place>,
    group: usize,
    reachable: bool,
    faults: Vec<Fault>,
}

impl Bare {
    fn whole(self) -> Node {
        let Bare { id, name, kind, detail, notes, place, group, reachable, faults } = self;
        let hidden = Hidden::default();
        Node {
            id,
            name,
            kind,
            detail,
            notes,
            place,
            group,
            reachable,
            faults,
            status: None,
            hidden,
        }
    }
}

struct Builder<'o> {
    drawing: Drawing,
    options: &'o Options,
    definitions: &'o dyn Definitions,
    /// Used ids, with the number of nodes whose name each is.
    taken: HashMap<String, usize>,
    open: VecDeque<Task>,
    opened: usize,
}

/// Builds the drawing of a definition.
pub fn build(definition: &Definition, definitions: &dyn Definitions, options: &Options) -> Drawing {
    let mut builder = Builder {
        drawing: Drawing { direction: options.direction, ..Drawing::default() },
        options,
        definitions,
        taken: HashMap::new(),
        open: VecDeque::new(),
        opened: 0,
    };
    let definition = definition.clone();
    builder.open.push_back(Task { definition, parent: None, depth: 0, around: Vec::new() });
    while let Some(task) = builder.open.pop_front() {
        builder.draw(task);
    }
    builder.drawing
}

/// The findings in a text, to be assigned to the elements of a drawing.
struct Faults<'f> {
    /// Findings by the start of their span, and whether each is assigned.
    found: Vec<(&'f Finding, bool)>,
}

impl<'f> Faults<'f> {
    fn new(definition: &'f Definition) -> Faults<'f> {
        let drawn = |finding: &&Finding| {
            let structure =
                matches!(finding.diagnostic.kind.group, diag::Group::Names | diag::Group::Graph);
            let level = finding.level;
            finding.path == definition.source.path
                && (level == Level::Error || level == Level::Warning && structure)
        };
        let mut found: Vec<_> =
            definition.findings.iter().filter(drawn).map(|finding| (finding, false)).collect();
        found.sort_by_key(|(finding, _)| finding.diagnostic.span.start);
        Faults { found }
    }

    /// Assigns the findings of each transition; a run that demonstrates a fault marks all of its transitions.
    fn of_exits(&mut self, workflow: &Workflow) -> Vec<Vec<Fault>> {
        // The transitions of the run that demonstrates a fault are part of it.
        let mut runs: HashMap<(String, &str, String), Vec<Fault>> = HashMap::new();
        for (finding, _) in &self.found {
            let Some(witness) = &finding.diagnostic.witness else { continue };
            for step in witness.run.iter().filter(|_| finding.level == Level::Error) {
                let key = (step.node.clone(), step.exit, step.to.clone());
                let run = runs.entry(key).or_default();
                if !run.contains(&fault(finding)) {
                    run.push(fault(finding));
                }
            }
        }
        let mut exits: Vec<Vec<Fault>> =
            workflow.transitions().map(|exit| self.take(exit.target.span)).collect();
        for transition in workflow.transitions() {
            let from = workflow.node(transition.from).name.text.to_string();
            let key = (from, transition.way.name(), transition.target.text.to_string());
            let own = &mut exits[transition.id.index()];
            for fault in runs.get(&key).into_iter().flatten() {
                if !own.contains(fault) {
                    own.push(fault.clone());
                }
            }
        }
        exits
    }

    /// Assigns the findings within a span.
    fn take(&mut self, span: Span) -> Vec<Fault> {
        let first =
            self.found.partition_point(|(finding, _)| finding.diagnostic.span.start < span.start);
        let mut taken = Vec::new();
        for (finding, given) in &mut self.found[first..] {
            let place = finding.diagnostic.span;
            if place.start >= span.end.max(span.start + 1) {
                break;
            }
            if place.end <= span.end && !*given {
                *given = true;
                taken.push(fault(finding));
            }
        }
        taken
    }

    /// Assigns the remaining findings.
    fn rest(&mut self) -> Vec<Fault> {
        let left = self.found.iter().filter(|(_, given)| !given);
        left.map(|(finding, _)| fault(finding)).collect()
    }
}

fn fault(finding: &Finding) -> Fault {
    Fault {
        level: finding.level,
        rule: finding.diagnostic.kind.name,
        message: finding.diagnostic.message.clone(),
    }
}

impl Builder<'_> {
    fn draw(&mut self, task: Task) {
        let source = &task.definition.source;
        let analysis = Analysis::new(source.clone());
        let tree = analysis.tree();
        let name = tree.root().and_then(|root| root.attribute("name"));
        let group = self.drawing.groups.len();
        self.drawing.groups.push(Group {
            name: name.map(|name| clipped(&name.value().text, NOTE)).unwrap_or_default(),
            kind: task.definition.kind,
            path: source.path.clone(),
            parent: task.parent,
            faults: Vec::new(),
        });
        let mut faults = Faults::new(&task.definition);
        match task.definition.kind {
            FileKind::Coordinator => {
                let written = analysis.coordinator();
                let node = self.coordinator_node(written, source, group, &mut faults);
                self.around_coordinator(written, &task, source, group, node, &mut faults);
            }
            FileKind::Bundle => self.bundle(analysis.bundle(), &task, group, &mut faults),
            FileKind::Datasets => {
                for dataset in tree.root().map(coordinator::datasets_of).unwrap_or_default() {
                    self.dataset(&dataset, source, group, &mut HashMap::new(), &mut faults);
                }
            }
            _ => self.workflow(analysis.flow(), &task, group, &mut faults),
        }
        self.drawing.groups[group].faults = faults.rest();
    }

    /// Adds a node with a unique id.
    fn node(&mut self, node: Bare) -> usize {
        let mut node = node.whole();
        let prefix = match self.drawing.groups[node.group].parent {
            Some((_, parent)) => format!("{}/", self.drawing.nodes[parent].id),
            None => String::new(),
        };
        let name = if node.id.is_empty() { "(no name)" } else { &node.id };
        let plain = format!("{prefix}{}", clipped(name, NOTE));
        let mut id = plain.clone();
        while self.taken.contains_key(&id) {
            // The counter of a repeated name continues, rather than starting over.
            let count = self.taken.entry(plain.clone()).or_insert(1);
            *count += 1;
            id = format!("{plain}#{count}");
        }
        self.taken.insert(id.clone(), 1);
        node.id = id;
        node.name = clipped(&node.name, NOTE);
        self.drawing.nodes.push(node);
        self.drawing.nodes.len() - 1
    }

    fn edge(&mut self, from: usize, to: usize, relation: Relation, label: Option<String>) {
        let exit = relation.name();
        self.drawing.edges.push(Edge {
            from,
            to,
            relation,
            exit,
            label,
            faults: Vec::new(),
            taken: false,
        });
    }

    fn workflow(&mut self, flow: Flow<'_>, task: &Task, group: usize, faults: &mut Faults<'_>) {
        let Flow { workflow, names, .. } = flow;
        let source = &task.definition.source;
        let mut exits = faults.of_exits(workflow);
        let drawn = self.nodes(flow, task, group, faults);
        let mut missing: HashMap<String, usize> = HashMap::new();
        for transition in workflow.transitions() {
            let Some(from) = drawn[transition.from.index()] else { continue };
            let to = match names.target(transition) {
                Some(target) => match drawn[target.index()] {
                    Some(index) => index,
                    None => continue,
                },
                None => {
                    let name = transition.target.text.to_string();
                    let faults = &exits[transition.id.index()];
                    let at = || self.missing(&transition.target, source, group, faults.clone());
                    *missing.entry(name).or_insert_with(at)
                }
            };
            let label = match transition.way {
                Way::Case => {
                    transition.predicate.as_ref().map(|text| shortened(text.as_str(), WIDTH))
                }
                Way::Default => Some("default".to_owned()),
                Way::Error => Some("error".to_owned()),
                _ => None,
            };
            let failure = transition.way == Way::Error;
            self.drawing.edges.push(Edge {
                from,
                to,
                relation: if failure { Relation::Failure } else { Relation::Flow },
                exit: transition.way.name(),
                label,
                faults: std::mem::take(&mut exits[transition.id.index()]),
                taken: false,
            });
        }
    }

    /// Draws the nodes of a workflow and their expansions; returns the index of each in the drawing.
    fn nodes(
        &mut self,
        Flow { workflow, reach, .. }: Flow<'_>,
        task: &Task,
        group: usize,
        faults: &mut Faults<'_>,
    ) -> Vec<Option<usize>> {
        let source = &task.definition.source;
        let mut drawn: Vec<Option<usize>> = Vec::with_capacity(workflow.nodes.len());
        let mut paths: HashMap<String, usize> = HashMap::new();
        for (id, node) in workflow.nodes() {
            if self.options.no_kill && node.shape == Shape::Kill {
                drawn.push(None);
                continue;
            }
            let kind = match node.shape {
                Shape::Start => Kind::Start,
                Shape::Action => Kind::Action,
                Shape::Decision => Kind::Decision,
                Shape::Fork => Kind::Fork,
                Shape::Join => Kind::Join,
                Shape::Kill => Kind::Kill,
                Shape::End => Kind::End,
            };
            let action = node.action.as_deref();
            let body = action.and_then(|action| action.body.as_ref());
            let mut notes = action.map(notes).unwrap_or_default();
            notes.extend(node.message.iter().map(|text| clipped(text.as_str(), NOTE)));
            let index = self.node(Bare {
                id: node.name.text.to_string(),
                name: if node.shape == Shape::Start { "start" } else { &*node.name.text }
                    .to_owned(),
                kind,
                detail: body.map(|body| clipped(&body.kind, WIDTH)),
                notes,
                place: Some(place(source, node.tag, node.span)),
                group,
                reachable: reach.is_reachable(id),
                faults: faults.take(node.span),
            });
            drawn.push(Some(index));
            if let Some(action) = action.filter(|_| self.options.data) {
                self.data(action, index, group, &mut paths);
            }
            if let Some(Details::SubWorkflow { app_path: Some(path), .. }) =
                body.map(|body| &body.details)
            {
                self.unfold(path.as_str(), FileKind::Workflow, task, (group, index));
            }
        }
        drawn
    }

    /// Draws the undefined node that a transition names.
    fn missing(
        &mut self,
        target: &Name,
        source: &Source,
        group: usize,
        faults: Vec<Fault>,
    ) -> usize {
        let name = target.text.to_string();
        let named = target.given && !name.is_empty();
        self.node(Bare {
            id: if named { name.clone() } else { String::new() },
            name: if named { name } else { "(no name)".to_owned() },
            kind: Kind::Missing,
            detail: None,
            notes: vec!["no node has this name".to_owned()],
            place: Some(place(source, target.span, target.span)),
            group,
            reachable: true,
            faults,
        })
    }

    fn data(
        &mut self,
        action: &Action,
        index: usize,
        group: usize,
        paths: &mut HashMap<String, usize>,
    ) {
        for (relation, path) in data::of_action(action) {
            let path = without_password(path.trim().trim_end_matches('/'));
            let node = match paths.get(&path) {
                Some(node) => *node,
                None => {
                    let node = self.node(Bare {
                        id: path.clone(),
                        name: clipped_path(&path, WIDTH),
                        kind: Kind::Data,
                        detail: None,
                        notes: Vec::new(),
                        place: None,
                        group,
                        reachable: true,
                        faults: Vec::new(),
                    });
                    paths.insert(path, node);
                    node
                }
            };
            let (from, to) =
                if relation == Relation::Reads { (node, index) } else { (index, node) };
            let label = (relation == Relation::Deletes).then(|| "deletes".to_owned());
            self.edge(from, to, relation, label);
        }
    }

    /// Schedules the definition that a node runs, to be drawn as a group.
    fn unfold(&mut self, path: &str, kind: FileKind, task: &Task, parent: (usize, usize)) {
        if !self.options.expand || self.opened >= GROUP_LIMIT || task.depth >= DEPTH_LIMIT {
            return;
        }
        let Some(definition) = self.definitions.open(&task.definition.source, path, kind) else {
            return;
        };
        self.follow(definition, task, parent);
    }

    fn follow(&mut self, definition: Definition, task: &Task, parent: (usize, usize)) {
        let mut around = task.around.clone();
        around.push(task.definition.source.path.clone());
        if around.contains(&definition.source.path) {
            self.drawing.nodes[parent.1].notes.push("runs what it is part of".to_owned());
            return;
        }
        self.opened += 1;
        let depth = task.depth + 1;
        self.open.push_back(Task { definition, parent: Some(parent), depth, around });
    }

    fn coordinator_node(
        &mut self,
        written: &Coordinator,
        source: &Source,
        group: usize,
        faults: &mut Faults<'_>,
    ) -> usize {
        let text = |scalar: &Option<Scalar>| scalar.as_ref().map(|text| text.as_str().to_owned());
        let name = text(&written.name).unwrap_or_default();
        let mut notes = Vec::new();
        for (word, value) in
            [("from", &written.start), ("to", &written.end), ("in", &written.timezone)]
        {
            notes.extend(text(value).map(|value| format!("{word} {}", clipped(&value, NOTE))));
        }
        let own: Vec<Span> = [&written.name, &written.frequency, &written.start, &written.end]
            .into_iter()
            .chain([&written.timezone])
            .flatten()
            .map(Scalar::span)
            .chain([written.span])
            .collect();
        self.node(Bare {
            id: name.clone(),
            name,
            kind: Kind::Coordinator,
            detail: text(&written.frequency)
                .map(|every| format!("every {}", clipped(&every, WIDTH))),
            notes,
            place: Some(place(source, written.span, written.span)),
            group,
            reachable: true,
            faults: own.into_iter().flat_map(|span| faults.take(span)).collect(),
        })
    }

    /// Draws the data and the workflow of a coordinator.
    fn around_coordinator(
        &mut self,
        written: &Coordinator,
        task: &Task,
        source: &Source,
        group: usize,
        node: usize,
        faults: &mut Faults<'_>,
    ) {
        let mut datasets = HashMap::new();
        self.data_of_coordinator(written, source, group, node, &mut datasets, faults);
        if let Some(workflow) = self.workflow_of(written, source, group, node, faults)
            && let Some(path) = &written.app_path
        {
            self.unfold(path.as_str(), FileKind::Workflow, task, (group, workflow));
        }
    }

    fn workflow_of(
        &mut self,
        written: &Coordinator,
        source: &Source,
        group: usize,
        node: usize,
        faults: &mut Faults<'_>,
    ) -> Option<usize> {
        let path = written.app_path.as_ref()?;
        let text = without_password(path.as_str());
        let workflow = self.node(Bare {
            id: clipped_path(&text, WIDTH),
            name: clipped_path(&text, WIDTH),
            kind: Kind::Workflow,
            detail: None,
            notes: vec![clipped(&text, NOTE)],
            place: Some(place(source, path.span(), path.span())),
            group,
            reachable: true,
            faults: faults.take(path.span()),
        });
        self.edge(node, workflow, Relation::Runs, None);
        Some(workflow)
    }

    fn data_of_coordinator(
        &mut self,
        written: &Coordinator,
        source: &Source,
        group: usize,
        node: usize,
        datasets: &mut HashMap<(String, String), usize>,
        faults: &mut Faults<'_>,
    ) {
        let mut by_name: HashMap<String, usize> = HashMap::new();
        for dataset in &written.datasets {
            let index = self.dataset(dataset, source, group, datasets, faults);
            let name = dataset.name.as_ref().map(Scalar::as_str).unwrap_or_default();
            by_name.entry(name.to_owned()).or_insert(index);
        }
        for include in &written.includes {
            let opened = self.definitions.open(source, include.as_str(), FileKind::Datasets);
            let Some(opened) = opened else { continue };
            let (tree, _) = Tree::of(&opened.source.text);
            let mut own = Faults::new(&opened);
            for dataset in tree.root().map(coordinator::datasets_of).unwrap_or_default() {
                let name = dataset.name.as_ref().map(Scalar::as_str).unwrap_or_default().to_owned();
                // Of an included file, only the datasets in use; it may list those of a whole company.
                let events = written.inputs.iter().chain(&written.outputs);
                let used = |event: &DataEvent| {
                    event.dataset.as_ref().is_some_and(|used| used.as_str() == name)
                };
                if !by_name.contains_key(&name) && events.into_iter().any(used) {
                    let index = self.dataset(&dataset, &opened.source, group, datasets, &mut own);
                    by_name.insert(name, index);
                }
            }
        }
        let inputs = written.inputs.iter().map(|event| (event, Relation::Reads));
        let outputs = written.outputs.iter().map(|event| (event, Relation::Writes));
        for (event, relation) in inputs.chain(outputs) {
            let name = event.dataset.as_ref().map(|name| name.as_str().to_owned());
            let name = name.unwrap_or_default();
            let dataset = match by_name.get(&name) {
                Some(dataset) => *dataset,
                None => {
                    let span = event.dataset.as_ref().map_or(event.tag, Scalar::span);
                    let elsewhere = !written.includes.is_empty();
                    let index = self.node(Bare {
                        id: name.clone(),
                        name: if name.is_empty() { "(no name)".to_owned() } else { name.clone() },
                        kind: if elsewhere { Kind::Dataset } else { Kind::Missing },
                        detail: None,
                        notes: vec![
                            if elsewhere {
                                "of an included file"
                            } else {
                                "no dataset has this name"
                            }
                            .to_owned(),
                        ],
                        place: Some(place(source, span, span)),
                        group,
                        reachable: true,
                        faults: faults.take(span),
                    });
                    by_name.insert(name, index);
                    index
                }
            };
            let (from, to) =
                if relation == Relation::Reads { (dataset, node) } else { (node, dataset) };
            self.edge(from, to, relation, Some(clipped(&instances(event), WIDTH)));
            let edge = self.drawing.edges.len() - 1;
            let spans = [event.name.as_ref().map(Scalar::span), Some(event.tag)];
            let spans =
                spans.into_iter().flatten().chain(event.instances.iter().map(|(_, at, _)| *at));
            self.drawing.edges[edge].faults = spans.flat_map(|span| faults.take(span)).collect();
        }
    }

    fn dataset(
        &mut self,
        dataset: &coordinator::Dataset,
        source: &Source,
        group: usize,
        datasets: &mut HashMap<(String, String), usize>,
        faults: &mut Faults<'_>,
    ) -> usize {
        let text = |scalar: &Option<Scalar>| scalar.as_ref().map(|text| text.as_str().to_owned());
        let name = text(&dataset.name).unwrap_or_default();
        let template = without_password(&text(&dataset.uri_template).unwrap_or_default());
        let key = (name.clone(), template.clone());
        if let Some(known) = datasets.get(&key) {
            return *known;
        }
        let mut notes = Vec::new();
        notes.extend((!template.is_empty()).then(|| clipped(&template, NOTE)));
        for (word, value) in [("every", &dataset.frequency), ("from", &dataset.initial_instance)] {
            notes.extend(text(value).map(|value| format!("{word} {}", clipped(&value, NOTE))));
        }
        let node = self.node(Bare {
            id: name.clone(),
            name,
            kind: Kind::Dataset,
            detail: (!template.is_empty()).then(|| clipped_path(&template, WIDTH)),
            notes,
            place: Some(place(source, dataset.tag, dataset.span)),
            group,
            reachable: true,
            faults: faults.take(dataset.span),
        });
        datasets.insert(key, node);
        node
    }

    fn bundle(&mut self, written: &Bundle, task: &Task, group: usize, faults: &mut Faults<'_>) {
        let source = &task.definition.source;
        let name = written.name.as_ref().map(|name| name.as_str().to_owned()).unwrap_or_default();
        let bundle = self.node(Bare {
            id: name.clone(),
            name,
            kind: Kind::Bundle,
            detail: None,
            notes: written
                .kick_off
                .iter()
                .map(|time| format!("kicked off at {}", clipped(time.as_str(), NOTE)))
                .collect(),
            place: Some(place(source, written.span, written.span)),
            group,
            reachable: true,
            faults: [Some(written.span), written.name.as_ref().map(Scalar::span)]
                .into_iter()
                .flatten()
                .flat_map(|span| faults.take(span))
                .collect(),
        });
        // Coordinators of a bundle that use the same data share one node for it.
        let mut datasets = HashMap::new();
        for member in &written.members {
            let name =
                member.name.as_ref().map(|name| name.as_str().to_owned()).unwrap_or_default();
            let path = member.app_path.as_ref().map(|path| without_password(path.as_str()));
            let opened = path
                .as_ref()
                .filter(|_| self.opened < GROUP_LIMIT)
                .and_then(|path| self.definitions.open(source, path, FileKind::Coordinator));
            let mut notes: Vec<String> = path.iter().map(|path| clipped(path, NOTE)).collect();
            if member.enabled.as_ref().is_some_and(|text| text.known() == Some("false")) {
                notes.push("not enabled".to_owned());
            }
            let spans = [
                Some(member.tag),
                member.name.as_ref().map(Scalar::span),
                member.app_path.as_ref().map(Scalar::span),
            ];
            let node = self.node(Bare {
                id: name.clone(),
                name,
                kind: Kind::Coordinator,
                detail: path.as_ref().map(|path| clipped_path(path, WIDTH)),
                notes,
                place: Some(place(source, member.tag, member.tag)),
                group,
                reachable: true,
                faults: spans.into_iter().flatten().flat_map(|span| faults.take(span)).collect(),
            });
            self.edge(bundle, node, Relation::Runs, None);
            let Some(opened) = opened else { continue };
            self.opened += 1;
            let analysis = Analysis::new(opened.source.clone());
            let written = analysis.coordinator();
            let mut own = Faults::new(&opened);
            let source = &opened.source;
            self.data_of_coordinator(written, source, group, node, &mut datasets, &mut own);
            let workflow = self.workflow_of(written, source, group, node, &mut own);
            self.drawing.nodes[node].faults.extend(own.rest());
            if let (Some(workflow), Some(path)) = (workflow, &written.app_path) {
                let mut around = task.around.clone();
                around.push(task.definition.source.path.clone());
                let depth = task.depth + 1;
                let inner = Task { definition: opened.clone(), parent: None, depth, around };
                self.unfold(path.as_str(), FileKind::Workflow, &inner, (group, workflow));
            }
        }
    }
}

/// A description of an action, in a line or two.
fn notes(action: &Action) -> Vec<String> {
    let Some(body) = &action.body else { return Vec::new() };
    let what = match &body.details {
        Details::Shell { exec, .. } => ("runs", exec),
        Details::Java { main_class, .. } => ("runs", main_class),
        Details::Pig { script, .. } | Details::Hive { script, .. } => ("runs", script),
        Details::Spark { jar, .. } => ("runs", jar),
        Details::Email { to, .. } => ("to", to),
        Details::Ssh { host, .. } => ("on", host),
        Details::SubWorkflow { app_path, .. } => ("runs", app_path),
        Details::Git { git_uri, .. } => ("of", git_uri),
        _ => return Vec::new(),
    };
    let (word, text) = what;
    text.iter()
        .filter(|text| !text.is_empty())
        .map(|text| format!("{word} {}", clipped(&without_password(text.as_str()), NOTE)))
        .collect()
}

/// The instances of a dataset that an event refers to, with the event's name.
fn instances(event: &DataEvent) -> String {
    let name = event.name.as_ref().map(Scalar::as_str).unwrap_or_default();
    let ends = (event.part("start-instance"), event.part("end-instance"));
    let range = match ends {
        (None, None) => {
            let all: Vec<&str> = event.instances.iter().map(|(_, _, text)| text.as_str()).collect();
            all.join(", ")
        }
        (start, end) => {
            let text = |part: Option<&Scalar>| {
                part.map(|text| text.as_str().to_owned()).unwrap_or_default()
            };
            format!("{} … {}", text(start), text(end))
        }
    };
    if range.is_empty() { name.to_owned() } else { format!("{name}: {range}") }
}

/// A URI with its password, if any, masked.
fn without_password(text: &str) -> String {
    if let Some((scheme, rest)) = text.split_once("://") {
        let end = rest.find('/').unwrap_or(rest.len());
        if let Some(at) = rest[..end].rfind('@')
            && let Some(colon) = rest[..at].find(':')
        {
            return format!("{scheme}://{}:***{}", &rest[..colon], &rest[at..]);
        }
    }
    text.to_owned()
}

fn place(source: &Source, span: Span, extent: Span) -> Place {
    let position = source.position(span.start);
    let path = source.path.clone();
    Place { path, line: position.line, column: position.column, span, extent }
}
