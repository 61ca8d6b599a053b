import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["{sdk,kernel,cli}/**/*.test.ts", "plugins/*/*/**/*.test.ts", "test/{golden,contract,house,faults,embed,rules,cli}/**/*.test.ts"],
    exclude: ["**/node_modules/**", "**/dist/**", "sdk/template/**"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
