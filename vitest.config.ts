import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    // Real processes on a shared machine: a test that fails once is run again there, and says so.
    retry: process.env.CI === "true" ? 2 : 0,
    include: ["{sdk,kernel,cli}/**/*.test.ts", "plugins/*/*/**/*.test.ts", "test/{contract,house,faults,embed,rules,cli,ui}/**/*.test.ts"],
    exclude: ["**/node_modules/**", "**/dist/**", "sdk/template/**"],
    globalSetup: ["test/kit/default-port.ts"],
    // Most files wait for processes, sockets and disks; the default leaves a processor idle.
    maxWorkers: availableParallelism() + 1,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
