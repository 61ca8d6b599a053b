import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/peers/*.test.ts"],
    // The programs are large: two at once are enough for a small machine.
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
