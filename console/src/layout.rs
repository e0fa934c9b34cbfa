//! What all pages share: the frame, the navigation, and common elements.
//!
//! Every link is relative and every page is directly below `/oozie/`, so that the console works under any base path.
//! Texts pass through `maud`, which escapes them; no page contains a script, a style or an event handler.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

/// The context of a page.
#[derive(Clone, Debug, Default)]
pub(crate) struct Context {
    /// The user, if known.
    pub(crate) user: Option<String>,
    /// Proves that a form came from a page of this server.
    pub(crate) token: String,
    /// `NORMAL` or another mode of the server.
    pub(crate) mode: &'static str,
    /// Message about the previous action.
    pub(crate) said: Option<String>,
    /// The subject of the page's events: an id, or none for all jobs.
    pub(crate) follows: Option<String>,
    /// Relative path from the page's address to the folder of all pages: `../` for each folder below it.
    pub(crate) up: String,
}

/// Encodes a value for a query.
pub(crate) fn part(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// Removes control characters for terminals, and characters that change the direction of text.
pub(crate) fn plain(text: &str) -> String {
    let steers = |c: char| {
        (c.is_control() && !matches!(c, '\n' | '\t'))
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|c| if steers(c) { '\u{fffd}' } else { c }).collect()
}

/// Renders a time, which the script shows in the reader's time zone.
pub(crate) fn time(ms: Option<i64>) -> Markup {
    let at = ms.and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    html! {
        @match at {
            Some(at) => time datetime=(at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ")) { (at.strftime("%Y-%m-%d %H:%M:%S UTC")) },
            None => span.none { "–" },
        }
    }
}

/// Formats a duration.
pub(crate) fn span(ms: i64) -> String {
    let seconds = ms.max(0) / 1_000;
    match seconds {
        // Most times have a resolution of one second.
        0 if ms <= 0 => "under 1 s".to_owned(),
        0 => format!("{ms} ms"),
        1..=9 => format!("{}.{} s", seconds, ms.max(0) % 1_000 / 100),
        10..=59 => format!("{seconds} s"),
        60..=3_599 => format!("{} min {} s", seconds / 60, seconds % 60),
        3_600..=86_399 => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds / 3_600 % 24),
    }
}

/// Renders the time from start to end, or until now if there is no end.
pub(crate) fn took(start: Option<i64>, end: Option<i64>, now: i64) -> Markup {
    html! {
        @match start {
            Some(start) => (span(end.unwrap_or(now) - start)),
            None => span.none { "–" },
        }
    }
}

/// Returns a name for display; a job may have none.
pub(crate) fn named(name: &str) -> String {
    match plain(name) {
        name if name.trim().is_empty() => "(no name)".to_owned(),
        name => name,
    }
}

/// Renders a sentence whose names are in backticks.
pub(crate) fn sentence(text: &str) -> Markup {
    let text = plain(text);
    let parts: Vec<&str> = text.split('`').collect();
    // If the backticks do not pair, none of them is interpreted.
    if parts.len().is_multiple_of(2) {
        return html! { (text) };
    }
    html! {
        @for (at, part) in parts.iter().enumerate() {
            @if at % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// Returns the group of a status, which determines its color.
pub(crate) fn tone(status: &str) -> &'static str {
    match status {
        "OK" | "DONE" | "SUCCEEDED" => "good",
        "ERROR" | "FAILED" | "KILLED" | "TIMEDOUT" => "bad",
        "DONEWITHERROR" | "RUNNINGWITHERROR" | "SUSPENDEDWITHERROR" | "PAUSEDWITHERROR" => "mixed",
        "RUNNING" | "SUBMITTED" | "END_RETRY" | "END_MANUAL" => "busy",
        "" => "none",
        _ => "idle",
    }
}

/// Renders a status as text with a color.
pub(crate) fn status(name: &str) -> Markup {
    let class = format!("status {}", tone(name));
    html! { span class=(class) { (plain(name)) } }
}

/// Whether a job with this status is still active.
pub(crate) fn is_active(status: &str) -> bool {
    !matches!(status, "SUCCEEDED" | "FAILED" | "KILLED" | "DONEWITHERROR" | "IGNORED")
}

/// Renders a link to a job or an action, by its id.
pub(crate) fn link(id: &str) -> Markup {
    let page = if id.contains('@') && !id.contains("-C@") { "action" } else { "job" };
    let job = if id.contains("-C@") { id.split('@').next().unwrap_or(id) } else { id };
    html! { a.id href=(format!("{page}?id={}", part(job))) { (plain(id)) } }
}

/// Renders an external URL; it becomes a link only if a browser may follow it.
pub(crate) fn outside(url: &str) -> Markup {
    let is_safe = url.starts_with("http://") || url.starts_with("https://");
    html! {
        @if is_safe { a href=(url) rel="noreferrer noopener" { (plain(url)) } }
        @else { code { (plain(url)) } }
    }
}

/// Renders a term with its value; empty without a value.
pub(crate) fn fact(term: &str, what: &str) -> Markup {
    html! { @if !what.is_empty() { div { dt { (term) } dd { (plain(what)) } } } }
}

/// Does the same with markup as the value.
pub(crate) fn drawn(term: &str, what: Markup) -> Markup {
    html! { div { dt { (term) } dd { (what) } } }
}

/// Renders a button that sends a command to a job.
pub(crate) fn button(
    context: &Context,
    id: &str,
    action: &str,
    label: &str,
    asks: Option<&str>,
) -> Markup {
    html! {
        form.inline method="post" action="act" data-asks=[asks] {
            (hidden(context))
            input type="hidden" name="id" value=(id);
            button.(if asks.is_some() { "danger" } else { "plain" }) name="action" value=(action) { (label) }
        }
    }
}

/// Renders the hidden fields of every form.
pub(crate) fn hidden(context: &Context) -> Markup {
    html! { input type="hidden" name="token" value=(context.token); }
}

/// Renders a picture of a job that our own printer made, and in which everything is escaped. Its style is in a separate
/// file, and its links lead to the definition in the console.
pub(crate) fn picture(svg: &str, id: &str) -> Markup {
    let (before, rest) = svg.split_once("<style>").unwrap_or((svg, ""));
    let after = rest.split_once("</style>").map_or("", |(_, after)| after);
    // Its nodes are links, which the role of an image would hide from assistive technology.
    let mut text = before.replacen(" role=\"img\"", " role=\"group\"", 1);
    for (at, piece) in after.split(" href=\"").enumerate() {
        if at == 0 {
            text.push_str(piece);
            continue;
        }
        let (address, rest) = piece.split_once('"').unwrap_or(("", piece));
        let line = address.rsplit_once("#L").map_or("", |(_, line)| line);
        let line: String = line.chars().filter(char::is_ascii_digit).collect();
        text.push_str(&format!(" href=\"job?id={}&amp;tab=definition#L{line}\"{rest}", part(id)));
    }
    PreEscaped(text)
}

const PLACES: [(&str, &str); 4] =
    [("./", "Jobs"), ("submit", "Submit"), ("estate", "Estate"), ("metrics", "Metrics")];

/// Renders a whole page.
pub(crate) fn page(context: &Context, here: &str, title: &str, body: Markup) -> String {
    let title = plain(title);
    let follows = context.follows.as_deref();
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · ankus" }
                link rel="icon" href={ (context.up) "icon.svg" } type="image/svg+xml";
                link rel="stylesheet" href={ (context.up) "console.css" };
                link rel="stylesheet" href={ (context.up) "graph.css" };
                script src={ (context.up) "console.js" } defer {}
            }
            body data-follows=[follows] {
                a.skip href="#main" { "Skip to the content" }
                header {
                    a.brand href={ (context.up) "./" } { img src={ (context.up) "icon.svg" } alt="" width="24" height="24"; "ankus" }
                    nav aria-label="Pages" {
                        @for (address, name) in PLACES {
                            a href={ (context.up) (address) } aria-current=[(here == address).then_some("page")] { (name) }
                        }
                    }
                    span.who {
                        @if context.mode != "NORMAL" { (status(context.mode)) " " }
                        span #link .link role="status" title="Whether this page is kept up to date" { "not live" }
                        @if let Some(user) = &context.user { " " (plain(user)) }
                    }
                }
                main #main tabindex="-1" {
                    @if let Some(said) = &context.said { p.said role="status" { (plain(said)) } }
                    (body)
                }
                footer { "Times are in your time zone, those of logs in UTC; hold the pointer over a time to see it in UTC." }
            }
        }
    }
    .into_string()
}

