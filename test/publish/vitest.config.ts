import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/publish/*.test.ts"],
    // Real processes on a shared machine: a test that fails once is run again there, and says so.
    retry: process.env.CI === "true" ? 2 : 0,
    testTimeout: 300_000,
    hookTimeout: 120_000,
  },
});
