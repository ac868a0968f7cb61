//! The router: Grape's pattern language, priorities, methods, mounts, and a comparison with a naive matcher.

use elah_http::router::{ANY_METHOD, Requirements, Resolution, Router};
use fancy_regex::Regex;

fn router(routes: &[(&str, &str)]) -> Router {
    let mut router = Router::new();
    for (id, (method, pattern)) in routes.iter().enumerate() {
        router.add(method, pattern, id as u32, &Requirements::new()).expect(pattern);
    }
    router
}

/// The result of `Router::resolve` in a compact form.
fn resolved(router: &Router, method: &str, path: &str) -> String {
    match router.resolve(method, path) {
        Resolution::Route(found) => {
            let params: Vec<String> = found.params(router, path).map(|(name, value)| format!("{name}={value}")).collect();
            let below = found.path_info_at.map(|at| format!(" below={:?}", &path[at..]));
            format!("{} {}{}", found.id, params.join(","), below.unwrap_or_default())
        }
        Resolution::MethodNotAllowed(methods) => format!("405 {}", methods.join(",")),
        Resolution::NotFound => "404".to_owned(),
        Resolution::BadPath(error) => format!("400 {error}"),
    }
}

#[track_caller]
fn assert_resolves(router: &Router, expected: &[(&str, &str, &str)]) {
    for (method, path, expected) in expected {
        assert_eq!(resolved(router, method, path), *expected, "{method} {path}");
    }
}

#[test]
fn literal_text_wins_over_parameters_and_parameters_over_wildcards() {
    let router = router(&[
        ("GET", "/users/:id"),
        ("GET", "/users/me"),
        ("GET", "/users/*rest"),
        ("GET", "/users/u-:number"),
        ("GET", "/"),
    ]);
    assert_resolves(
        &router,
        &[
            ("GET", "/users/me", "1 "),
            ("GET", "/users/7", "0 id=7"),
            ("GET", "/users/u-7", "3 number=7"),
            ("GET", "/users/u-", "0 id=u-"),
            ("GET", "/users/7/x", "2 rest=7/x"),
            ("GET", "/users/me/x", "2 rest=me/x"),
            ("GET", "/", "4 "),
            ("GET", "", "4 "),
            ("GET", "/users", "404"),
        ],
    );
}

#[test]
fn parameter_names_belong_to_the_route() {
    let router = router(&[("GET", "/:a/list"), ("GET", "/:b/show"), ("GET", "/a/:id"), ("PUT", "/a/:key")]);
    assert_resolves(
        &router,
        &[("GET", "/x/list", "0 a=x"), ("GET", "/x/show", "1 b=x"), ("GET", "/a/list", "2 id=list"), ("PUT", "/a/7", "3 key=7")],
    );
}

#[test]
fn routes_that_are_excluded_are_passed_over() {
    let mut router = router(&[
        ("GET", "/x(.json)"),
        ("GET", "/x(.:format)"),
        ("*", "/:any"),
        ("*", "/:other"),
        ("POST", "/x"),
        ("GET", "/*rest"),
    ]);
    router.mount("/", 9).expect("a prefix");
    let next = |excluded: &[u32]| match router.resolve_except(excluded, "GET", "/x") {
        Resolution::Route(found) => found.id,
        other => panic!("{other:?}"),
    };
    let mut excluded = Vec::new();
    for id in [0, 1, 2, 3, 5, 9] {
        assert_eq!(next(&excluded), id);
        excluded.push(id);
    }
    assert!(matches!(router.resolve_except(&excluded, "GET", "/x"), Resolution::MethodNotAllowed(_)), "a mount as well");
}

