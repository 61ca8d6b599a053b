import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { echoConfig, startDaemon } from "./daemon.mjs";
import { SVC, startNode } from "./process.mjs";
import { addedAtMost, median } from "./rounds.mjs";

const TOOL = `export default {
  kind: "feature", name: "say", version: "1.0.0", svc: ">=0.1.0", capabilities: [],
  setup: (ctx) => ctx.provide.tool({ name: "say", description: "Says it", input: { type: "object" }, run: async () => "said" }),
};
`;
const CALL = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "say", arguments: {} } });

/** One call of the tool over a connection that stays. */
async function call(agent, port, path, token) {
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": "2025-06-18",
    "content-length": Buffer.byteLength(CALL),
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
  const sent = request({ host: "127.0.0.1", port, method: "POST", path, agent, headers });
  sent.end(CALL);
  const [response] = await once(sent, "response");
  let said = "";
  for await (const chunk of response.setEncoding("utf8")) said += chunk;
  if (!said.includes('"said"')) throw new Error(`the tool's answer is ${response.statusCode} ${said}`);
}

export default {
  id: "P32",
  title: "a tool call over MCP",
  against: "the vendor's SDK behind node:http, without tokens and agents",
  lines: [{ what: "tools/call over HTTP, one after the other, median", unit: "ms", target: addedAtMost(1, "ms") }],
  async open({ folder, quick }) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "say.mjs"), TOOL);
    const floor = await startNode([join(import.meta.dirname, "floors/mcp.mjs")]);
    const daemon = await startDaemon(folder, (port) => echoConfig(port, { plugins: ["./say.mjs"] }));
    const created = execFileSync(process.execPath, [SVC, "--json", "token", "create", "--name", "bench", "--scope", "mcp:echo"], {
      cwd: folder,
      encoding: "utf8",
    });
    const { secret } = JSON.parse(created);
    const agent = new Agent({ keepAlive: true });
    const calls = quick ? 300 : 1_000;
    const several = async (...to) => {
      const times = [];
      for (let n = 0; n < calls; n += 1) {
        const began = performance.now();
        await call(agent, ...to);
        times.push(performance.now() - began);
      }
      return [median(times)];
    };
    const sides = { floor: () => several(floor.facts.port, "/mcp"), ours: () => several(daemon.port, "/mcp/echo", secret) };
    await sides.floor();
    await sides.ours();
    return {
      ...sides,
      async close() {
        agent.destroy();
        await Promise.all([floor.stop(), daemon.stop()]);
      },
    };
  },
};