/// Renders an error page.
pub(crate) fn fault(context: &Context, status: u16, message: &str) -> String {
    let title = match status {
        401 | 403 => "Not allowed",
        404 => "Not found",
        _ => "That did not work",
    };
    page(
        context,
        "",
        title,
        html! {
            h1 { (title) }
            p.fault role="alert" { (plain(message)) }
            p { a href={ (context.up) "./" } { "All jobs" } }
        },
    )
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Hostile values of fields.
    pub(crate) const ATTACKS: [&str; 6] = [
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "' onmouseover='alert(1)",
        "javascript:alert(1)",
        "</title></pre></textarea></style><svg onload=alert(1)>",
        "a\u{1b}[2J\u{0}\u{202e}b",
    ];

    /// Returns the elements of a page with their attributes, as a browser parses them.
    fn elements(page: &str) -> Vec<(String, Vec<(String, String)>)> {
        let mut all = Vec::new();
        for (at, _) in page.match_indices('<') {
            let mut rest = &page[at + 1..];
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
            if end == 0 {
                continue;
            }
            let name = rest[..end].to_ascii_lowercase();
            rest = &rest[end..];
            let mut attributes = Vec::new();
            while let Some(inner) = rest.trim_start().strip_prefix(|c: char| c != '>' && c != '/') {
                let whole = rest.trim_start();
                let end = whole.find(['=', ' ', '>']).unwrap_or(whole.len());
                let attribute = whole[..end].to_ascii_lowercase();
                rest = &whole[end.max(whole.len() - inner.len())..];
                let mut value = "";
                if let Some(quoted) = rest.strip_prefix("=\"") {
                    let (inside, after) = quoted.split_once('"').expect("a value ends");
                    (value, rest) = (inside, after);
                }
                attributes.push((attribute, value.to_owned()));
            }
            all.push((name, attributes));
        }
        all
    }

    /// Asserts that a page contains nothing forbidden.
    #[track_caller]
    pub(crate) fn harmless(page: &str) {
        for (name, attributes) in elements(page) {
            let source =
                attributes.iter().find(|(name, _)| name == "src").map(|(_, value)| value.as_str());
            let is_ours = match name.as_str() {
                "script" => source == Some("console.js"),
                "img" => source == Some("icon.svg"),
                "iframe" | "object" | "embed" | "base" | "style" => false,
                _ => true,
            };
            assert!(is_ours, "<{name}> in {page}");
            for (attribute, value) in attributes {
                let is_fine = !attribute.starts_with("on")
                    && attribute != "style"
                    && !(attribute == "href"
                        && value.trim().to_lowercase().starts_with("javascript"))
                    && attribute.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
                assert!(is_fine, "<{name} {attribute}={value:?}> in {page}");
            }
        }
        for bad in ['\u{1b}', '\u{0}', '\u{202e}'] {
            assert!(!page.contains(bad), "{bad:?} in {page}");
        }
    }

    #[test]
    #[should_panic(expected = "onerror")]
    fn an_attack_that_gets_through_is_seen() {
        harmless("<p title=\"\"><img src=\"icon.svg\" onerror=alert(1)>");
    }

    #[test]
    fn no_text_gets_out_of_its_place() {
        for attack in ATTACKS {
            let context = Context {
                user: Some(attack.to_owned()),
                token: "t".to_owned(),
                mode: "NORMAL",
                said: Some(attack.to_owned()),
                follows: None,
                up: String::new(),
            };
            let body = html! { (status(attack)) (link(attack)) (outside(attack)) (fact("x", attack)) (button(&context, &plain(attack), "kill", "Kill", Some("?"))) };
            harmless(&page(&context, "./", attack, body));
            harmless(&fault(&context, 404, attack));
        }
    }

    #[test]
    fn only_the_web_is_a_link() {
        assert!(outside("https://rm/app").into_string().starts_with("<a href"));
        assert!(outside("file:///x").into_string().starts_with("<code>"));
        assert_eq!(link("1-C@2").into_string(), "<a class=\"id\" href=\"job?id=1%2DC\">1-C@2</a>");
    }

    #[test]
    fn a_picture_has_no_style_of_its_own() {
        let svg = picture("<svg><style>a{}</style><a href=\"x/y.xml#L12\"><g/></a></svg>", "1-W");
        let line = "<svg><a href=\"job?id=1%2DW&amp;tab=definition#L12\"><g/></a></svg>";
        assert_eq!(svg.into_string(), line);
    }

    #[test]
    fn names_between_backticks_are_names() {
        assert_eq!(sentence("`a<b` of `c`").into_string(), "<code>a&lt;b</code> of <code>c</code>");
        assert_eq!(sentence("a`b").into_string(), "a`b");
        assert_eq!((named(" "), named("a")), ("(no name)".to_owned(), "a".to_owned()));
    }

    #[test]
    fn durations_are_short() {
        let all = [0, 32, 1_250, 59_000, 61_000, 3_600_000, 90_000_000].map(span);
        assert_eq!(
            all,
            ["under 1 s", "32 ms", "1.2 s", "59 s", "1 min 1 s", "1 h 0 min", "1 d 1 h"]
        );
    }
}
