import { expect, it } from "vitest";
import { EXIT, exitCodeOf } from "./exit.ts";

it.each([undefined, null, 5, "words", Object.create(null), new Error("x")])("whatever a command throws (%s) is a failure", (thrown) => {
  expect(exitCodeOf(thrown)).toBe(EXIT.failed);
});

it.each([
  ["SVC_CONFIG_INVALID", EXIT.config],
  ["SVC_STORE_FULL", EXIT.storage],
  ["SVC_STORE_NONE", EXIT.config],
  ["SVC_STORE_SEVERAL", EXIT.config],
  ["SVC_DAEMON_RUNNING", EXIT.running],
  ["SVC_CLI_NO_DAEMON", EXIT.noDaemon],
  ["SVC_CLI_SILENT", EXIT.noDaemon],
  ["SVC_CLI_USAGE", EXIT.usage],
  ["commander.unknownOption", EXIT.usage],
])("%s ends the program with %i", (code, exit) => {
  expect(exitCodeOf(Object.assign(new Error("x"), { code }))).toBe(exit);
});

it("OPR-m8 what the daemon or a plugin refuses as a wrong request is wrong usage", () => {
  expect(exitCodeOf(Object.assign(new Error("x"), { code: "SVC_TOKEN_SCOPE", status: 400 }))).toBe(EXIT.usage);
  expect(exitCodeOf(Object.assign(new Error("x"), { code: "SVC_AGENT_UNKNOWN", status: 404 }))).toBe(EXIT.failed);
});

it("a command with exit codes of its own says them with its error", () => {
  expect(exitCodeOf(Object.assign(new Error("x"), { code: "SVC_CLI_NO_DAEMON", exit: 3 }))).toBe(3);
  expect(exitCodeOf(Object.assign(new Error("x"), { exit: 0 }))).toBe(EXIT.failed);
  expect(exitCodeOf(Object.assign(new Error("x"), { exit: 256 }))).toBe(EXIT.failed);
});
