import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    // Real processes on a shared machine: a test that fails once is run again there, and says so.
    retry: process.env.CI === "true" ? 2 : 0,
    include: ["test/peers/*.test.ts"],
    // The programs are large: two at once are enough for a small machine.
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
