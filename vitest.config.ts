import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { LongestFirst } from "./test/kit/longest-first.ts";
import { TellRetries } from "./test/kit/tell-retries.ts";

const exclude = ["**/node_modules/**", "**/dist/**", "sdk/template/**"];
/** Tests that drive a browser: two processes of work each, so they run last and two files at a time, whatever the machine has. */
const BROWSER = ["test/ui/**/*.test.ts"];

const test = {
  // Real processes on a shared machine: a test that fails once is run again there, and says so.
  retry: process.env.CI === "true" ? 2 : 0,
  // Limits of time find what hangs. They judge no speed: twenty commands on a busy machine are half a minute.
  testTimeout: 90_000,
  hookTimeout: 120_000,
  // What is waited for comes late on a busy machine; the default of a second would judge the machine.
  expect: { poll: { timeout: 20_000 } },
  // What is built is what users run: Node loads it, not the transformer of tests.
  server: { deps: { external: [/\/dist\//] } },
};

/**
 * A process runs many files, one after the other, and each finds it as the first one did. A process for each of 600 files would be a tenth to a
 * quarter of what they take. (It grows to 400 MB, though, and starting a program takes 10 ms of the processor from one of 100 MB, 20 from one of 300.)
 */
const MANY_FILES = { isolate: false, setupFiles: ["test/kit/as-first.ts", "test/kit/patience.ts"] };
/** Files that change what stays in a process: they replace modules, or set its time zone. */
const LEAVE_TRACES = ["cli/daemon/detach.test.ts", "kernel/delivery/one-sync.test.ts", "kernel/maintenance/restart.test.ts", "sdk/user-name.test.ts"];
/** Files that ask for garbage collections or spawn thousands of programs: in a process that has grown they take two to ten times as long. */
const WANT_SMALL_PROCESS = [
  "plugins/features/models/model-call.test.ts",
  "plugins/features/operator-actions/shell-work.test.ts",
  "sdk/testing/contracts.test.ts",
];
const OWN_PROCESS = [...LEAVE_TRACES, ...WANT_SMALL_PROCESS];
/** Files wait for processes, sockets and disks: on two processors three files at once leave them idle for 12 % of the time, five make a load of 20. */
const SIDE_BY_SIDE = { sequence: { groupOrder: 0 }, maxWorkers: Number(process.env.SVC_TEST_WORKERS ?? availableParallelism() + 2) };

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    reporters: ["default", new TellRetries()],
    globalSetup: ["test/kit/no-extra-certificates.ts", "test/kit/default-port.ts", "test/kit/all-on-postgres.ts"],
    projects: [
      {
        test: {
          ...test,
          ...SIDE_BY_SIDE,
          ...MANY_FILES,
          name: "rooms",
          include: ["{sdk,kernel,cli}/**/*.test.ts", "plugins/*/*/**/*.test.ts"],
          exclude: [...exclude, ...OWN_PROCESS],
        },
      },
      { test: { ...test, ...SIDE_BY_SIDE, ...MANY_FILES, name: "house", include: ["test/{contract,house,faults,embed,rules}/**/*.test.ts"], exclude } },
      // Commands look for a daemon at the default port where svc.json names none: no other one may listen there meanwhile.
      { test: { ...test, ...SIDE_BY_SIDE, ...MANY_FILES, name: "commands", include: ["test/cli/**/*.test.ts"], exclude } },
      { test: { ...test, ...SIDE_BY_SIDE, name: "alone", include: OWN_PROCESS, setupFiles: ["test/kit/patience.ts"] } },
      { test: { ...test, ...MANY_FILES, name: "browser", include: BROWSER, exclude, sequence: { groupOrder: 1 }, maxWorkers: 2 } },
    ],
  },
});
