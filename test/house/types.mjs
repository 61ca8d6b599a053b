/* Type-checks the tests with the options of test/tsconfig.json. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** What is `any` because a JavaScript module has no types. Not an option of the project: that would change what types are inferred to be. */
const UNTYPED = ["TS7006", "TS7016", "TS7031"];
/** Everything else is checked by its own project, with its own options. */
const TESTS = /^test\/|\.(?:test|harness)\.ts$/;

const { status, stdout, stderr, error } = spawnSync("npx", ["tsc", "-p", "test/tsconfig.json", "--pretty", "false"], { cwd: ROOT, encoding: "utf8" });
if (error !== undefined) throw error;
const found = stdout.split("\n").flatMap((line) => {
  const [, file, code] = /^(.+?)\(\d+,\d+\): error (TS\d+)/.exec(line) ?? [];
  return file === undefined ? [] : [{ file, code, line }];
});
const errors = found.filter(({ file, code }) => TESTS.test(file) && !UNTYPED.includes(code)).map(({ line }) => line);
if (status !== 0 && found.length === 0) errors.push(`tsc ended with ${status}: ${stdout}${stderr}`);
for (const line of errors) console.error(line);
if (errors.length > 0) process.exit(1);
console.log("types of the tests: no errors");
