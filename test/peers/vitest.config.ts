import { defineConfig } from "vitest/config";
import { TellRetries } from "../kit/tell-retries.ts";

export default defineConfig({
  test: {
    reporters: ["default", new TellRetries()],
    // Programs of others have races of their own (a sub-agent whose main agent has just ended): a test that fails is run again, and says so.
    retry: 2,
    globalSetup: ["test/kit/no-extra-certificates.ts"],
    include: ["test/peers/*.test.ts"],
    // The programs are large: two at once are enough for a small machine.
    maxWorkers: 2,
    // As in the configuration of the other tests: limits of time find what hangs; what runs beside these tests slows them.
    setupFiles: ["test/kit/patience.ts"],
    expect: { poll: { timeout: 20_000 } },
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
});
