//! Tests of the XML parser.

use super::*;

/// The tree as an outline: names with attribute values, text in quotes.
fn outline(text: &str) -> String {
    fn walk(element: Element<'_>, out: &mut String) {
        out.push_str(element.name());
        for attribute in element.attributes() {
            out.push_str(&format!(" {}={}", attribute.name(), attribute.value().text));
        }
        out.push('(');
        for child in element.children() {
            match child.element() {
                Some(element) => walk(element, out),
                None if child.is_blank() || child.kind() == NodeKind::Comment => {}
                None => out.push_str(&format!("'{}'", child.decoded().text)),
            }
        }
        out.push(')');
    }
    let (tree, _) = Tree::parse(text);
    let mut out = String::new();
    if let Some(root) = tree.root() {
        walk(root, &mut out);
    }
    out
}

#[track_caller]
fn check_broken(text: &str, expected: &str, messages: &[&str]) {
    let (_, findings) = Tree::parse(text);
    assert_eq!(outline(text), expected);
    let found: Vec<_> = findings.iter().map(|finding| finding.message.as_str()).collect();
    assert_eq!(found, messages);
}

#[test]
fn an_open_quote_hides_nothing() {
    check_broken(
        "<w>\n <ok to=\"end/>\n <error to=\"k\"/>\n</w>",
        "w(ok to=end()error to=k())",
        &["the value of `to` has no closing quote"],
    );
    check_broken(
        "<w>\n <action name=\"a>\n  <fs/>\n </action>\n <end name=\"e\"/>\n</w>",
        "w(action name=a(fs())end name=e())",
        &["the value of `name` has no closing quote"],
    );
    check_broken(
        "<w>\n <a n=\"x\"\"/>\n <b/>\n</w>",
        "w(a n=x()b())",
        &["this belongs to no attribute"],
    );
}

#[test]
fn an_unclosed_tag_ends_where_the_next_begins() {
    check_broken(
        "<w>\n <a n=\"1\"\n <b/>\n </a>\n</w>",
        "w(a n=1(b()))",
        &["the tag `<a` is never closed with `>`"],
    );
    check_broken("<w><a/></w\n", "w(a())", &["the end tag `</w` is never closed with `>`"]);
}

#[test]
fn siblings_come_back_from_an_unclosed_element() {
    check_broken(
        "<w>\n <a>\n  <x/>\n <b/>\n <c/>\n</w>",
        "w(a(x())b()c())",
        &["`a` is never closed"],
    );
    check_broken(
        "<w>\n\t\t<a>\n\t\t\t<x/>\n    <b/>\n</w>",
        "w(a(x())b())",
        &["`a` is never closed"],
    );
    check_broken("<w><a><x/><a><x/></a></w>", "w(a(x())a(x()))", &["`a` is never closed"]);
    check_broken("<w>\n <x/>\n </a>\n <b/>\n</w>", "w(x()b())", &["`</a>` closes nothing"]);
    check_broken(
        "<w><a/></w>\n<b/>",
        "w(a()b())",
        &["an element after the end of the root element"],
    );
}

#[test]
fn names_of_any_script_keep_their_places() {
    let text = "<n e=\"\"\u{fffd}=\"\"/>";
    let (_, findings) = Tree::parse(text);
    let places: Vec<_> = findings.iter().map(|finding| text.get(finding.span.range())).collect();
    assert!(places[0] == Some("\"\u{fffd}"), "{findings:?}");
}

#[test]
fn raw_operators_are_found_and_kept() {
    check_broken(
        "<w><a>${x && y}</a></w>",
        "w(a('${x && y}'))",
        &["a bare `&&` does not start a reference"],
    );
    check_broken(
        "<w><a>${x<y}</a><b/></w>",
        "w(a('${x<y}')b())",
        &["a bare `<` does not start an element"],
    );
    check_broken(
        "<w><a t=\"${x < y}\"/></w>",
        "w(a t=${x < y}())",
        &["`<` is not allowed in an attribute value"],
    );
}

