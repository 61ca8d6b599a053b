import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    // Programs of others have races of their own (a sub-agent whose main agent has just ended): a test that fails is run again, and says so.
    retry: 2,
    include: ["test/peers/*.test.ts"],
    // The programs are large: two at once are enough for a small machine.
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
