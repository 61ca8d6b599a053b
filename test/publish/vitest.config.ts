import { defineConfig } from "vitest/config";
import { TellRetries } from "../kit/tell-retries.ts";

export default defineConfig({
  test: {
    reporters: ["default", new TellRetries()],
    include: ["test/publish/*.test.ts"],
    // The registry, which the first starts, fetches from another one and may need those certificates.
    globalSetup: ["test/publish/released.ts", "test/kit/no-extra-certificates.ts"],
    // Real processes on a shared machine: a test that fails once is run again there, and says so.
    retry: process.env.CI === "true" ? 2 : 0,
    // As in the configuration of the other tests: the default of a second would judge the machine.
    setupFiles: ["test/kit/patience.ts"],
    expect: { poll: { timeout: 20_000 } },
    testTimeout: 300_000,
    hookTimeout: 120_000,
  },
});
