// The extension in a real editor in a real browser: code-server and Chromium, with nothing of the user's.
//
//   CODE_SERVER=…/code-server PLAYWRIGHT=…/playwright-core ANKUS=…/ankus npm run browser [-- FOLDER_FOR_SCREENSHOTS]
//
// Opens an application, breaks a transition, sees the finding, mends it, opens the graph, clicks a node, and types.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const { CODE_SERVER, PLAYWRIGHT, ANKUS, CHROMIUM = "/usr/bin/chromium" } = process.env;
for (const [name, path] of Object.entries({ CODE_SERVER, PLAYWRIGHT, ANKUS, CHROMIUM })) {
  if (!path || !existsSync(path)) {
    console.log(`skipped: ${name} names nothing that is there`);
    process.exit(0);
  }
}
const { chromium } = createRequire(import.meta.url)(resolve(PLAYWRIGHT));
const extension = resolve(here, "../ankus.vsix");
assert.ok(existsSync(extension), "run `npm run package` first");

const folder = mkdtempSync(join(tmpdir(), "ankus-code-"));
const shots = process.argv[2] ?? join(folder, "screenshots");
const port = 20000 + Math.floor(Math.random() * 20000);
const application = join(folder, "flood-watch");
cpSync(resolve(here, "../../../fixtures/projects/flood-watch"), application, { recursive: true });
mkdirSync(join(folder, "data/User"), { recursive: true });
mkdirSync(shots, { recursive: true });
writeFileSync(
  join(folder, "data/User/settings.json"),
  JSON.stringify({
    "ankus.path": resolve(ANKUS),
    "security.workspace.trust.enabled": false,
    "workbench.startupEditor": "none",
    "workbench.colorTheme": "Default Light Modern",
    "editor.minimap.enabled": false,
    "telemetry.telemetryLevel": "off",
    "chat.disableAIFeatures": true,
    "workbench.secondarySideBar.defaultVisibility": "hidden",
  }),
);
const own = ["--user-data-dir", join(folder, "data"), "--extensions-dir", join(folder, "extensions")];
execFileSync(CODE_SERVER, [...own, "--install-extension", extension], { stdio: "ignore" });
const server = spawn(CODE_SERVER, [...own, "--auth", "none", "--bind-addr", `127.0.0.1:${port}`, "--disable-telemetry", "--disable-update-check", application], {
  stdio: "ignore",
  detached: true,
});

const said = (what) => console.log(`ok ${what}`);
let browser;
let page;
try {
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
  page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  const address = `http://127.0.0.1:${port}/`;
  for (let tries = 0; ; tries += 1) {
    try {
      await page.goto(address);
      break;
    } catch (error) {
      if (tries > 100) throw error;
      await new Promise((wake) => setTimeout(wake, 200));
    }
  }
  await page.waitForSelector(".monaco-workbench", { timeout: 60000 });
  const press = async (keys) => page.keyboard.press(keys);
  const pick = async (keys, text) => {
    await press(keys);
    await page.waitForSelector(".quick-input-widget input:visible");
    await page.keyboard.type(text);
    await page.locator(".quick-input-list .monaco-list-row", { hasText: text.split(": ").at(-1) }).first().click({ timeout: 30000 });
    await page.waitForSelector(".quick-input-widget input:visible", { state: "detached" }).catch(() => undefined);
  };
  const command = (name) => pick("F1", name);

  await page.locator(".explorer-folders-view .monaco-list-row", { hasText: "workflow.xml" }).last().dblclick({ timeout: 60000 });
  await page.waitForSelector(".view-line:has-text('workflow-app')", { timeout: 60000 });
  said("opens a definition");

  // Behind the name of the first transition, one letter too many.
  const transition = page.locator(".view-line", { hasText: "<start to=" }).first();
  await transition.click();
  await press("End");
  for (let left = 0; left < 3; left += 1) await press("ArrowLeft");
  await page.keyboard.type("zz");
  await page.waitForSelector(".squiggly-error", { timeout: 30000 });
  said("shows a finding");
  await command("Problems: Focus on Problems View");
  await page.waitForSelector(".markers-panel .monaco-list-row", { timeout: 10000 });
  await page.screenshot({ path: join(shots, "vscode-finding.png") });

  await transition.click();
  await press("End");
  for (let left = 0; left < 3; left += 1) await press("ArrowLeft");
  await press("Backspace");
  await press("Backspace");
  await page.waitForSelector(".squiggly-error", { state: "detached", timeout: 30000 });
  said("takes it back");
  await press("Control+J");

  await command("Oozie: Show Graph");
  let graph;
  for (let tries = 0; graph === undefined; tries += 1) {
    for (const frame of page.frames()) {
      if ((await frame.locator("#picture svg [data-node]").count().catch(() => 0)) > 0) graph = frame;
    }
    assert.ok(tries < 150, "the graph does not come");
    await page.waitForTimeout(200);
  }
  said("draws the graph");
  const nodes = graph.locator("#picture [data-node]");
  const last = nodes.nth((await nodes.count()) - 1);
  const name = await last.getAttribute("data-node");
  await last.click();
  await graph.locator(`#picture .current[data-node="${name}"]`).waitFor({ timeout: 20000 });
  said("goes from a node to its text and marks it");
  await page.waitForTimeout(500);
  await page.screenshot({ path: join(shots, "vscode-graph.png") });

  // What is typed is drawn: another name of a node, behind the place that the editor's search finds.
  await page.locator(".view-line", { hasText: "<end name=" }).first().click();
  await press("Control+F");
  await page.waitForSelector(".find-widget.visible");
  await page.keyboard.type('action name="report"');
  await press("Enter");
  await press("Escape");
  await press("ArrowRight");
  await press("ArrowLeft");
  await page.keyboard.type("2");
  await graph.locator('#picture [data-node="report2"]').waitFor({ timeout: 20000 });
  said("draws what is typed");
} catch (error) {
  if (page) await page.screenshot({ path: join(shots, "failed.png") }).catch(() => undefined);
  console.error(`not ok: ${error.stack}`);
  process.exitCode = 1;
} finally {
  await browser?.close();
  try {
    process.kill(-server.pid, "SIGTERM");
  } catch {
    // It has ended by itself.
  }
  if (process.exitCode === undefined && !process.argv[2]) rmSync(folder, { recursive: true, force: true });
}