#[test]
fn a_place_without_the_method_is_passed_over() {
    let router = router(&[("GET", "/users/me"), ("PUT", "/users/:key"), (ANY_METHOD, "/*path"), ("GET", "/only")]);
    assert_resolves(
        &router,
        &[
            ("PUT", "/users/me", "1 key=me"),
            ("POST", "/users/me", "2 path=users/me"),
            ("POST", "/only", "2 path=only"),
            ("OPTIONS", "/only", "405 OPTIONS,GET,HEAD"),
            ("OPTIONS", "/users/me", "405 OPTIONS,GET,PUT,HEAD"),
            ("OPTIONS", "/elsewhere", "2 path=elsewhere"),
        ],
    );
}

#[test]
fn methods_that_exist_are_listed_for_one_that_does_not() {
    let router = router(&[
        ("GET", "/a"),
        ("POST", "/a"),
        ("DELETE", "/:x"),
        ("PUT", "/b"),
        ("OPTIONS", "/b"),
        ("HEAD", "/c"),
        ("GET", "/c"),
    ]);
    assert_resolves(
        &router,
        &[
            ("PATCH", "/a", "405 OPTIONS,GET,POST,DELETE,HEAD"),
            ("PURGE", "/b", "405 OPTIONS,PUT,DELETE"),
            ("OPTIONS", "/b", "4 "),
            ("HEAD", "/a", "0 "),
            ("HEAD", "/c", "5 "),
            ("get", "/a", "405 OPTIONS,GET,POST,DELETE,HEAD"),
            ("PATCH", "/a/b", "404"),
        ],
    );
}

#[test]
fn the_first_route_of_a_method_and_pattern_stays() {
    let router = router(&[("GET", "/dup"), ("GET", "/dup"), ("GET", "/u/:a"), ("GET", "/u/:b")]);
    assert_resolves(&router, &[("GET", "/dup", "0 "), ("GET", "/u/1", "2 a=1")]);
}

#[test]
fn several_parameters_and_text_may_share_a_segment() {
    let router = router(&[
        ("GET", "/f/:id.:ext"),
        ("GET", "/g/:a-:b"),
        ("GET", "/links/:code(.json)"),
        ("GET", "/all/*path(.:format)"),
        ("GET", "/mid/*x/end"),
        ("GET", "/opt(/:x(/:y))"),
        ("GET", "/img-:n.png"),
    ]);
    assert_resolves(
        &router,
        &[
            ("GET", "/f/a.b", "0 id=a,ext=b"),
            ("GET", "/f/a.b.c", "404"),
            ("GET", "/f/a", "404"),
            ("GET", "/g/1-2-3", "1 a=1-2,b=3"),
            ("GET", "/g/1--2", "1 a=1-,b=2"),
            ("GET", "/g/-1", "404"),
            ("GET", "/links/a.json", "2 code=a"),
            ("GET", "/links/a", "2 code=a"),
            ("GET", "/links/a.b", "404"),
            ("GET", "/links/a%2Eb", "2 code=a.b"),
            ("GET", "/all/x/y.z", "3 path=x/y,format=z"),
            ("GET", "/all/x.y/z", "3 path=x.y/z"),
            ("GET", "/mid/a/b/end", "4 x=a/b"),
            ("GET", "/mid/end", "404"),
            ("GET", "/opt", "5 "),
            ("GET", "/opt/1", "5 x=1"),
            ("GET", "/opt/1/2", "5 x=1,y=2"),
            ("GET", "/img-7.png", "6 n=7"),
        ],
    );
}

#[test]
fn repeated_and_final_slashes_do_not_count() {
    let router = router(&[("GET", "/links/:code"), ("GET", "/files/*path")]);
    assert_resolves(
        &router,
        &[
            ("GET", "//links///abc//", "0 code=abc"),
            ("GET", "/links/a%20b/", "0 code=a b"),
            ("GET", "/files//a//b/", "1 path=a/b"),
            ("GET", "/files/", "404"),
            ("GET", "links/abc", "0 code=abc"),
        ],
    );
}

