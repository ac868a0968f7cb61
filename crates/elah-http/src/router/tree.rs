//! The tree of route patterns: one level per path segment, searched from the most to the least specific child.

use std::borrow::Cow;
use std::cmp::Ordering;

use smallvec::SmallVec;

use super::segment::{Captures, Shape};
use elah_form::percent::{Plus, decode};

/// Position of an HTTP method in the router's table of methods.
pub(super) type MethodIndex = u16;
/// Position of a route in the router's table of routes.
pub(super) type RouteIndex = u32;
type NodeIndex = usize;

const ROOT: NodeIndex = 0;

/// The routes of one place in the tree, for methods and for all other methods. The first one added for a method precedes the
/// others, which are found when it is excluded.
#[derive(Debug, Clone, Default)]
pub(super) struct Endpoint {
    methods: SmallVec<[(MethodIndex, RouteIndex); 2]>,
    any: SmallVec<[RouteIndex; 1]>,
}

impl Endpoint {
    fn add(&mut self, method: Option<MethodIndex>, route: RouteIndex) {
        match method {
            None => self.any.push(route),
            Some(method) => self.methods.push((method, route)),
        }
    }

    fn route(&self, method: MethodIndex, excluded: &[RouteIndex]) -> Option<RouteIndex> {
        let is_wanted = |(known, route): &&(MethodIndex, RouteIndex)| *known == method && !excluded.contains(route);
        self.methods.iter().find(is_wanted).map(|(_, route)| *route)
    }

    fn any(&self, excluded: &[RouteIndex]) -> Option<RouteIndex> {
        self.any.iter().find(|route| !excluded.contains(route)).copied()
    }
}

#[derive(Debug, Clone, Default)]
struct Node {
    /// Sorted by key.
    statics: Vec<(StaticKey, NodeIndex)>,
    /// Segments with captures, sorted by rank.
    shapes: Vec<(Shape, NodeIndex)>,
    /// Shapes of the whole rest of the path, sorted by rank.
    rests: Vec<(Shape, Endpoint)>,
    endpoint: Endpoint,
    /// Serves this path and everything below it that nothing else serves.
    mount: Option<RouteIndex>,
}

/// The text of a literal segment. Most comparisons end at the length and the first eight bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct StaticKey {
    length: usize,
    head: u64,
    tail: Box<[u8]>,
}

/// Length, first eight bytes (padded with zeros) and the others.
fn key_parts(text: &str) -> (usize, u64, &[u8]) {
    let bytes = text.as_bytes();
    match bytes.split_first_chunk::<8>() {
        Some((head, tail)) => (bytes.len(), u64::from_be_bytes(*head), tail),
        None => (bytes.len(), bytes.iter().fold(0, |head, byte| head << 8 | u64::from(*byte)), &[]),
    }
}

impl StaticKey {
    fn new(text: &str) -> Self {
        let (length, head, tail) = key_parts(text);
        Self { length, head, tail: tail.into() }
    }
}

impl Node {
    fn static_position(&self, text: &str) -> Result<usize, usize> {
        let (length, head, tail) = key_parts(text);
        self.statics.binary_search_by(|(key, _)| {
            (key.length, key.head)
                .cmp(&(length, head))
                .then_with(|| if tail.is_empty() { Ordering::Equal } else { (*key.tail).cmp(tail) })
        })
    }
}

#[derive(Debug, Clone)]
pub(super) struct Tree {
    nodes: Vec<Node>,
}

/// One step of a pattern, as the tree stores it.
pub(super) enum Step {
    /// A whole segment: literal (decoded) text or a shape.
    Static(String),
    Shape(Shape),
    /// The rest of the path; always the last step.
    Rest(Shape),
}

/// A query to the tree.
pub(super) struct Query<'p> {
    /// Begins with `/`, has no empty segment and no `/` at its end.
    pub(super) path: &'p str,
    pub(super) method: Option<MethodIndex>,
    /// The method to try where `method` has no route: GET for HEAD.
    pub(super) substitute: Option<MethodIndex>,
    /// The router itself responds to OPTIONS of a path that has routes, before a catch-all.
    pub(super) is_options: bool,
    pub(super) has_escapes: bool,
    /// Routes that are passed over.
    pub(super) excluded: &'p [RouteIndex],
}

/// What the search has found; `captures` belong to the route that `Tree::find` returned.
#[derive(Default)]
pub(super) struct Found {
    pub(super) captures: Captures,
    /// Methods of the places that match the path, most specific place first.
    pub(super) allowed: SmallVec<[MethodIndex; 4]>,
}

pub(super) enum Hit {
    Route(RouteIndex),
    /// The path continues below the mount after this many segments.
    Mount {
        route: RouteIndex,
        segments: usize,
    },
}

impl Tree {
    pub(super) fn new() -> Self {
        Self { nodes: vec![Node::default()] }
    }

    pub(super) fn add(&mut self, steps: Vec<Step>, method: Option<MethodIndex>, route: RouteIndex) {
        self.endpoint(steps).add(method, route);
    }

