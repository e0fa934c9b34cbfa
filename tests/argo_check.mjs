// Holds resources of Argo against their published schema, and plays their DAGs by the rules of the controller.
//
//   node tests/argo_check.mjs NODE_MODULES FOLDER             every file: schema, names, references
//   node tests/argo_check.mjs NODE_MODULES --play FILE        [{file, actions, fails, chooses, phase, ran}]: which differ
//
// With `parameters`, a scenario evaluates conditions of equality instead of looking at `chooses`.
//
// Prints one line of JSON.
import { createRequire } from "node:module";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, folder, file] = process.argv.slice(2);
const require = createRequire(join(modules, "x.js"));
const yaml = require("js-yaml");

const read = (path) => yaml.loadAll(readFileSync(path, "utf8"));
const RESULT = /([A-Za-z][A-Za-z0-9-]*)\.(Succeeded|Failed|Errored|Skipped|Omitted)/g;
const dependencies = (task) => [...(task.depends ?? "").matchAll(RESULT)].map((one) => one[1]);

// Phases of the tasks of a DAG, and its own: that of its leaves; one that was left out has the phase of what led to it.
function play(dag, { fails, chooses, actions, parameters }) {
  // What was not carried over is played as what it stands for.
  const kills = ({ name, template }) => template === "kill" && !actions.includes(name) && !(name in chooses);
  const tasks = new Map(dag.tasks.map((task) => [task.name, task]));
  const phases = new Map();
  const phase = (name) => {
    if (phases.has(name)) return phases.get(name);
    const task = tasks.get(name);
    dependencies(task).forEach(phase);
    const is = (_, of, result) => String(phases.get(of) === (result === "Errored" ? "Error" : result));
    const runs = !task.depends || new Function(`return ${task.depends.replace(RESULT, is)}`)();
    let found = "Omitted";
    if (runs) found = holds(task) ? (fails.includes(name) || kills(task) ? "Failed" : "Succeeded") : "Skipped";
    phases.set(name, found);
    return found;
  };
  const holds = (task) => {
    if (!task.when) return true;
    const status = task.when.match(/^\{\{tasks\.([A-Za-z0-9-]+)\.status\}\} (==|!=) Succeeded$/);
    if (status) return (phases.get(status[1]) === "Succeeded") === (status[2] === "==");
    if (parameters) {
      const code = task.when.replace(/^\{\{=|\}\}$/g, "").replace(/workflow\.parameters/g, "parameters");
      const words = code.replace(/\bnot\b/g, "!").replace(/\band\b/g, "&&").replace(/\bor\b/g, "||");
      return new Function("parameters", `return ${words}`)(parameters);
    }
    const [decision] = dependencies(task);
    return chooses[decision] === task.name || `${decision}-to-${chooses[decision]}` === task.name;
  };
  for (const name of tasks.keys()) phase(name);
  const branch = new Map();
  const inherited = (name) => {
    if (branch.has(name)) return branch.get(name);
    const own = phases.get(name);
    let found = own;
    if (own === "Skipped" || own === "Omitted") {
      found = dependencies(tasks.get(name)).some((of) => inherited(of) === "Failed") ? "Failed" : "Succeeded";
    }
    branch.set(name, found);
    return found;
  };
  const inner = new Set(dag.tasks.flatMap(dependencies));
  const leaves = dag.tasks.map((task) => task.name).filter((name) => !inner.has(name));
  const ran = dag.tasks.map((task) => task.name).filter((name) => ["Succeeded", "Failed"].includes(phases.get(name)));
  return { phase: leaves.some((leaf) => inherited(leaf) === "Failed") ? "Failed" : "Succeeded", ran };
}

