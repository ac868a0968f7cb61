//! Random operations on a set and on the model, whose results must be the same.

use elah_ranked_set::{Direction, Operator, RankedSet, Scores, Style, Ties};
use proptest::prelude::*;

use super::model::{Model, STYLES, order};

#[derive(Clone, Debug)]
enum Step {
    Submit { name: u16, scores: Vec<i64>, operator: Operator, style: Style },
    SubmitAll { submissions: Vec<(u16, Vec<i64>)>, operator: Operator },
    Decide { name: u16, scores: Vec<i64>, operator: Operator },
    SubmitAndUndo { name: u16, scores: Vec<i64>, operator: Operator },
    Delete { name: u16 },
    Span { from: Option<i64>, to: Option<i64>, excludes_to: bool },
    Around { name: u16, distance: usize },
    Histogram { bounds: Vec<i64> },
    EqualHistogram { buckets: usize },
    Clear,
}

fn operator() -> impl Strategy<Value = Operator> {
    use Operator as O;
    prop_oneof![Just(O::Best), Just(O::Set), Just(O::Increment), Just(O::Min), Just(O::Max), Just(O::Last)]
}

/// Few numbers, so that scores collide, and sometimes a large one.
fn score() -> impl Strategy<Value = i64> {
    prop_oneof![9 => -6_i64..6, 1 => -(1_i64 << 55)..1 << 55]
}

fn step(components: usize, names: u16) -> impl Strategy<Value = Step> {
    let scores = move || prop::collection::vec(score(), components);
    let name = move || 0..names;
    let style = (0..STYLES.len()).prop_map(|style| STYLES[style]);
    prop_oneof![
        20 => (name(), scores(), operator(), style)
            .prop_map(|(name, scores, operator, style)| Step::Submit { name, scores, operator, style }),
        2 => (prop::collection::vec((name(), scores()), 0..40), operator())
            .prop_map(|(submissions, operator)| Step::SubmitAll { submissions, operator }),
        3 => (name(), scores(), operator()).prop_map(|(name, scores, operator)| Step::Decide { name, scores, operator }),
        3 => (name(), scores(), operator()).prop_map(|(name, scores, operator)| Step::SubmitAndUndo { name, scores, operator }),
        8 => name().prop_map(|name| Step::Delete { name }),
        3 => (prop::option::of(score()), prop::option::of(score()), any::<bool>())
            .prop_map(|(from, to, excludes_to)| Step::Span { from, to, excludes_to }),
        2 => (name(), prop_oneof![0_usize..9, 0_usize..400, Just(usize::MAX)]).prop_map(|(name, distance)| Step::Around { name, distance }),
        1 => prop::collection::vec(score(), 0..5).prop_map(|bounds| Step::Histogram { bounds }),
        1 => (0_usize..9).prop_map(|buckets| Step::EqualHistogram { buckets }),
        1 => Just(Step::Clear),
    ]
}

/// A name for a number: some share their first eight bytes, one is empty.
fn name(number: u16) -> Vec<u8> {
    match number {
        0 => Vec::new(),
        number if number % 3 == 0 => format!("a common beginning {number}").into_bytes(),
        number => number.to_be_bytes().to_vec(),
    }
}