#[test]
fn values_are_decoded_and_what_cannot_be_is_a_bad_path() {
    let router = router(&[("GET", "/links/:code"), ("GET", "/sp ace/x"), ("GET", "/caf\u{e9}/:n-\u{e9}")]);
    assert_resolves(
        &router,
        &[
            ("GET", "/links/a%20b%2Fc+d", "0 code=a b/c+d"),
            ("GET", "/%6Cinks/caf%C3%A9", "0 code=caf\u{e9}"),
            ("GET", "/links/caf\u{e9}", "0 code=caf\u{e9}"),
            ("GET", "/sp%20ace/x", "1 "),
            ("GET", "/caf%c3%a9/1-%C3%A9", "2 n=1"),
            ("GET", "/links/%ff", "400 the decoded text is not valid UTF-8"),
            ("GET", "/links/a%zz", "400 the percent sign at byte 1 is not followed by two hexadecimal digits"),
            ("GET", "/%zz/a", "404"),
        ],
    );
}

#[test]
fn a_mount_serves_what_lies_below_it_and_no_route_does() {
    let mut router = router(&[("GET", "/blog/new"), ("GET", "/a"), ("GET", "/t/:tenant/admin/x")]);
    router.mount("/blog", 10).expect("a prefix");
    router.mount("/blog", 11).expect("a prefix");
    router.mount("/t/:tenant/admin", 12).expect("a prefix");
    assert_resolves(
        &router,
        &[
            ("GET", "/blog", "10  below=\"\""),
            ("POST", "/blog/", "10  below=\"/\""),
            ("GET", "/blog/x//y/", "10  below=\"/x//y/\""),
            ("GET", "//blog/%zz", "10  below=\"/%zz\""),
            ("GET", "/blog/new", "0 "),
            ("POST", "/blog/new", "10  below=\"/new\""),
            ("OPTIONS", "/blog/new", "405 OPTIONS,GET,HEAD"),
            ("GET", "/blogger", "404"),
            ("GET", "/t/7/admin/x", "2 tenant=7"),
            ("GET", "/t/7/admin/y", "12 tenant=7 below=\"/y\""),
        ],
    );
    router.mount("/", 13).expect("a prefix");
    assert_resolves(
        &router,
        &[
            ("GET", "/", "13  below=\"/\""),
            ("GET", "/x/y", "13  below=\"/x/y\""),
            ("POST", "/a", "13  below=\"/a\""),
            ("GET", "/blog/x", "10  below=\"/x\""),
            ("GET", "/t/7/other", "13  below=\"/t/7/other\""),
        ],
    );
}

#[test]
fn requirements_choose_between_routes() {
    let mut router = Router::new();
    let requirement = |name: &str, source: &str| Requirements::from([(name.to_owned(), source.to_owned())]);
    router.add("GET", "/r/:name", 0, &Requirements::new()).expect("a route");
    router.add("GET", "/r/:id", 1, &requirement("id", "[0-9]+|new")).expect("a route");
    router.add("GET", "/d/:file", 2, &requirement("file", r"[^\/]+")).expect("a route");
    router.add("GET", "/w/*path", 3, &requirement("path", "(?:[a-z]+/)*[a-z]+")).expect("a route");
    assert_resolves(
        &router,
        &[
            ("GET", "/r/12", "1 id=12"),
            ("GET", "/r/new", "1 id=new"),
            ("GET", "/r/12x", "0 name=12x"),
            ("GET", "/d/a.b.c", "2 file=a.b.c"),
            ("GET", "/w/a/b", "3 path=a/b"),
            ("GET", "/w/a/1", "404"),
        ],
    );
    let error = router.add("GET", "/r/:id", 4, &requirement("id", "(x")).expect_err("an open group").to_string();
    assert!(error.contains("the requirement of \"id\" in the route pattern \"/r/:id\" cannot be used"), "{error}");
    let error = router.add("GET", "/r/:id", 4, &requirement("ix", "x")).expect_err("unknown name").to_string();
    assert!(error.contains("names no parameter"), "{error}");
}

