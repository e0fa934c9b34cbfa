// The console in a real browser: every page, a job watched from its start to its end, one killed, another run again.
//
//   CONSOLE=http://127.0.0.1:11000/oozie/ PLAYWRIGHT=…/playwright-core AXE=…/axe.min.js FLOOD=path SLOW=path
//     node session.mjs [FOLDER_FOR_SCREENSHOTS]
//
// Prints `ok …` for each part. A console error, a request to another host or a serious fault that axe-core finds ends it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const { CONSOLE, PLAYWRIGHT, AXE, FLOOD, SLOW, CHROMIUM = "/usr/bin/chromium" } = process.env;
const { chromium } = createRequire(import.meta.url)(resolve(PLAYWRIGHT));
const axe = readFileSync(AXE, "utf8");
const shots = process.argv[2];
const said = (what) => console.log(`ok ${what}`);

const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
const context = await browser.newContext({ viewport: { width: 1120, height: 720 }, colorScheme: "light" });
const page = await context.newPage();
const faults = [];
page.on("pageerror", (error) => faults.push(`error: ${error}`));
page.on("console", (message) => {
  if (["error", "warning"].includes(message.type())) faults.push(`console: ${message.text()} ${message.location().url}`);
});
context.on("request", (request) => {
  if (new URL(request.url()).origin !== new URL(CONSOLE).origin) faults.push(`elsewhere: ${request.url()}`);
});
page.on("dialog", (dialog) => dialog.accept());

const go = (address) => page.goto(new URL(address, CONSOLE).href);

/** Nothing serious is wrong for people who use a screen reader or a keyboard. */
async function accessible(name) {
  // The policy of the page lets no script in; the tools of the browser are not under it.
  const session = await context.newCDPSession(page);
  const run = async (expression) => {
    const { result, exceptionDetails } = await session.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    assert.equal(exceptionDetails, undefined, JSON.stringify(exceptionDetails));
    return result.value;
  };
  await run(`${axe}; undefined`);
  const found = JSON.parse(await run("axe.run(document, { resultTypes: ['violations'] }).then((all) => JSON.stringify(all.violations))"));
  const serious = found.filter((one) => ["serious", "critical"].includes(one.impact));
  assert.deepEqual(
    serious.map((one) => `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 200)).join(" | ")}`),
    [],
    name,
  );
  await session.detach();
}

async function shot(name) {
  if (!shots) return;
  await page.evaluate(() => scrollTo(0, 0));
  await page.screenshot({ path: join(shots, `${name}.png`) });
}

async function submit(path) {
  await go("submit");
  await page.fill("input[name=path]", path);
  await page.click("text=Look at it");
  await accessible("the form of an application");
  await page.click("button[value=run]");
  await page.waitForURL(/job\?id=/);
  return new URL(page.url()).searchParams.get("id");
}

const status = (name) => page.waitForFunction((name) => document.querySelector("#head .status")?.textContent === name, name, { timeout: 60000 });

try {
  await go("./");
  await accessible("the list");
  said("shows the list");

  // Events may come faster than the page is read, and without an end.
  const reads = await page.evaluate(async () => {
    const fetched = window.fetch;
    let reads = 0;
    window.fetch = (...what) => ((reads += 1), fetched(...what));
    for (let event = 0; event < 60; event += 1) {
      soon();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    window.fetch = fetched;
    return reads;
  });
  assert.ok(reads > 0, "a page is not read again while events come");
  said("keeps up while much happens");

  const flood = await submit(FLOOD);
  let loads = 0;
  page.on("load", () => (loads += 1));
  await page.waitForSelector("#link.live");
  await status("SUCCEEDED");
  await page.waitForSelector("#graph .ok[data-node=report]");
  assert.equal(loads, 0, "the page was loaded again");
  said("sees a job run to its end without loading again");

  await page.click("#graph g[data-node=report]");
  await page.waitForSelector("#panel article h2");
  assert.match(await page.textContent("#panel h2"), /report/);
  assert.ok((await page.textContent("#panel pre.output")).length > 0);
  await accessible("a workflow");
  await shot("console-job-light");
  said("opens the log of an action");

  await page.keyboard.press("Escape");
  await page.focus("#graph a:has([data-node=prepare])");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => /prepare/.test(document.querySelector("#panel h2")?.textContent));
  said("opens a node with the keyboard");

  for (const tab of ["definition", "log", "configuration"]) {
    await go(`job?id=${flood}&tab=${tab}`);
    await page.waitForSelector("h1");
    await accessible(tab);
  }
  said("shows definition, log and configuration");

  const slow = await submit(SLOW);
  await page.waitForSelector("#link.live");
  await status("RUNNING");
  await page.click("button[value=kill]");
  await status("KILLED");
  said("kills a job");

  await page.click("text=Rerun…");
  await page.waitForSelector("input[name=which]");
  await accessible("the form of a rerun");
  await page.click("button[value=rerun]");
  await page.waitForURL(/said=rerun/);
  await status("RUNNING");
  said("runs it again");
  await go("./");
  await page.check(`input[value="${slow}"]`);
  await page.click("button[value=kill]");
  await page.waitForURL(/said=kill/);
  await status("KILLED");
  said("kills what is selected in the list");

  await go("./");
  await page.fill("input[name=text]", "flood-*");
  await page.click("button:text-is('Show')");
  await page.waitForURL(/text=flood/);
  const names = await page.locator("tbody tr td:nth-child(2)").allTextContents();
  assert.ok(names.length > 0 && names.every((name) => name.startsWith("flood-")), names.join());
  await go("./");
  await shot("console-jobs");
  said("searches");

  for (const place of ["estate", "metrics", "./?kind=coord", "./?kind=bundle", `action?id=${flood}@report`]) {
    await go(place);
    await page.waitForSelector("h1, h2");
    await accessible(place);
  }
  said("shows every other page");

  await page.emulateMedia({ colorScheme: "dark" });
  await go(`job?id=${flood}`);
  await page.click("#graph g[data-node=report]");
  await page.waitForSelector("#panel article h2");
  await accessible("a workflow in the dark");
  await shot("console-job-dark");
  await page.setViewportSize({ width: 390, height: 844 });
  await go("./");
  await accessible("the list on a telephone");
  const overflow = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok((await overflow()) <= 0, "the list is wider than a telephone");
  await go(`job?id=${flood}`);
  assert.ok((await overflow()) <= 0, "a job is wider than a telephone");
  await shot("console-narrow");
  said("is readable in the dark and on a telephone");

  const foreign = await page.request.post(new URL("act", CONSOLE).href, { form: { token: "0", id: flood, action: "kill" } });
  assert.equal(foreign.status(), 403);
  const policy = (await page.request.get(CONSOLE)).headers()["content-security-policy"];
  assert.ok(policy.includes("default-src 'none'") && !policy.includes("unsafe"));
  said("refuses forms of others");

  assert.deepEqual(faults, []);
  said("says nothing on the console and asks nobody else");
} catch (error) {
  console.log(`not ok ${error.stack ?? error}\n${page.url()}\n${faults.join("\n")}`);
  process.exitCode = 1;
} finally {
  await browser.close();
}
