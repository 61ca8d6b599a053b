import { createFakeCli } from "@svc/sdk/testing";
import { expect, it, vi } from "vitest";
import group from "./cli.ts";

vi.mock("node:os", () => ({
  userInfo: () => {
    throw new Error("uv_os_get_passwd returned ENOENT");
  },
}));

it("a user without a name, as in a container, answers questions under the user's number", async () => {
  const cli = createFakeCli({
    answers: { "POST /approvals/q1/approve": { decision: { state: "approved" } }, "POST /approvals/q1/later": { approval: { laterAt: 0 } } },
  });
  await cli.run(group, "approve", ["q1"], {});
  await cli.run(group, "later", ["q1"], {});
  expect(cli.requested.map(({ body }) => body)).toEqual([{ by: `uid ${process.getuid?.()}` }, { by: `uid ${process.getuid?.()}` }]);
});
