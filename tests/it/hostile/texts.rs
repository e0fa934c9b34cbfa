//! Single files that are small to send and were, or could be, expensive to read: what each list of the language does when
//! somebody makes it long.
//!
//! Two read this file: the test that holds the work on each in bounds, and `cargo xtask attack`, which measures time and
//! memory of the commands. Everything is made from a size, so that growth can be told from a large beginning.

use std::fmt::Write as _;

/// What an attack makes.
pub(crate) struct Tree {
    /// The file that commands are pointed at.
    pub(crate) main: &'static str,
    /// Paths below the folder, with what stands there.
    pub(crate) files: Vec<(&'static str, Vec<u8>)>,
}

/// One attack.
pub(crate) struct Attack {
    /// Its name.
    pub(crate) name: &'static str,
    /// The size at which it was found, or would be tried.
    pub(crate) size: usize,
    /// Makes it.
    pub(crate) make: fn(usize) -> Tree,
}

/// Every attack.
pub(crate) const ATTACKS: &[Attack] = &[
    attack("nested-replace-all", 24, |n| expression(&replaced(n, "replaceAll"))),
    attack("nested-replace-last", 24, |n| expression(&replaced(n, "replaceLast"))),
    attack("nested-concat", 40, |n| expression(&doubled(n, "concat(", ",", ")"))),
    attack("nested-plus", 16, |n| expression(&doubled(n, "(", " += ", ")"))),
    attack("nested-url-encode", 4_000, |n| {
        expression(&format!("${{{}'%%%%'{}}}", "urlEncode(".repeat(n), ")".repeat(n)))
    }),
    attack("calls-of-lambdas", 40, |n| {
        expression(&format!("${{{}1{}}}", "((x->x+x)(".repeat(n), "))".repeat(n)))
    }),
    attack("lambda-that-doubles", 60, |n| {
        let calls = "d(".repeat(n);
        expression(&format!("${{((d->{calls}'ab'{})(x->x += x))}}", ")".repeat(n)))
    }),
    attack("lists-of-lists", 64_000, |n| expression(&format!("${{[{}1]}}", "[1,'a'],".repeat(n)))),
    attack("sets-of-lists", 64_000, |n| {
        let items: String = (0..n).map(|at| format!("[{at}],")).collect();
        expression(&format!("${{{{{items}1}}}}"))
    }),
    attack("maps-with-many-keys", 64_000, |n| {
        let items: String = (0..n).map(|at| format!("'k{at}':[{at}],")).collect();
        expression(&format!("${{{{{items}'z':1}}}}"))
    }),
    attack("expression-of-many-operators", 200_000, |n| {
        expression(&format!("${{{}1}}", "1+".repeat(n)))
    }),
    attack("expression-of-many-conditions", 100_000, |n| {
        expression(&format!("${{{}1}}", "a?b:".repeat(n)))
    }),
    attack("expression-of-many-parentheses", 200_000, |n| {
        expression(&format!("${{{}1{}}}", "(".repeat(n), ")".repeat(n)))
    }),
    attack("expression-of-many-suffixes", 200_000, |n| {
        expression(&format!("${{a{}}}", ".b['c']".repeat(n)))
    }),
    attack("text-of-many-expressions", 100_000, |n| expression(&"${a}".repeat(n))),
    attack("text-of-many-unclosed-expressions", 100_000, |n| expression(&"${a".repeat(n))),
    attack("text-of-many-open-quotes", 100_000, |n| expression(&"${'a".repeat(n))),
    attack("text-of-many-broken-expressions", 50_000, |n| expression(&"${a b}".repeat(n))),
    attack("text-of-many-unknown-functions", 30_000, |n| {
        expression(&(0..n).map(|at| format!("${{wf:fun{at}(1)}}")).collect::<String>())
    }),
    attack("text-of-many-references", 200_000, |n| expression(&"&#x24;{a}".repeat(n))),
    attack("text-of-many-sections", 50_000, |n| expression(&"<![CDATA[${a}]]>x".repeat(n))),
    attack("constants-that-compare", 50_000, |n| {
        expression(&"${concat('a', 'b') eq toLower('AB')}".repeat(n))
    }),
    attack("attributes", 64_000, |n| {
        let attributes: String = (0..n).map(|at| format!(" a{at}='{at}'")).collect();
        action(&format!("<fs{attributes}><mkdir path='/a'/></fs>"))
    }),
    attack("attributes-of-one-name", 64_000, |n| {
        action(&format!("<fs{}><mkdir path='/a'/></fs>", " name='a'".repeat(n)))
    }),
    attack("attributes-of-the-root", 64_000, |n| {
        let attributes: String = (0..n).map(|at| format!(" nane{at}='{at}'")).collect();
        workflow(&format!("<workflow-app{attributes} "), "")
    }),
    attack("attributes-without-values", 64_000, |n| {
        let attributes: String = (0..n).map(|at| format!(" a{at}")).collect();
        action(&format!("<fs{attributes}><mkdir path='/a'/></fs>"))
    }),
    attack("namespaces", 64_000, |n| {
        let attributes: String = (0..n).map(|at| format!(" xmlns:n{at}='u:{at}'")).collect();
        action(&format!("<fs{attributes}><mkdir path='/a'/></fs>"))
    }),
    attack("namespaces-used", 30_000, |n| {
        let declared: String = (0..n).map(|at| format!(" xmlns:n{at}='u:{at}'")).collect();
        let used: String = (0..n).map(|at| format!(" n{at}:x='{at}'")).collect();
        action(&format!("<fs{declared}{used}><mkdir path='/a'/></fs>"))
    }),
    attack("namespaces-below", 30_000, |n| {
        let declared: String = (0..n).map(|at| format!(" xmlns:n{at}='u:{at}'")).collect();
        action(&format!("<fs{declared}>{}</fs>", "<n0:mkdir path='/a'/>".repeat(n)))
    }),
    attack("namespaces-anew", 60_000, |n| {
        let inner: String = (0..n).map(|at| format!("<mkdir xmlns='u:{at}' path='/a'/>")).collect();
        action(&format!("<fs>{inner}</fs>"))
    }),
    attack("unknown-prefixes", 60_000, |n| {
        let inner: String = (0..n).map(|at| format!("<p{at}:mkdir path='/a'/>")).collect();
        action(&format!("<fs>{inner}</fs>"))
    }),
    attack("allow-comments", 32_000, |n| {
        action(&format!(
            "{}<fs><mkdir path='/a'/></fs>",
            "<!-- ankus: allow(fs-not-atomic) -->\n".repeat(n)
        ))
    }),
    attack("allow-comments-each-used", 16_000, |n| {
        let one = "<!-- ankus: allow(unresolved-transition) -->\n";
        chain(n, |at| {
            format!("{one}<action name='a{at}'><fs/><ok to='x{at}'/><error to='y{at}'/></action>\n")
        })
    }),
    attack("allow-comments-for-the-file", 32_000, |n| {
        let (start, end) =
            ("<!-- ankus: allow-file(unresolved-transition) -->\n".repeat(n), unresolved(n / 4));
        workflow(&format!("{start}<workflow-app"), &end)
    }),
    attack("allow-comment-of-many-names", 64_000, |n| {
        let names: String = (0..n).map(|at| format!("rule-{at}, ")).collect();
        workflow(
            &format!("<!-- ankus: allow-file({names}x) -->\n<workflow-app"),
            &unresolved(8_000),
        )
    }),
    attack("duplicate-actions", 16_000, |n| {
        chain(n, |_| {
            "<action name='a'><fs><mkdir path='/a'/></fs><ok to='end'/><error to='end'/></action>\n"
                .to_owned()
        })
    }),
    attack("unresolved-transitions", 64_000, |n| workflow("<workflow-app", &unresolved(n))),
    attack("unresolved-and-alike", 16_000, |n| {
        let long = "abcdefghijklmnopqrstuvwxyz0123456789".repeat(2);
        chain(n, |at| {
            format!(
                "<action name='{long}{at}'><fs/><ok to='{long}{at}x'/><error to='x{long}{at}'/></action>\n"
            )
        })
    }),
    attack("names-of-a-megabyte", 1_000_000, |n| {
        let (a, b) = ("a".repeat(n), "ab".repeat(n / 2));
        workflow(
            "<workflow-app",
            &format!(
                "<start to='{b}'/><action name='{a}'><fs/><ok to='{b}'/><error to='e'/></action><end name='e'/>"
            ),
        )
    }),
    attack("values-of-megabytes", 4_000_000, |n| {
        let a = "a ".repeat(n / 2);
        action(&format!("<fs><mkdir path='{a}'/><delete path='${{{a}}}'/></fs>"))
    }),
    attack("unknown-elements", 64_000, |n| {
        let inner: String = (0..n).map(|at| format!("<nkdir{at} path='/a'/>")).collect();
        action(&format!("<fs>{inner}</fs>"))
    }),
    attack("unknown-element-of-a-megabyte", 1_000_000, |n| {
        let a = "mkdir".repeat(n / 5);
        action(&format!("<fs><{a} path='/a'/></fs>"))
    }),
    attack("undefined-variables", 32_000, |n| {
        chain(n, |at| {
            format!(
                "<action name='a{at}'><fs><mkdir path='${{variable{at}}}'/></fs><ok to='end'/><error to='end'/></action>\n"
            )
        })
    }),
    attack("undefined-variables-of-kilobytes", 2_000, |n| {
        let long = "abcdefghij".repeat(200);
        chain(n, |at| {
            format!(
                "<action name='a{at}'><fs><mkdir path='${{{long}{at}}}'/></fs><ok to='end'/><error to='end'/></action>\n"
            )
        })
    }),
    attack("parameters", 64_000, |n| {
        let all: String =
            (0..n).map(|at| format!("<property><name>p{at}</name></property>\n")).collect();
        workflow(
            "<workflow-app",
            &format!("<parameters>{all}</parameters><start to='end'/><end name='end'/>"),
        )
    }),
    attack("parameters-of-one-name", 64_000, |n| {
        let all = "<property><name>p</name><value>1</value></property>\n".repeat(n);
        workflow(
            "<workflow-app",
            &format!("<parameters>{all}</parameters><start to='end'/><end name='end'/>"),
        )
    }),
    attack("parameters-in-turn", 20_000, |n| {
        let all: String = (0..n)
            .map(|at| {
                format!("<property><name>p{at}</name><value>${{p{}}}</value></property>\n", at + 1)
            })
            .collect();
        workflow(
            "<workflow-app",
            &format!("<parameters>{all}</parameters><start to='${{p0}}'/><end name='end'/>"),
        )
    }),
    attack("global-properties", 32_000, |n| {
        let all: String = (0..n)
            .map(|at| format!("<property><name>p{at}</name><value>${{v{at}}}</value></property>\n"))
            .collect();
        let inner = format!("<configuration>{all}</configuration>");
        let actions: String = (0..8).map(|at| java(at, &inner)).collect();
        workflow(
            "<workflow-app",
            &format!("<global>{inner}</global><start to='a0'/>{actions}<end name='end'/>"),
        )
    }),
    attack("global-properties-for-many-actions", 2_000, |n| {
        let all: String = (0..n)
            .map(|at| format!("<property><name>p{at}</name><value>v{at}</value></property>\n"))
            .collect();
        let actions: String = (0..n).map(|at| java(at, "")).collect();
        workflow(
            "<workflow-app",
            &format!(
                "<global><configuration>{all}</configuration></global><start to='a0'/>{actions}<end name='end'/>"
            ),
        )
    }),
    attack("configuration-of-one-name", 64_000, |n| {
        let all = "<property><name>p</name><value>1</value></property>\n".repeat(n);
        workflow(
            "<workflow-app",
            &format!(
                "<start to='a0'/>{}<end name='end'/>",
                java(0, &format!("<configuration>{all}</configuration>"))
            ),
        )
    }),
    attack("credentials", 32_000, |n| {
        let all: String = (0..n).map(|at| format!("<credential name='c{at}' type='hcat'><property><name>a</name><value>b</value></property></credential>\n")).collect();
        let names: String = (0..n).map(|at| format!("c{at},d{at},")).collect();
        workflow(
            "<workflow-app",
            &format!(
                "<credentials>{all}</credentials><start to='a'/><action name='a' cred='{names}z'><fs/><ok to='end'/><error to='end'/></action><end name='end'/>"
            ),
        )
    }),
    attack("credentials-of-one-name", 32_000, |n| {
        let all = "<credential name='c' type='hcat'><property><name>a</name><value>b</value></property></credential>\n".repeat(n);
        workflow(
            "<workflow-app",
            &format!(
                "<credentials>{all}</credentials><start to='a'/><action name='a' cred='c'><fs/><ok to='end'/><error to='end'/></action><end name='end'/>"
            ),
        )
    }),
    attack("arguments", 64_000, |n| {
        shell(&(0..n).map(|at| format!("<argument>-x{at}</argument>\n")).collect::<String>())
    }),
    attack("files", 64_000, |n| {
        shell(
            &(0..n)
                .map(|at| format!("<file>f{at}.sh#l</file><archive>a{at}.zip#l</archive>\n"))
                .collect::<String>(),
        )
    }),
    attack("files-of-one-link", 64_000, |n| shell(&"<file>f.sh#l</file>".repeat(n))),
    attack("environment", 64_000, |n| {
        shell(&(0..n).map(|at| format!("<env-var>A{at}=b</env-var>\n")).collect::<String>())
    }),
    attack("job-xml", 32_000, |n| {
        let all: String = (0..n).map(|at| format!("<job-xml>j{at}.xml</job-xml>\n")).collect();
        workflow("<workflow-app", &format!("<start to='a0'/>{}<end name='end'/>", java(0, &all)))
    }),
    attack("operations-of-fs", 32_000, |n| {
        let all: String = (0..n).map(|at| format!("<delete path='${{nameNode}}/a/{at}'/><mkdir path='${{nameNode}}/a/{at}'/><move source='/a/{at}' target='/b/{at}'/>\n")).collect();
        action(&format!("<fs>{all}</fs>"))
    }),
    attack("preparations", 32_000, |n| {
        let all: String =
            (0..n).map(|at| format!("<delete path='/a/{at}'/><mkdir path='/a/{at}'/>\n")).collect();
        workflow(
            "<workflow-app",
            &format!(
                "<start to='a0'/>{}<end name='end'/>",
                java(0, &format!("<prepare>{all}</prepare>"))
            ),
        )
    }),
    attack("mail-recipients", 100_000, |n| {
        let all: String = (0..n).map(|at| format!("a{at}@b{at}.example.org,")).collect();
        action(&format!(
            "<email xmlns='uri:oozie:email-action:0.2'><to>{all}</to><subject>s</subject><body>b</body></email>"
        ))
    }),
    attack("cases", 64_000, |n| {
        let all: String =
            (0..n).map(|at| format!("<case to='end'>${{x eq {at}}}</case>\n")).collect();
        workflow(
            "<workflow-app",
            &format!(
                "<start to='d'/><decision name='d'><switch>{all}<default to='end'/></switch></decision><end name='end'/>"
            ),
        )
    }),
    attack("cases-to-nowhere", 64_000, |n| {
        let all: String =
            (0..n).map(|at| format!("<case to='n{at}'>${{x eq {at}}}</case>\n")).collect();
        workflow(
            "<workflow-app",
            &format!(
                "<start to='d'/><decision name='d'><switch>{all}<default to='end'/></switch></decision><end name='end'/>"
            ),
        )
    }),
    attack("paths-of-a-fork", 16_000, |n| {
        let paths: String = (0..n).map(|at| format!("<path start='a{at}'/>")).collect();
        let actions: String = (0..n)
            .map(|at| format!("<action name='a{at}'><fs/><ok to='j'/><error to='k'/></action>\n"))
            .collect();
        workflow(
            "<workflow-app",
            &format!(
                "<start to='f'/><fork name='f'>{paths}</fork>{actions}<join name='j' to='end'/><kill name='k'><message>m</message></kill><end name='end'/>"
            ),
        )
    }),
    attack("paths-of-a-fork-to-one", 64_000, |n| {
        let paths = "<path start='a'/>".repeat(n);
        workflow(
            "<workflow-app",
            &format!(
                "<start to='f'/><fork name='f'>{paths}</fork><action name='a'><fs/><ok to='j'/><error to='j'/></action><join name='j' to='end'/><end name='end'/>"
            ),
        )
    }),
    attack("every-action-to-every-action", 700, |n| {
        let all: String = (0..n).map(|at| {
            let cases: String = (0..n).map(|to| format!("<case to='d{to}'>${{x eq {to}}}</case>")).collect();
            format!("<decision name='d{at}'><switch>{cases}<default to='end'/></switch></decision>\n")
        }).collect();
        workflow("<workflow-app", &format!("<start to='d0'/>{all}<end name='end'/>"))
    }),
    attack("every-action-to-all-behind", 700, |n| {
        let all: String = (0..n).map(|at| {
            let cases: String = (at + 1..n).map(|to| format!("<case to='d{to}'>${{x eq {to}}}</case>")).collect();
            format!("<decision name='d{at}'><switch>{cases}<default to='end'/></switch></decision>\n")
        }).collect();
        workflow("<workflow-app", &format!("<start to='d0'/>{all}<end name='end'/>"))
    }),
    attack("actions-that-read-all", 4_000, |n| {
        chain(n, |at| {
            format!(
                "<action name='a{at}'><fs><mkdir path='${{wf:actionData(\"a{}\")[\"k\"]}}'/></fs><ok to='a{}'/><error to='end'/></action>\n",
                n - at,
                at + 1
            )
        })
    }),
    attack("one-line", 16_000, |n| {
        let all: String = (0..n)
            .map(|at| {
                format!("<action name='a{at}'><fs/><ok to='x{at}'/><error to='y{at}'/></action>")
            })
            .collect();
        workflow("<workflow-app", &format!("<start to='a0'/>{all}<end name='end'/>"))
    }),
    attack("one-line-of-other-scripts", 16_000, |n| {
        let all: String = (0..n)
            .map(|at| {
                format!("<action name='ä{at}'><fs/><ok to='ß{at}'/><error to='é{at}'/></action>")
            })
            .collect();
        workflow("<workflow-app", &format!("<start to='ä0'/>{all}<end name='end'/>"))
    }),
    attack("lines-of-carriage-returns", 2_000_000, |n| {
        workflow("<workflow-app", &format!("{}<end name='e'/>", "\r".repeat(n)))
    }),
    attack("unclosed-comments", 64_000, |n| workflow("<workflow-app", &"<!--\n".repeat(n))),
    attack("unclosed-sections", 64_000, |n| workflow("<workflow-app", &"<![CDATA[\n".repeat(n))),
    attack("unclosed-declarations", 64_000, |n| workflow("<workflow-app", &"<!x\n".repeat(n))),
    attack("unclosed-instructions", 64_000, |n| workflow("<workflow-app", &"<?x\n".repeat(n))),
    attack("unclosed-tags", 64_000, |n| workflow("<workflow-app", &"<a\n".repeat(n))),
    attack("unclosed-end-tags", 64_000, |n| workflow("<workflow-app", &"</a\n".repeat(n))),
    attack("unclosed-quotes", 64_000, |n| {
        workflow("<workflow-app", &format!("{}<a b=\"", "<a b='x\n".repeat(n)))
    }),
    attack("unclosed-elements", 64_000, |n| {
        workflow("<workflow-app", &"<action name='a'>\n".repeat(n))
    }),
    attack("unclosed-elements-with-content", 64_000, |n| {
        workflow("<workflow-app", &"<action name='a'>\n<fs>\n<ok to='a'/>\n</action>\n".repeat(n))
    }),
    attack("elements-that-go-deeper-and-back", 2_000, |n| {
        let inner = format!("{}{}", "<a>".repeat(900), "</a>".repeat(900));
        workflow("<workflow-app", &inner.repeat(n / 100))
    }),
    attack("wrong-end-tags", 64_000, |n| {
        workflow("<workflow-app", &format!("{}{}", "<a>".repeat(900), "</b>".repeat(n)))
    }),
    attack("bare-less-than", 100_000, |n| workflow("<workflow-app", &"< ".repeat(n))),
    attack("bare-ampersands", 100_000, |n| workflow("<workflow-app", &"& ".repeat(n))),
    attack("bare-ampersands-in-a-value", 100_000, |n| {
        action(&format!("<fs><mkdir path='{}'/></fs>", "& < ".repeat(n)))
    }),
    attack("attributes-with-rubbish", 100_000, |n| {
        workflow("<workflow-app", &format!("<a {}/>", "'' \u{e9}".repeat(n)))
    }),
    attack("entities", 32_000, |n| {
        let declared: String = (0..n).map(|at| format!("<!ENTITY e{at} 'x'>")).collect();
        let used: String = (0..n).rev().map(|at| format!("&e{at};")).collect();
        workflow(
            &format!("<!DOCTYPE workflow-app [{declared}]>\n<workflow-app"),
            &format!("<start to='{used}'/><end name='e'/>"),
        )
    }),
    attack("entities-of-entities", 30, |n| {
        let declared: String =
            (1..n).map(|at| format!("<!ENTITY e{at} '&e{0};&e{0};'>", at - 1)).collect();
        workflow(
            &format!("<!DOCTYPE workflow-app [<!ENTITY e0 'lol'>{declared}]>\n<workflow-app"),
            &format!("<start to='&e{};'/><end name='e'/>", n - 1),
        )
    }),
    attack("comments-with-nodes", 16_000, |n| {
        let all: String = (0..n)
            .map(|at| {
                format!("<!-- <action name='a{at}'><fs/><ok to='a'/><error to='b'/></action> -->\n")
            })
            .collect();
        workflow("<workflow-app", &format!("<start to='e'/>{all}<end name='e'/>"))
    }),
    attack("a-comment-with-nodes", 32_000, |n| {
        let all: String = (0..n)
            .map(|at| format!("<action name='a{at}'><fs/><ok to='a'/><error to='b'/></action>\n"))
            .collect();
        workflow("<workflow-app", &format!("<start to='e'/><!-- {all} --><end name='e'/>"))
    }),
    attack("sla-and-info", 16_000, |n| {
        chain(n, |at| {
            format!(
                "<action name='a{at}'><fs/><ok to='end'/><error to='end'/><info xmlns='uri:oozie:sla:0.2'><nominal-time>x</nominal-time><should-end>y</should-end></info></action>\n"
            )
        })
    }),
    attack("sub-workflows", 16_000, |n| {
        chain(n, |at| {
            format!(
                "<action name='a{at}'><sub-workflow><app-path>../s{at}</app-path></sub-workflow><ok to='end'/><error to='end'/></action>\n"
            )
        })
    }),
    attack("datasets", 16_000, |n| {
        let all: String = (0..n).map(|at| dataset(&format!("d{at}"))).collect();
        let ins: String = (0..n).map(|at| format!("<data-in name='i{at}' dataset='d{at}'><instance>${{coord:current(0)}}</instance></data-in>\n")).collect();
        let outs: String = (0..n).map(|at| format!("<data-out name='o{at}' dataset='d{at}'><instance>${{coord:current(0)}}</instance></data-out>\n")).collect();
        coordinator("${coord:days(1)}", &all, &ins, &outs, "")
    }),
    attack("datasets-of-one-name", 16_000, |n| {
        let ins: String = (0..n).map(|_| "<data-in name='i' dataset='d'><instance>${coord:current(0)}</instance></data-in>\n").collect();
        coordinator("${coord:days(1)}", &dataset("d").repeat(n), &ins, "", "")
    }),
    attack("datasets-unknown", 16_000, |n| {
        let all: String = (0..n).map(|at| dataset(&format!("dataset{at}"))).collect();
        let ins: String = (0..n).map(|at| format!("<data-in name='i{at}' dataset='dataset{at}x'><instance>${{coord:current(0)}}</instance></data-in>\n")).collect();
        coordinator("${coord:days(1)}", &all, &ins, "", "")
    }),
    attack("instances", 32_000, |n| {
        let all: String =
            (0..n).map(|at| format!("<instance>${{coord:current(-{at})}}</instance>\n")).collect();
        coordinator(
            "${coord:days(1)}",
            &dataset("d"),
            &format!("<data-in name='i' dataset='d'>{all}</data-in>"),
            "",
            "",
        )
    }),
    attack("instances-in-a-range", 2_000_000_000, |n| {
        coordinator(
            "${coord:days(1)}",
            &dataset("d"),
            &format!(
                "<data-in name='i' dataset='d'><start-instance>${{coord:current(-{n})}}</start-instance><end-instance>${{coord:current({n})}}</end-instance></data-in>"
            ),
            "",
            "",
        )
    }),
    attack("instances-far-away", 2_000_000_000, |n| {
        coordinator(
            "${coord:days(1)}",
            &dataset("d"),
            &format!(
                "<data-in name='i' dataset='d'><instance>${{coord:latest(-{n})}}</instance><instance>${{coord:future({n}, {n})}}</instance><instance>${{coord:offset({n}, \"YEAR\")}}</instance></data-in>"
            ),
            "",
            "",
        )
    }),
    attack("a-coordinator-by-the-minute", 1, |_| coordinator("1", &dataset("d"), "", "", "")),
    attack("a-cron-of-many-numbers", 200_000, |n| {
        coordinator(&format!("{} * * * *", "0-59,".repeat(n)), &dataset("d"), "", "", "")
    }),
    attack("a-cron-that-never-comes", 1, |_| coordinator("0 0 30 2 *", &dataset("d"), "", "", "")),
    attack("input-logic", 32_000, |n| {
        let ins =
            "<data-in name='i' dataset='d'><instance>${coord:current(0)}</instance></data-in>";
        let logic: String = format!(
            "<input-logic><or>{}</or></input-logic>",
            "<and><data-in dataset='i'/></and>".repeat(n)
        );
        coordinator("${coord:days(1)}", &dataset("d"), ins, "", &logic)
    }),
    attack("input-logic-within", 450, |n| {
        let ins =
            "<data-in name='i' dataset='d'><instance>${coord:current(0)}</instance></data-in>";
        let logic = format!(
            "<input-logic>{}<data-in dataset='i'/>{}</input-logic>",
            "<or><and>".repeat(n),
            "</and></or>".repeat(n)
        );
        coordinator("${coord:days(1)}", &dataset("d"), ins, "", &logic)
    }),
    attack("coordinators-of-a-bundle", 16_000, |n| {
        let all: String = (0..n).map(|at| format!("<coordinator name='c{at}'><app-path>c{at}</app-path><configuration><property><name>a</name><value>b</value></property></configuration></coordinator>\n")).collect();
        one(
            "bundle.xml",
            format!("<bundle-app name='b' xmlns='uri:oozie:bundle:0.2'>{all}</bundle-app>"),
        )
    }),
    attack("coordinators-of-one-name", 16_000, |n| {
        let all = "<coordinator name='c'><app-path>c</app-path></coordinator>\n".repeat(n);
        one(
            "bundle.xml",
            format!("<bundle-app name='b' xmlns='uri:oozie:bundle:0.2'>{all}</bundle-app>"),
        )
    }),
    attack("properties", 200_000, |n| {
        beside("job.properties", (0..n).map(|at| format!("p{at}=${{p{}}}\n", at + 1)).collect())
    }),
    attack("properties-of-one-name", 200_000, |n| beside("job.properties", "p=1\n".repeat(n))),
    attack("properties-that-double", 40, |n| {
        beside(
            "job.properties",
            (0..n).map(|at| format!("p{at}=${{p{0}}}${{p{0}}}\n", at + 1)).collect(),
        )
    }),
    attack("properties-that-grow", 18, |n| {
        let large = "x".repeat(200_000);
        beside(
            "job.properties",
            (0..n * 400)
                .map(|at| format!("p{at}=${{big}}${{big}}${{big}}${{big}}\n"))
                .collect::<String>()
                + "big="
                + &large,
        )
    }),
    attack("properties-that-continue", 300_000, |n| {
        beside("job.properties", format!("p={}x\n", "a\\\n ".repeat(n)))
    }),
    attack("properties-with-comments", 64_000, |n| {
        beside("job.properties", "# ankus: allow(unused-property)\np=1\n".repeat(n))
    }),
    attack("properties-with-comments-at-the-end", 64_000, |n| {
        beside(
            "job.properties",
            (0..n).map(|at| format!("p{at}=1\n")).collect::<String>()
                + &"# ankus: allow(unused-property)\n".repeat(n),
        )
    }),
    attack("a-property-of-megabytes", 8_000_000, |n| {
        beside("job.properties", format!("p={}\n", "${a}".repeat(n / 4)))
    }),
    attack("a-large-file-of-properties", 100_000_000, |n| {
        beside("job.properties", "a=b\n".repeat(n / 4))
    }),
    attack("defaults", 100_000, |n| {
        let all: String = (0..n)
            .map(|at| {
                format!("<property><name>p{at}</name><value>${{p{}}}</value></property>\n", at + 1)
            })
            .collect();
        beside("config-default.xml", format!("<configuration>{all}</configuration>"))
    }),
    attack("defaults-of-megabytes", 64_000_000, |n| {
        beside(
            "config-default.xml",
            format!(
                "<configuration>{}</configuration>",
                "<property><name>p</name><value>v</value></property>\n".repeat(n / 53)
            ),
        )
    }),
    attack("settings-with-functions", 20_000, |n| {
        let all: String = (0..n).map(|at| format!("[[el.functions]]\nname = \"s:f{at}\"\nparameters = [\"string\"]\nresult = \"string\"\nphases = [\"workflow\"]\n")).collect();
        settings(all, &(0..n).map(|at| format!("${{s:f{at}('a')}}")).collect::<String>())
    }),
    attack("settings-with-overrides", 5_000, |n| {
        let all: String = (0..n).map(|at| format!("[[overrides]]\npaths = [\"**/*{at}*/**/*.xml\"]\nrules = {{ style = \"off\" }}\n")).collect();
        settings(all, "a")
    }),
    attack("settings-with-secrets", 20_000, |n| {
        let all: String = (0..n).map(|at| format!("\"secret{at}\", ")).collect();
        settings(format!("[secrets]\nnames = [{all}]\n"), "${a}")
    }),
    attack("settings-of-megabytes", 16_000_000, |n| {
        settings("# a comment\n".repeat(n / 12), "${a}")
    }),
    attack("schema-of-nested-repetitions", 10, |n| {
        let open = "<xs:sequence minOccurs='60' maxOccurs='60'>".repeat(n);
        let close = "</xs:sequence>".repeat(n);
        schema(&format!(
            "<xs:complexType name='T'>{open}<xs:element name='a' type='xs:string'/>{close}</xs:complexType>"
        ))
    }),
    attack("schema-of-choices", 1_000, |n| {
        let all: String = (0..n)
            .map(|at| format!("<xs:element name='e{at}' type='xs:string' minOccurs='0'/>"))
            .collect();
        schema(&format!(
            "<xs:complexType name='T'><xs:choice minOccurs='0' maxOccurs='64'>{all}</xs:choice></xs:complexType>"
        ))
    }),
    attack("schema-of-optional-elements", 4_000, |n| {
        let all: String = (0..n)
            .map(|at| format!("<xs:element name='e{at}' type='xs:string' minOccurs='0'/>"))
            .collect();
        schema(&format!(
            "<xs:complexType name='T'><xs:sequence>{all}</xs:sequence></xs:complexType>"
        ))
    }),
    attack("schema-of-many-types", 70_000, |n| {
        let all: String = (0..n)
            .map(|at| format!("<xs:complexType name='T{at}'><xs:sequence/></xs:complexType>"))
            .collect();
        schema(&format!("<xs:complexType name='T'><xs:sequence/></xs:complexType>{all}"))
    }),
    attack("schema-of-exploding-states", 20, |n| {
        let any = "<xs:choice><xs:element name='a' type='xs:string'/><xs:element name='b' type='xs:string'/></xs:choice>";
        schema(&format!(
            "<xs:complexType name='T'><xs:sequence><xs:choice minOccurs='0' maxOccurs='unbounded'><xs:element name='a' type='xs:string'/><xs:element name='b' type='xs:string'/></xs:choice><xs:element name='a' type='xs:string'/>{}</xs:sequence></xs:complexType>",
            any.repeat(n)
        ))
    }),
    attack("schema-with-a-pattern", 1, |_| {
        schema(
            "<xs:complexType name='T'><xs:sequence><xs:element name='a' type='s:P'/></xs:sequence></xs:complexType><xs:simpleType name='P'><xs:restriction base='xs:string'><xs:pattern value='((a{0,900}){0,900}){0,900}'/></xs:restriction></xs:simpleType>",
        )
    }),
];

const fn attack(name: &'static str, size: usize, make: fn(usize) -> Tree) -> Attack {
    Attack { name, size, make }
}

fn one(path: &'static str, text: String) -> Tree {
    Tree { main: path, files: vec![(path, text.into_bytes())] }
}

/// A definition with this inside its root; `begin` opens the root.
fn workflow(begin: &str, inside: &str) -> Tree {
    one(
        "workflow.xml",
        format!("{begin} xmlns='uri:oozie:workflow:0.5' name='w'>\n{inside}\n</workflow-app>\n"),
    )
}

/// A definition with one action that does this.
fn action(body: &str) -> Tree {
    workflow(
        "<workflow-app",
        &format!(
            "<start to='a'/>\n<action name='a'>{body}<ok to='end'/><error to='end'/></action>\n<end name='end'/>"
        ),
    )
}

/// A definition with this text where expressions may stand.
fn expression(text: &str) -> Tree {
    action(&format!("<fs><mkdir path='/a'/></fs><!-- -->")).with_case(text)
}

impl Tree {
    /// Puts a decision in the place of the action's end.
    fn with_case(mut self, text: &str) -> Tree {
        let decision = format!(
            "<decision name='d'><switch><case to='end'>{text}</case><default to='end'/></switch></decision>\n<end name='end'/>"
        );
        let (_, bytes) = &mut self.files[0];
        let whole = String::from_utf8(std::mem::take(bytes)).expect("it was made of text");
        let whole = whole.replace("<ok to='end'/>", "<ok to='d'/>");
        *bytes = whole.replace("<end name='end'/>", &decision).into_bytes();
        self
    }
}

/// A definition of so many nodes, the first of which is begun with.
fn chain(count: usize, node: impl Fn(usize) -> String) -> Tree {
    let nodes: String = (0..count).map(node).collect();
    workflow("<workflow-app", &format!("<start to='a0'/>\n{nodes}<end name='end'/>"))
}

fn unresolved(count: usize) -> String {
    let mut text = "<start to='a0'/>\n".to_owned();
    for at in 0..count {
        let _ = writeln!(
            text,
            "<action name='a{at}'><fs/><ok to='b{at}'/><error to='c{at}'/></action>"
        );
    }
    text + "<end name='end'/>"
}

fn java(at: usize, inside: &str) -> String {
    let (before, behind) = match inside.starts_with("<prepare") {
        true => (inside, ""),
        false => ("", inside),
    };
    format!(
        "<action name='a{at}'><java><job-tracker>j</job-tracker><name-node>n</name-node>{before}{behind}<main-class>M</main-class></java><ok to='end'/><error to='end'/></action>\n"
    )
}

fn shell(inside: &str) -> Tree {
    let (arguments, rest) =
        if inside.starts_with("<argument") { (inside, "") } else { ("", inside) };
    action(&format!(
        "<shell xmlns='uri:oozie:shell-action:0.3'><job-tracker>j</job-tracker><name-node>n</name-node><exec>f.sh</exec>{arguments}{rest}</shell>"
    ))
}

fn dataset(name: &str) -> String {
    format!(
        "<dataset name='{name}' frequency='1' initial-instance='2000-01-01T00:00Z' timezone='UTC'><uri-template>/d/${{YEAR}}</uri-template></dataset>\n"
    )
}

fn coordinator(frequency: &str, datasets: &str, ins: &str, outs: &str, logic: &str) -> Tree {
    let section = |name: &str, inside: &str| match inside {
        "" => String::new(),
        inside => format!("<{name}>{inside}</{name}>"),
    };
    one(
        "coordinator.xml",
        format!(
            "<coordinator-app name='c' frequency='{frequency}' start='2000-01-01T00:00Z' end='9000-01-01T00:00Z' timezone='Europe/Paris' xmlns='uri:oozie:coordinator:0.5'>\n{}{}{logic}{}<action><workflow><app-path>/w</app-path></workflow></action></coordinator-app>",
            section("datasets", datasets),
            section("input-events", ins),
            section("output-events", outs)
        ),
    )
}

/// A plain definition with a file beside it.
fn beside(path: &'static str, text: String) -> Tree {
    let mut tree = action("<fs><mkdir path='${p0}'/></fs>");
    tree.files.push((path, text.into_bytes()));
    tree
}

fn settings(text: String, expression_text: &str) -> Tree {
    let mut tree = expression(expression_text);
    tree.files.push(("ankus.toml", text.into_bytes()));
    tree
}

fn schema(types: &str) -> Tree {
    let text = format!(
        "<xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema' xmlns:s='uri:s:1' targetNamespace='uri:s:1' elementFormDefault='qualified'>\n<xs:element name='sge' type='s:T'/>{types}</xs:schema>"
    );
    let mut tree = action("<sge xmlns='uri:s:1'><a>1</a></sge>");
    tree.files.push(("sge.xsd", text.into_bytes()));
    let settings =
        "[[actions.types]]\nname = \"sge\"\nschemas = [\"uri:s:1\"]\nxsd = \"sge.xsd\"\n";
    tree.files.push(("ankus.toml", settings.as_bytes().to_vec()));
    tree
}

fn replaced(depth: usize, function: &str) -> String {
    let mut text = "'aa'".to_owned();
    for _ in 0..depth {
        text = format!("{function}({text},'a','aa')");
    }
    format!("${{{text}}}")
}

/// Doubles a text so often, where a lambda or the text itself does it.
fn doubled(depth: usize, open: &str, between: &str, close: &str) -> String {
    if depth > 20 {
        let mut text = "'ab'".to_owned();
        for _ in 0..depth {
            text = format!("((x->{open}x{between}x{close})({text}))");
        }
        return format!("${{{text}}}");
    }
    let mut text = "'ab'".to_owned();
    for _ in 0..depth {
        text = format!("{open}{text}{between}{text}{close}");
    }
    format!("${{{text}}}")
}