if (folder === "--play") {
  const wrong = [];
  const loaded = new Map();
  const scenarios = JSON.parse(readFileSync(file, "utf8"));
  for (const scenario of scenarios) {
    if (!loaded.has(scenario.file)) {
      const templates = read(scenario.file)[0].spec.templates;
      loaded.set(scenario.file, (templates.find((one) => one.name === "flow") ?? templates[0]).dag);
    }
    const dag = loaded.get(scenario.file);
    const found = play(dag, scenario);
    const ran = found.ran.filter((name) => scenario.actions.includes(name)).sort();
    const same = found.phase === scenario.phase && (scenario.phase === "Failed" || String(ran) === String(scenario.ran));
    if (!same) wrong.push({ ...scenario, found: { phase: found.phase, ran } });
  }
  console.log(JSON.stringify({ scenarios: scenarios.length, wrong: wrong.slice(0, 3), count: wrong.length }));
  process.exit(0);
}

const published = join(modules, "@kubernetes-models/argo-workflows/argoproj.io/v1alpha1/index.js");
const models = await import(pathToFileURL(published));

// What the schema does not say: names are known, and what a template is given is what it asks for.
function* faults(template, cron) {
  const { templates, arguments: given } = template.spec;
  const known = new Map(templates.map((one) => [one.name, one]));
  if (known.size < templates.length) yield "two templates have one name";
  const declared = new Set((given?.parameters ?? []).map((one) => one.name));
  for (const one of templates) {
    if (!/^[a-zA-Z0-9][-a-zA-Z0-9]{0,127}$/.test(one.name)) yield `a template is called ${one.name}`;
    const text = JSON.stringify(one);
    for (const [, plain, other] of text.matchAll(/workflow\.parameters(?:\.([\w-]+)|\['([\w-]+)'\])/g)) {
      if (!declared.has(plain ?? other)) yield `${one.name} names ${plain ?? other}`;
    }
    const inputs = new Set((one.inputs?.parameters ?? []).map((one) => one.name));
    for (const [, plain, other] of text.matchAll(/inputs\.parameters(?:\.([\w-]+)|\['([\w-]+)'\])/g)) {
      if (!inputs.has(plain ?? other)) yield `${one.name} has no input ${plain ?? other}`;
    }
    const names = new Set((one.dag?.tasks ?? []).map((task) => task.name));
    if (names.size < (one.dag?.tasks ?? []).length) yield "two tasks have one name";
    for (const task of one.dag?.tasks ?? []) {
      if (!/^[a-zA-Z][-a-zA-Z0-9]*$/.test(task.name)) yield `a task is called ${task.name}`;
      for (const of of dependencies(task)) if (!names.has(of)) yield `${task.name} depends on ${of}`;
      const called = known.get(task.template);
      if (!called) yield `${task.name} calls ${task.template}`;
      const asked = (called?.inputs?.parameters ?? []).map((one) => one.name).sort();
      const got = (task.arguments?.parameters ?? []).map((one) => one.name).sort();
      if (String(asked) !== String(got)) yield `${task.name} gives ${got} and not ${asked}`;
    }
    if (one.resource) yaml.load(one.resource.manifest.replace(/\{\{=.*\}\}$/gm, '""'));
  }
  const named = cron?.spec.workflowSpec.workflowTemplateRef.name;
  if (named && named !== template.metadata.name) yield `${named} is started`;
}

const errors = {};
let resources = 0;
for (const name of readdirSync(folder).sort()) {
  const found = [];
  const documents = read(join(folder, name));
  for (const document of documents) {
    resources += 1;
    if (document.kind === "ConfigMap") continue;
    // The controller names what has no name; the schema is that of Kubernetes.
    for (const one of document.spec.templates ?? []) if (one.container) one.container.name ??= "main";
    try {
      new models[document.kind](document).validate();
    } catch (error) {
      found.push(error.message);
    }
  }
  found.push(...faults(documents[0], documents.find((one) => one.kind === "CronWorkflow")));
  if (found.length) errors[name] = found.slice(0, 5);
}
console.log(JSON.stringify({ resources, errors }));
