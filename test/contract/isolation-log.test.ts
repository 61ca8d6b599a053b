import { expect, it } from "vitest";
import { action, runIsolated } from "../faults/isolation.harness.ts";

it("lines of an isolated plugin keep what they say of an error, and reach the log with a cycle or a BigInt", async () => {
  const lines: string[] = [];
  const { act } = await runIsolated(
    [
      {
        name: "teller",
        setup: action(
          "teller.tell",
          `const error = Object.assign(new TypeError("the disk is full", { cause: new Error("no block") }), { code: "ENOSPC" }); const ring = { n: 1 }; ring.itself = ring;
           ctx.log.warn({ err: error, n: 1 }, "as err"); ctx.log.error(error); ctx.log.warn({ why: error }, "as fact"); ctx.log.info(ring, "a ring"); ctx.log.info({ n: 10n }, "a BigInt");`,
        ),
      },
    ],
    { log: { level: "info", destination: { write: (line: string) => void lines.push(line) } } as never },
  );
  await act("teller.tell");
  const said = lines.map((line) => JSON.parse(line) as Record<string, unknown>).filter(({ plugin }) => plugin === "feature-teller");
  const err = { type: "TypeError", message: "the disk is full", code: "ENOSPC", stack: expect.stringContaining("index.mjs"), cause: { message: "no block" } };
  expect(said).toMatchObject([
    { msg: "as err", n: 1, err },
    { msg: "the disk is full", err },
    { msg: "as fact", why: "TypeError: the disk is full" },
    { msg: "a ring" },
    { msg: "a BigInt", n: "10" },
  ]);
});