#[test]
fn a_name_apart_from_its_bracket_still_names_a_tag() {
    let blank = "no whitespace is allowed after `<`";
    let double = "a second `<` does not start an element";
    let end = "an end tag begins with `</`";
    check_broken("<w>< a x='1'/><b/></w>", "w(a x=1()b())", &[blank]);
    check_broken("<w>\n<\n a>t</a></w>", "w(a('t'))", &[blank]);
    check_broken("<w><<a x='1'/><b/></w>", "w(a x=1()b())", &[double]);
    for slip in ["< /a>", "</ a>", "<//a>", "<\\a>", "<</a>"] {
        check_broken(&format!("<w><a>t{slip}<b/></w>"), "w(a('t')b())", &[end]);
    }
    check_broken(
        "<w><a>${x < y}</a></w>",
        "w(a('${x < y}'))",
        &["a bare `<` does not start an element"],
    );
}

#[test]
fn a_tag_without_its_bracket_is_still_a_tag() {
    let missing = "the `<` of this tag is missing";
    check_broken("<w><b/>a x='1'/><b/></w>", "w(b()a x=1()b())", &[missing]);
    check_broken("<w>\na>\n<b/></a></w>", "w(a(b()))", &[missing]);
    check_broken("<w><a>\n<b/>\n/a><b/></w>", "w(a(b())b())", &[missing]);
    assert!(Tree::parse("<w><b/><a>x > y</a><a>a></a></w>").1.is_empty());
}

#[test]
fn a_tag_with_the_bracket_of_another_kind_is_found_where_it_is() {
    let closed = "this already closes `a`, which has an end tag below";
    check_broken("<w><a x='1'/><b/></a><c/></w>", "w(a x=1(b())c())", &[closed]);
    let open = "this is not an end tag, and `a` is never closed";
    for text in ["<w><a><b/><a></w>", "<w><a><b/><a/></w>"] {
        let (_, findings) = Tree::parse(text);
        let found: Vec<_> = findings.iter().map(|f| (&*f.message, f.span.start)).collect();
        assert_eq!(found, [(open, 10)], "{text}");
    }
    check_broken("<w><a x \"1\"/></w>", "w(a x=1())", &["the `=` after `x` is missing"]);
}

/// The fix of an ampersand depends on where it stands; in what looks like a tag it is a guess.
#[test]
fn an_ampersand_is_mended_where_it_stands() {
    let after = |text: &str| {
        let (_, findings) = Tree::parse(text);
        let fixes = findings.iter().flat_map(|finding| &finding.fixes);
        let safe = fixes.filter(|fix| fix.safety == crate::diag::Safety::Safe);
        let mut text = text.to_owned();
        for fix in safe.collect::<Vec<_>>().into_iter().rev() {
            for edit in fix.edits.iter().rev() {
                text.replace_range(edit.span.range(), &edit.text);
            }
        }
        text
    };
    for (before, expected) in [
        ("<a>cd /x && ls</a>", "<a>cd /x &amp;&amp; ls</a>"),
        ("<a>${x && y} && ls</a>", "<a>${x and y} &amp;&amp; ls</a>"),
        ("<a>${x&&y}</a>", "<a>${x and y}</a>"),
        ("<a>jdbc:x?a=1&b=2</a>", "<a>jdbc:x?a=1&amp;b=2</a>"),
        ("<a>one & two</a>", "<a>one &amp; two</a>"),
        ("<a x='1&2'/>", "<a x='1&amp;2'/>"),
        ("<a>&b>text</a>", "<a>&b>text</a>"),
        ("<a>text&/b></a>", "<a>text&/b></a>"),
        ("<a><&b>text</a>", "<a><&b>text</a>"),
    ] {
        assert_eq!(after(before), expected);
    }
}

#[test]
fn text_maps_back_through_references_and_cdata() {
    let text = "<a>x &lt; y<![CDATA[ && ]]>\r\nz</a>";
    let (tree, findings) = Tree::parse(text);
    assert!(findings.is_empty(), "{findings:?}");
    let decoded = tree.root().expect("a root").text();
    assert_eq!(decoded.text, "x < y && \nz");
    let source = |range| &text[decoded.source(range).range()];
    assert_eq!(source(2..3), "&lt;");
    assert_eq!(source(4..5), "y");
    assert_eq!(source(6..8), "&&");
    assert_eq!(source(9..10), "\r\n");
    assert_eq!(source(10..11), "z");
    let trimmed = decoded.trimmed();
    assert_eq!(&text[trimmed.source(2..3).range()], "&lt;");
}

