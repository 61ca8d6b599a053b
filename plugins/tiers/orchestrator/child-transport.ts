import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { type JSONRPCMessage, JSONRPCMessageSchema } from "@modelcontextprotocol/sdk/types.js";
import type { Child, ChildEnd, Spawn, SpawnOptions } from "@svc/sdk";

const MAX_LINE_BYTES = 8 * 1024 * 1024;

/** A transport to a program of ours. */
export interface ChildTransport extends Transport {
  /** End of the program, once it has ended. */
  readonly end: ChildEnd | undefined;
}

/** Speaks with a tool server over the standard streams of a child of the daemon, so that it and all it starts end with the turn. */
export function childTransport(spawn: Spawn, command: string, args: readonly string[], options: Pick<SpawnOptions, "cwd" | "env" | "taskId">): ChildTransport {
  let child: Child | undefined;
  let end: ChildEnd | undefined;
  const transport: { -readonly [K in keyof Transport]: Transport[K] } & ChildTransport = {
    get end() {
      return end;
    },
    async start() {
      child = spawn(command, args, { ...options, stdin: "pipe", maxLineBytes: MAX_LINE_BYTES, onLine });
      void child.ended.then((how) => {
        end = how;
        transport.onclose?.();
      });
      await child.started;
    },
    send: async (message) => child?.write(`${JSON.stringify(message)}\n`),
    close: async () => child?.stop(),
  };
  function onLine(line: string): void {
    let message: JSONRPCMessage;
    try {
      message = JSONRPCMessageSchema.parse(JSON.parse(line));
    } catch {
      // Programs print greetings and warnings where only messages belong.
      return;
    }
    transport.onmessage?.(message);
  }
  return transport;
}