/// Each was an error at boot. The last one gives up on a long text, which Ruby would search for ever.
#[test]
fn requirements_have_the_syntax_of_ruby() {
    let long = "a".repeat(60);
    for (source, accepted, refused) in [
        (r"\h{8}-\h{4}", "0123abCD-ef45", "0123abCD-xf45"),
        (r"(?!new)\w+", "old", "new"),
        (r"\p{Alpha}+", "abc", "ab1"),
        ("[a-z&&[^x]]+", "abc", "abx"),
        ("[a[b-c]]+", "abc", "abd"),
        (r"(\d)\1", "11", "12"),
        ("(?>a*)b", "aab", "aac"),
        (r"(?<year>\d{4})\Z", "2026", "20261"),
        (r"(a*)*\1b", "aab", &long),
    ] {
        let mut router = Router::new();
        router.add("GET", "/:id", 1, &Requirements::from([("id".to_owned(), source.to_owned())])).expect(source);
        assert_resolves(
            &router,
            &[("GET", &format!("/{accepted}"), &format!("1 id={accepted}")), ("GET", &format!("/{refused}"), "404")],
        );
    }
}

#[test]
fn what_cannot_be_a_route_is_refused() {
    let mut router = Router::new();
    for method in ["", "GE T", "G\u{e9}T"] {
        let error = router.add(method, "/", 0, &Requirements::new()).expect_err(method).to_string();
        assert!(error.contains("is not an HTTP method"), "{error}");
    }
    let error = router.mount("/files/*path", 0).expect_err("a wildcard").to_string();
    assert!(error.contains("has a wildcard"), "{error}");
}

/// A deterministic source of choices (xorshift), so that a failure repeats.
struct Choices(u64);

impl Choices {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }

    fn joined(&mut self, all: &[&str], count_max: usize) -> String {
        (0..self.below(count_max + 1)).map(|_| format!("/{}", self.of(all))).collect()
    }
}

/// A route of the naive matcher: a regular expression and the specificity of each segment.
struct NaiveRoute {
    method: Option<String>,
    regex: Regex,
    key: Vec<(u8, i32)>,
    is_catch_all: bool,
}

/// Each kind of segment: how a pattern writes it, the expression for it, and its specificity.
const SEGMENTS: [(&str, &str, (u8, i32)); 7] = [
    ("a", "(?:a|%61)", (0, 0)),
    ("b", "b", (0, 0)),
    ("end", "end", (0, 0)),
    (":p.json", r"([^/.]+)\.json", (1, -5)),
    ("x-:p", "x-([^/.]+)", (1, -2)),
    (":p-:q", "([^/.]+)-([^/.]+)", (1, -1)),
    (":p", "([^/.]+)", (1, 0)),
];
const TAILS: [(&str, &str, (u8, i32)); 4] =
    [("", "", (0, 0)), ("/*w.json", r"/(.+)\.json", (2, -5)), ("/*w/end", "/(.+)/end", (2, -4)), ("/*w", "/(.+)", (2, 0))];

fn naive_result(routes: &[NaiveRoute], method: &str, path: &str) -> String {
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let normal = segments.iter().map(|segment| format!("/{segment}")).collect::<String>();
    let mut matching: Vec<usize> =
        (0..routes.len()).filter(|id| routes[*id].regex.is_match(&normal).expect("few steps")).collect();
    matching.sort_by_key(|id| routes[*id].key.clone());
    let mut allowed: Vec<&str> = Vec::new();
    for place in matching.chunk_by(|one, other| routes[*one].key == routes[*other].key) {
        let with = |wanted: Option<&str>| place.iter().find(|id| routes[**id].method.as_deref() == wanted);
        let withheld = method == "OPTIONS" && !allowed.is_empty() && routes[place[0]].is_catch_all;
        let get = if method == "HEAD" { with(Some("GET")) } else { None };
        let any = if withheld { None } else { with(None) };
        if let Some(id) = with(Some(method)).or(get).or(any) {
            let captures = routes[*id].regex.captures(&normal).expect("few steps").expect("it matched");
            let values: Vec<String> =
                (1..captures.len()).map(|at| captures.get(at).expect("a group").as_str().replace("%61", "a")).collect();
            return format!("{id} {}", values.join(","));
        }
        allowed.extend(place.iter().filter_map(|id| routes[*id].method.as_deref()));
    }
    if allowed.is_empty() {
        return "404".to_owned();
    }
    allowed.sort_unstable();
    allowed.dedup();
    format!("405 {}", allowed.join(","))
}

