import { createFakeCli } from "@svc/sdk/testing";
import { expect, it, vi } from "vitest";
import group from "./workflow-command.ts";

vi.mock("node:os", async (original) => ({
  ...(await original<typeof import("node:os")>()),
  userInfo: () => {
    throw new Error("uv_os_get_passwd returned ENOENT");
  },
}));

it("a user without a name, as in a container, answers and comments on tasks under the user's number", async () => {
  const task = { id: "ut_1", kind: "approval", runId: "run_1", workflowId: "buy", title: "Buy?", form: { fields: [] }, state: "open" };
  const cli = createFakeCli({
    answers: {
      "GET /api/workflows/tasks/ut_1": task,
      "POST /api/workflows/tasks/ut_1/submit": { taskId: "ut_1", port: "out", runId: "run_1" },
      "POST /api/workflows/tasks/ut_1/comment": task,
    },
  });
  await cli.run(group, "submit", ["ut_1"], {});
  await cli.run(group, "comment", ["ut_1", "soon"], {});
  const who = `uid ${process.getuid?.()}`;
  expect(cli.requested.flatMap(({ body }) => (body === undefined ? [] : [body]))).toMatchObject([{ actor: who }, { text: "soon", by: who }]);
});