    /// The first mount of a prefix stays.
    pub(super) fn mount(&mut self, steps: Vec<Step>, route: RouteIndex) {
        let node = steps.into_iter().fold(ROOT, |node, step| match step {
            Step::Static(text) => self.static_child(node, text),
            Step::Shape(shape) | Step::Rest(shape) => self.shape_child(node, shape),
        });
        self.nodes[node].mount.get_or_insert(route);
    }

    fn endpoint(&mut self, steps: Vec<Step>) -> &mut Endpoint {
        let mut node = ROOT;
        for step in steps {
            node = match step {
                Step::Static(text) => self.static_child(node, text),
                Step::Shape(shape) => self.shape_child(node, shape),
                Step::Rest(shape) => return self.rest(node, shape),
            };
        }
        &mut self.nodes[node].endpoint
    }

    fn static_child(&mut self, node: NodeIndex, text: String) -> NodeIndex {
        match self.nodes[node].static_position(&text) {
            Ok(at) => self.nodes[node].statics[at].1,
            Err(at) => {
                let child = self.push_node();
                self.nodes[node].statics.insert(at, (StaticKey::new(&text), child));
                child
            }
        }
    }

    fn shape_child(&mut self, node: NodeIndex, shape: Shape) -> NodeIndex {
        let shapes = &self.nodes[node].shapes;
        if let Some((_, child)) = shapes.iter().find(|(known, _)| *known == shape) {
            return *child;
        }
        let at = shapes.partition_point(|(known, _)| known.rank() <= shape.rank());
        let child = self.push_node();
        self.nodes[node].shapes.insert(at, (shape, child));
        child
    }

    fn rest(&mut self, node: NodeIndex, shape: Shape) -> &mut Endpoint {
        let rests = &mut self.nodes[node].rests;
        let at = match rests.iter().position(|(known, _)| *known == shape) {
            Some(at) => at,
            None => {
                let at = rests.partition_point(|(known, _)| known.rank() <= shape.rank());
                rests.insert(at, (shape, Endpoint::default()));
                at
            }
        };
        &mut rests[at].1
    }

    fn push_node(&mut self) -> NodeIndex {
        self.nodes.push(Node::default());
        self.nodes.len() - 1
    }

    /// Finds the most specific route. A search visits each node at most once, because a node stands for one pattern
    /// prefix of a fixed number of segments.
    pub(super) fn find(&self, query: &Query<'_>, found: &mut Found) -> Option<Hit> {
        self.search(ROOT, 1, 0, query, found)
    }

    fn search(&self, node: NodeIndex, at: usize, depth: usize, query: &Query<'_>, found: &mut Found) -> Option<Hit> {
        let node = &self.nodes[node];
        if at >= query.path.len() {
            if let Some(route) = pick(&node.endpoint, false, query, found) {
                return Some(Hit::Route(route));
            }
        } else if let Some(hit) = self.search_children(node, at, depth, query, found) {
            return Some(hit);
        }
        let route = node.mount.filter(|route| !query.excluded.contains(route) && !is_withheld(query, found))?;
        Some(Hit::Mount { route, segments: depth })
    }

    fn search_children(&self, node: &Node, at: usize, depth: usize, query: &Query<'_>, found: &mut Found) -> Option<Hit> {
        let rest = &query.path[at..];
        let length = memchr::memchr(b'/', rest.as_bytes()).unwrap_or(rest.len());
        let segment = &rest[..length];
        let next = at + length + 1;
        if !node.statics.is_empty() {
            let text = decoded(segment, query.has_escapes);
            if let Ok(index) = node.static_position(&text)
                && let Some(hit) = self.search(node.statics[index].1, next, depth + 1, query, found)
            {
                return Some(hit);
            }
        }
        let kept = found.captures.len();
        for (shape, child) in &node.shapes {
            if shape.capture(segment, at, &mut found.captures) {
                if let Some(hit) = self.search(*child, next, depth + 1, query, found) {
                    return Some(hit);
                }
                found.captures.truncate(kept);
            }
        }
        for (shape, endpoint) in &node.rests {
            if shape.capture(rest, at, &mut found.captures) {
                if let Some(route) = pick(endpoint, true, query, found) {
                    return Some(Hit::Route(route));
                }
                found.captures.truncate(kept);
            }
        }
        None
    }
}

/// Literal text is compared decoded. A segment that cannot be decoded matches no literal text.
fn decoded(segment: &str, has_escapes: bool) -> Cow<'_, str> {
    if has_escapes { decode(segment.as_bytes(), Plus::Literal).unwrap_or(Cow::Borrowed(segment)) } else { Cow::Borrowed(segment) }
}

fn pick(endpoint: &Endpoint, is_catch_all: bool, query: &Query<'_>, found: &mut Found) -> Option<RouteIndex> {
    let named = [query.method, query.substitute].into_iter().flatten();
    if let Some(route) = named.into_iter().find_map(|method| endpoint.route(method, query.excluded)) {
        return Some(route);
    }
    let any = endpoint.any(query.excluded).filter(|_| !(is_catch_all && is_withheld(query, found)));
    if any.is_some() {
        return any;
    }
    found.allowed.extend(endpoint.methods.iter().map(|(method, _)| *method));
    None
}

fn is_withheld(query: &Query<'_>, found: &Found) -> bool {
    query.is_options && !found.allowed.is_empty()
}
