import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { LongestFirst } from "./test/kit/longest-first.ts";

const exclude = ["**/node_modules/**", "**/dist/**", "sdk/template/**"];
/** Tests that drive a browser: two processes of work each, so they run last and two files at a time, whatever the machine has. */
const BROWSER = ["test/ui/**/*.test.ts"];

const test = {
  // Real processes on a shared machine: a test that fails once is run again there, and says so.
  retry: process.env.CI === "true" ? 2 : 0,
  testTimeout: 30_000,
  hookTimeout: 60_000,
  // What is waited for comes late on a busy machine; the default of a second would judge the machine.
  expect: { poll: { timeout: 20_000 } },
  // What is built is what users run: Node loads it, not the transformer of tests.
  server: { deps: { external: [/\/dist\//] } },
};

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    globalSetup: ["test/kit/default-port.ts", "test/kit/all-on-postgres.ts"],
    projects: [
      {
        test: {
          ...test,
          name: "house",
          include: ["{sdk,kernel,cli}/**/*.test.ts", "plugins/*/*/**/*.test.ts", "test/{contract,house,faults,embed,rules,cli}/**/*.test.ts"],
          exclude,
          sequence: { groupOrder: 0 },
          // Most files wait for processes, sockets and disks: with two more than there are processors, 44 % of their time was idle.
          maxWorkers: availableParallelism() + 3,
        },
      },
      {
        test: { ...test, name: "browser", include: BROWSER, exclude, sequence: { groupOrder: 1 }, maxWorkers: 2 },
      },
    ],
  },
});
