import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CAPABILITIES } from "@svc/sdk/host";
import { expect, it } from "vitest";
import { LIBRARIES } from "../../kernel/capabilities/libraries.ts";
import { crosses } from "../../kernel/core/host/capabilities.ts";
import { KINDS, PROVIDED_KINDS } from "../../kernel/core/host/kinds.ts";
import { ROOT } from "./house.ts";

it("the authors' page names every capability and every kind that an isolated plugin cannot have", () => {
  const [row = ""] = /^\| no `spawn`.*$/m.exec(readFileSync(join(ROOT, "sdk/README.md"), "utf8")) ?? [];
  const named = [...row.matchAll(/`([a-z:-]+)`/g)].map(([, name]) => name);
  const capabilities = CAPABILITIES.filter((name) => !crosses(name, LIBRARIES));
  const kinds = PROVIDED_KINDS.filter((kind) => !KINDS[kind].crosses);
  expect(named).toEqual(expect.arrayContaining([...capabilities, ...kinds]));
  expect(named.filter((name) => Object.hasOwn(KINDS, name as string) && KINDS[name as keyof typeof KINDS].crosses)).toEqual([]);
});
