import { createServer } from "node:http";
import { afterEach } from "vitest";

const servers: ReturnType<typeof createServer>[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

/** What the small model does with a call: calls the tool with this, fails with this status, talks instead, or never answers. */
export type SmallAnswer = object | number | "prose" | "silence";

/** The far end of the capability `models`, on this machine. `env` leads a kernel there; `asked` holds the prompts. */
export async function smallModel(answer: () => SmallAnswer): Promise<{ readonly asked: string[]; readonly env: Record<string, string> }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => {
      body += chunk;
    });
    request.on("end", () => {
      const { messages, tool_choice } = JSON.parse(body);
      asked.push(messages[0].content);
      const given = answer();
      if (given === "silence") return;
      const send = (status: number, value: object) => void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
      if (request.url !== "/v1/messages" || request.headers["x-api-key"] !== "sk-test") send(401, { error: { message: "no such key" } });
      else if (typeof given === "number") send(given, { error: { message: "no" } });
      else if (given === "prose") send(200, { content: [{ type: "text", text: "I would rather chat." }], stop_reason: "end_turn" });
      else send(200, { content: [{ type: "tool_use", id: "t", name: tool_choice.name, input: given }], stop_reason: "tool_use" });
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  return { asked, env: { ANTHROPIC_API_KEY: "sk-test", ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}` } };
}