fn tree_result(router: &Router, method: &str, path: &str) -> String {
    match router.resolve(method, path) {
        Resolution::Route(found) => {
            let values: Vec<&str> = found.params(router, path).map(|(_, value)| value).collect();
            format!("{} {}", found.id, values.join(","))
        }
        Resolution::MethodNotAllowed(methods) => {
            let implied = |method: &&str| *method != "OPTIONS" && *method != "HEAD";
            let mut methods: Vec<&str> = methods.into_iter().filter(implied).collect();
            methods.sort_unstable();
            format!("405 {}", methods.join(","))
        }
        Resolution::NotFound => "404".to_owned(),
        Resolution::BadPath(error) => error.to_string(),
    }
}

#[test]
fn random_routes_and_paths_resolve_as_a_naive_matcher_does() {
    let mut choices = Choices(0x9e37_79b9_7f4a_7c15);
    let mut kinds = [0usize; 3];
    for _ in 0..300 {
        let mut router = Router::new();
        let mut naive = Vec::new();
        for id in 0..choices.below(25) + 1 {
            let method = choices.of(&["GET", "GET", "PUT", "POST", ANY_METHOD]);
            let parts: Vec<_> = (0..choices.below(4)).map(|_| SEGMENTS[choices.below(SEGMENTS.len())]).collect();
            let tail = TAILS[choices.below(7).saturating_sub(3)];
            let mut names = 0..;
            let mut pattern: String = parts.iter().map(|(text, _, _)| format!("/{text}")).collect::<String>() + tail.0;
            while let Some(at) = pattern.find([':', '*']) {
                let kind = if pattern.as_bytes()[at] == b':' { "\u{1}" } else { "\u{2}" };
                pattern.replace_range(at..at + 2, &format!("{kind}n{}", names.next().expect("endless")));
            }
            let pattern = pattern.replace('\u{1}', ":").replace('\u{2}', "*");
            let regex: String = parts.iter().map(|(_, regex, _)| format!("/{regex}")).collect();
            // The text of a literal is part of its place; parameters differ by their specificity.
            let mut key: Vec<(u8, i32)> = Vec::new();
            for (text, _, (kind, rank)) in &parts {
                key.push((*kind, if *kind == 0 { text.len() as i32 * 1000 + i32::from(text.as_bytes()[0]) } else { *rank }));
            }
            if !tail.0.is_empty() {
                key.push(tail.2);
            }
            router.add(method, &pattern, id as u32, &Requirements::new()).expect(&pattern);
            naive.push(NaiveRoute {
                method: (method != ANY_METHOD).then(|| method.to_owned()),
                regex: Regex::new(&format!(r"(?s)\A{regex}{}\z", tail.1)).expect("a regular expression"),
                key,
                is_catch_all: !tail.0.is_empty(),
            });
        }
        for _ in 0..200 {
            let texts = [
                "a", "b", "end", "%61", "x-1", "a-b-c", "a.json", "x-", "-", ".", "b.b", "", "x-.json", ".json", "a--", "日-é",
                "é.json",
            ];
            let path = choices.joined(&texts, 5) + choices.of(&["", "/"]);
            let method = choices.of(&["GET", "HEAD", "PUT", "DELETE", "OPTIONS"]);
            let expected = naive_result(&naive, method, &path);
            kinds[if expected == "404" {
                0
            } else if expected.starts_with("405") {
                1
            } else {
                2
            }] += 1;
            assert_eq!(tree_result(&router, method, &path), expected, "{method} {path}");
        }
    }
    assert!(kinds.iter().all(|count| *count > 1000), "the cases are too much alike: {kinds:?}");
}