#[test]
fn namespaces_follow_their_scope() {
    let text = "<w xmlns='u:w' xmlns:s='u:s'><s:i/><b xmlns='u:b'><c/></b><d/></w>";
    let (tree, _) = Tree::parse(text);
    let names: Vec<_> =
        tree.root().expect("a root").descendants().map(|e| (e.name(), e.namespace())).collect();
    assert_eq!(names, [("w", "u:w"), ("i", "u:s"), ("b", "u:b"), ("c", "u:b"), ("d", "u:w")]);
}

#[test]
fn depth_is_bounded() {
    let text = "<a>".repeat(20_000);
    let (tree, findings) = Tree::parse(&text);
    assert!(tree.is_truncated());
    assert_eq!(findings.iter().map(|f| f.kind.name).collect::<Vec<_>>(), ["nested-too-deep"]);
}

#[test]
fn nothing_at_all_is_one_finding() {
    for text in ["", " \n", "\u{feff}", "hello", "\u{89}PNG"] {
        let (tree, findings) = Tree::parse(text);
        assert!(tree.root().is_none());
        assert_eq!(findings.len(), 1, "{text:?}: {findings:?}");
    }
}

#[test]
fn many_attributes_are_noticed_where_they_are_some() {
    let many = |quote: &str| format!(" a={quote}1{quote}").repeat(STRICT_LIMIT + 1);
    assert!(is_dense(&format!("<a><b{}/></a>", many("'"))));
    assert!(is_dense(&format!("<a x='>'{}>", many("\""))));
    for few in [
        format!("<a>{}</a>", many("'")),
        format!("<!-- <b{}/> --><a/>", many("'")),
        format!("<a><![CDATA[<b{}/>]]></a>", many("'")),
        format!("<a b=\"{}\"/>", many("'")),
        "<a b='1'/>".repeat(STRICT_LIMIT + 1),
        "<!-- ".to_owned(),
    ] {
        assert!(!is_dense(&few), "{}", &few[..20]);
    }
}

#[test]
fn what_only_the_strict_parser_sees_is_reported() {
    let (tree, findings) = Tree::parse("<a>]]></a>");
    assert!(!tree.is_well_formed());
    assert_eq!(findings.len(), 1);
}

proptest::proptest! {
    #[test]
    fn what_is_below_an_element_is_what_its_children_lead_to(text in "(<[abc]( x=\"1\")?/?>|</[abc]>|\n {0,4}|t|<!-- c -->){0,30}") {
        let (tree, _) = Tree::parse(&text);
        for element in tree.nodes().filter_map(Child::element) {
            let mut todo = vec![element];
            let mut walked = Vec::new();
            while let Some(element) = todo.pop() {
                walked.push(element.id());
                let below: Vec<_> = element.children().filter_map(Child::element).collect();
                todo.extend(below.into_iter().rev());
            }
            let below: Vec<_> = element.descendants().map(Element::id).collect();
            proptest::prop_assert_eq!(walked, below);
        }
    }

    #[test]
    fn any_text_gives_a_tree_with_spans_in_bounds(text in "([<>/a-c \"'=&;\n!?\\[\\]-]|<!--|-->|<!\\[CDATA\\[|\\]\\]>|é|\u{feff}){0,60}") {
        let (tree, findings) = Tree::parse(&text);
        for finding in &findings {
            proptest::prop_assert!(text.get(finding.span.range()).is_some(), "{finding:?}");
        }
        for node in tree.nodes() {
            proptest::prop_assert!(text.get(node.span().range()).is_some());
            let _ = node.decoded();
            if let Some(element) = node.element() {
                for attribute in element.attributes() {
                    proptest::prop_assert!(text.get(attribute.span().range()).is_some());
                    let _ = attribute.value();
                }
                let _ = element.text();
            }
        }
        if let Some(root) = tree.root() {
            proptest::prop_assert!(root.descendants().count() <= tree.len());
        }
    }

    #[test]
    fn well_formed_is_what_the_strict_parser_says(text in "(<[abc]( x=\"[1&]?\")?/?>|</[abc]>|t|&lt;|<!-- c -->){0,12}") {
        let (tree, _) = Tree::parse(&text);
        proptest::prop_assert_eq!(tree.is_well_formed(), roxmltree::Document::parse(&text).is_ok());
    }
}
