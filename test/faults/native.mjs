/**
 * Engines that keep their conversations in files, and note in the file `SVC_TEST_LEDGER` what each of their turns was given. A session
 * without a file is lost. A text that begins with `hold` waits until the file of that name beside the ledger is gone, or the run is ended.
 */
import { randomUUID } from "node:crypto";
import { appendFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const beside = (name) => join(dirname(process.env.SVC_TEST_LEDGER), name);

/** The plugin of an engine of that name whose sessions lie in that folder. */
export const enginePlugin = (name, folder, abilities) => ({
  kind: "tier",
  name,
  version: "1.0.0",
  svc: "^0.1.0",
  capabilities: [],
  setup(ctx) {
    ctx.provide.tier({
      name,
      abilities: { nativeSessions: true, ...abilities },
      async *run({ id, messages: [{ chat, text }] }, { session: given, layers }, signal) {
        const note = (at, session) => {
          const history = layers.find(({ name }) => name === "history")?.text ?? "";
          appendFileSync(process.env.SVC_TEST_LEDGER, `${JSON.stringify({ node: ctx.node.id, at, taskId: id, chat, text, given, session, history })}\n`);
        };
        const sessions = folder();
        if (given !== undefined && !existsSync(join(sessions, given))) {
          note("lost");
          yield { type: "error", kind: "session", message: "no such session here", sessionLost: true };
          return;
        }
        const session = given ?? randomUUID();
        mkdirSync(sessions, { recursive: true });
        writeFileSync(join(sessions, session), "");
        note("begin", session);
        while (text.startsWith("hold") && existsSync(beside("hold")) && !signal.aborted) await new Promise((resolve) => setTimeout(resolve, 20));
        yield { type: "session", id: session };
        yield { type: "text", text: `answer to ${text}` };
        yield { type: "done" };
      },
    });
  },
});

/** Where each daemon finds them. */
export const shared = () => beside("anywhere");

/** In its daemon's folder, as command-line engines do. */
export default enginePlugin("native", () => "native");
