import assert from "node:assert/strict";
import { delimiter } from "node:path";
import test from "node:test";
import { find } from "../out/test/find.mjs";
import { escape, page } from "../out/test/page.mjs";

const places = { setting: "", extension: "/ext", path: ["/a", "", "/b"].join(delimiter), home: "/home/u", windows: false };
const there =
  (...paths) =>
  (path) =>
    paths.includes(path);

test("the program of the extension comes before those of the machine", () => {
  assert.deepEqual(find(places, there("/ext/bin/ankus", "/b/ankus")), { program: "/ext/bin/ankus" });
  assert.deepEqual(find(places, there("/b/ankus", "/home/u/.cargo/bin/ankus")), { program: "/b/ankus" });
  assert.deepEqual(find(places, there("/home/u/.cargo/bin/ankus")), { program: "/home/u/.cargo/bin/ankus" });
});

test("a setting counts alone", () => {
  const set = { ...places, setting: "~/bin/ankus" };
  assert.deepEqual(find(set, there("/home/u/bin/ankus")), { program: "/home/u/bin/ankus" });
  assert.deepEqual(find(set, there("/a/ankus")), { looked: ["/home/u/bin/ankus"] });
});

test("where it was looked for is said", () => {
  const looked = ["/ext/bin/ankus", "/a/ankus", "/b/ankus", "/home/u/.cargo/bin/ankus"];
  assert.deepEqual(find(places, there()), { looked });
});

test("a title stays text", () => {
  assert.equal(escape(`<b a="x">&'`), "&lt;b a=&quot;x&quot;&gt;&amp;&#39;");
  const text = page("</title><script>alert(1)</script>", { source: "vscode:", script: "s.js", style: "s.css" });
  assert.ok(!text.includes("<script>alert"));
  assert.match(text, /default-src 'none'/);
});