fn take(set: &mut RankedSet, model: &mut Model, step: Step) {
    match step {
        Step::Submit { name: number, scores, operator, style } => {
            let name = name(number);
            let (previous_rank, previous) = (model.rank(&name, style), set.standing(&name));
            let is_changed = model.submit(&name, &scores, operator);
            let submission = set.submit(&name, &scores, operator, style).expect("a valid submission");
            assert_eq!(Some(submission.rank), model.rank(&name, style), "{style:?}");
            assert_eq!((submission.previous_rank, submission.previous), (previous_rank, previous));
            assert_eq!(submission.is_changed, is_changed);
            assert_eq!(submission.standing.scores.to_vec(), model.find(&name).expect("it is there").scores);
        }
        Step::SubmitAll { submissions, operator } => {
            let names: Vec<Vec<u8>> = submissions.iter().map(|(number, _)| name(*number)).collect();
            let submissions: Vec<(&[u8], Scores)> =
                names.iter().zip(&submissions).map(|(name, (_, scores))| (&name[..], Scores::from_slice(scores))).collect();
            let changed = submissions.iter().filter(|(name, scores)| model.submit(name, scores, operator)).count();
            assert_eq!(set.submit_all(&submissions, operator), Ok(changed));
            for style in STYLES {
                let names: Vec<&[u8]> = names.iter().map(Vec::as_slice).chain([&b"nobody"[..]]).collect();
                let expected: Vec<_> = names.iter().map(|name| model.rank(name, style)).collect();
                assert_eq!(set.ranks(&names, style), expected);
            }
        }
        Step::Decide { name: number, scores, operator } => {
            let name = name(number);
            let before = set.standing(&name);
            let decision = set.decide(&name, &scores, operator).expect("a valid submission");
            assert_eq!(set.standing(&name), before, "a decision changes nothing");
            model.submit(&name, &scores, operator);
            if let Some(standing) = decision {
                let submission = set.place(&name, standing.clone(), Style::Ordinal).expect("there is room");
                assert_eq!((submission.standing, submission.previous), (standing, before));
                assert_eq!(Some(submission.rank), model.rank(&name, Style::Ordinal));
            }
        }
        Step::SubmitAndUndo { name: number, scores, operator } => {
            let name = name(number);
            let submission = set.submit(&name, &scores, operator, Style::Ordinal).expect("a valid submission");
            model.submit(&name, &scores, operator);
            model.restore(&name, submission.previous.clone());
            match submission.previous {
                Some(previous) => drop(set.place(&name, previous, Style::Ordinal).expect("there is room")),
                None => drop(set.delete(&name)),
            }
        }
        Step::Delete { name: number } => assert_eq!(set.delete(&name(number)).is_some(), model.delete(&name(number))),
        Step::Span { from, to, excludes_to } => {
            let (start, end) = (from.as_ref().map(std::slice::from_ref), to.as_ref().map(std::slice::from_ref));
            let span = set.span(start, end, excludes_to).expect("ends of one component");
            let expected = model.span(from, to, excludes_to);
            assert_eq!(span.len(), expected.len());
            assert!(span.is_empty() || span == expected, "{span:?} {expected:?}");
        }
        Step::Around { name: number, distance } => {
            let position = model.sorted().iter().position(|member| member.name == name(number));
            let end = |at: usize| at.saturating_add(distance).saturating_add(1).min(model.members.len());
            let expected = position.map(|at| at.saturating_sub(distance)..end(at));
            assert_eq!(set.around(&name(number), distance), expected);
            for style in STYLES {
                let rows = |positions| set.rows(positions, style).collect::<Vec<_>>();
                let around = set.rows_around(&name(number), distance, style).map(Iterator::collect::<Vec<_>>);
                assert_eq!(around, expected.clone().map(rows), "{style:?}");
            }
        }
        Step::Histogram { bounds } => {
            for bucket in set.histogram(&bounds).expect("any bounds do") {
                assert_eq!(bucket.count, model.span(bucket.from, bucket.to, true).len());
            }
        }
        Step::EqualHistogram { buckets } => {
            let parts = set.equal_histogram(buckets).expect("any number does");
            assert!(parts.len() <= buckets);
            let sum: usize = parts.iter().map(|bucket| bucket.count).sum();
            assert_eq!(sum, if buckets == 0 { 0 } else { model.members.len() });
            parts.windows(2).for_each(|pair| assert_eq!(pair[0].to, pair[1].from));
            parts.iter().for_each(|bucket| assert_eq!(bucket.count, model.span(bucket.from, bucket.to, true).len()));
        }
        Step::Clear => {
            set.clear();
            model.members.clear();
        }
    }
}

fn directions() -> impl Strategy<Value = Vec<Direction>> {
    prop::collection::vec(prop_oneof![Just(Direction::Ascending), Just(Direction::Descending)], 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_set_is_what_its_model_is(
        (directions, ties, steps) in (directions(), prop_oneof![Just(Ties::Earliest), Just(Ties::Member)])
            .prop_flat_map(|(directions, ties)| {
                let steps = prop::collection::vec(step(directions.len(), 300), 1..700);
                (Just(directions), Just(ties), steps)
            })
    ) {
        let mut set = RankedSet::new(order(&directions, ties), 10_000);
        let mut model = Model::new(&directions, ties);
        for step in steps {
            take(&mut set, &mut model, step);
        }
        model.check(&set);
        model.check_ranks(&set, 7);
    }
}
