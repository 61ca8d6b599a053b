import type { HttpRoute } from "@svc/sdk";
import { fail } from "../../base/errors.ts";
import type { Kernel } from "../../core/boot/kernel-api.ts";

/** `POST /ask` (000:L178): one question to `node.defaultAgent`, one answer. The text is in `message` or `text`. */
export function askRoute(kernel: Pick<Kernel, "defaultAgent" | "tasks">): HttpRoute {
  return {
    method: "POST",
    path: "/ask",
    guard: "peer",
    body: { type: "object", properties: { message: { type: "string", minLength: 1 }, text: { type: "string", minLength: 1 } } },
    async handle({ body }) {
      const given = body as { readonly message?: string; readonly text?: string };
      const text = given.message ?? given.text;
      if (text === undefined) throw fail("SVC_HTTP_INVALID", { subject: "'message'", reason: "is missing", path: "message", field: "message" });
      const agent = kernel.defaultAgent;
      if (agent === undefined) throw fail("SVC_AGENT_NO_DEFAULT");
      const { ok, reply, taskId, error, errorKind } = await kernel.tasks.run({ entry: "ask", channel: "http", chat: "ask", text, agent });
      return { agent, reply, taskId, ...(ok ? {} : { ok, error, errorKind }) };
    },
  };
}
