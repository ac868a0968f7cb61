//! The page for users lists every refusal of the source, with its status, and no other.

use std::collections::BTreeSet;

const PAGE: &str = include_str!("../../../../../specs/http_limits.md");
const SOURCE: &str = include_str!("../rejection.rs");

#[test]
fn the_page_lists_every_refusal() {
    let listed: BTreeSet<_> = PAGE.lines().filter_map(listed_refusal).collect();
    assert_eq!(listed, refusals_of_the_source());
}

/// `| 400 | `invalid_host` | ...`
fn listed_refusal(line: &str) -> Option<(u16, &str)> {
    let mut cells = line.split('|').map(str::trim).skip(1);
    let status = cells.next()?.parse().ok()?;
    Some((status, cells.next()?.trim_matches('`')))
}

/// Every `Self::new(400, "invalid_host", ...)`, on one line or several.
fn refusals_of_the_source() -> BTreeSet<(u16, &'static str)> {
    let calls = SOURCE.split("Self::new(").skip(1);
    calls
        .map(|call| {
            let mut arguments = call.split(',').map(str::trim);
            let status = arguments.next().and_then(|status| status.parse().ok()).expect("the status comes first");
            let code = arguments.next().map(|code| code.trim_matches('"')).expect("the code comes second");
            (status, code)
        })
        .collect()
}
