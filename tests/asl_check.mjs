// Asks asl-validator about every state machine of a folder, and jsonata about every expression in them.
//
//   node tests/asl_check.mjs NODE_MODULES FOLDER
//   node tests/asl_check.mjs NODE_MODULES --evaluate FILE     [{code, bindings, value}]: which differ
//
// Prints one line of JSON.
import { createRequire } from "node:module";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const [modules, folder, file] = process.argv.slice(2);
const require = createRequire(join(modules, "x.js"));
const jsonata = require("jsonata");

if (folder === "--evaluate") {
  const wrong = [];
  const cases = JSON.parse(readFileSync(file, "utf8"));
  for (const { code, bindings, value } of cases) {
    let found;
    try {
      found = await jsonata(code).evaluate({}, bindings);
    } catch (error) {
      found = `error: ${error.message}`;
    }
    if (found !== value) wrong.push({ code, value, found });
  }
  console.log(JSON.stringify({ cases: cases.length, wrong }));
  process.exit(0);
}

// The validator compiles its schemas for every machine; those of the first serve them all.
const ajv = createRequire(require.resolve("asl-validator"))("ajv");
const Ajv = ajv.default;
let compiled;
ajv.default = function (options) {
  // Its keywords are added again each time.
  if (compiled) compiled.addKeyword = () => compiled;
  return (compiled ??= new Ajv(options));
};
const validate = require("asl-validator");
const errors = {};
let machines = 0;
let expressions = 0;

function walk(value, name) {
  if (typeof value === "string") {
    if (!value.startsWith("{%") || !value.endsWith("%}")) return;
    expressions += 1;
    try {
      jsonata(value.slice(2, -2));
    } catch (error) {
      (errors[name] ??= []).push(`${error.message}: ${value}`);
    }
  } else if (value && typeof value === "object") {
    Object.values(value).forEach((part) => walk(part, name));
  }
}

for (const name of readdirSync(folder).sort()) {
  machines += 1;
  const definition = JSON.parse(readFileSync(join(folder, name), "utf8"));
  const { isValid, errors: found, errorsText } = validate(definition);
  if (!isValid) (errors[name] ??= []).push(errorsText ? errorsText() : JSON.stringify(found));
  walk(definition, name);
}
console.log(JSON.stringify({ machines, expressions, errors }));
