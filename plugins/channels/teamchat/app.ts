import { onAbort, type PluginContext, standbyNote, whileHeld } from "@svc/sdk";
import type { Socket } from "./socket.ts";
import type { Workspace } from "./workspace.ts";

/** The connection of one app, with the workspaces that it serves: on one daemon at a time of all that use the store. */
export interface App {
  /** The one under way, or the next one: made anew when another daemon took its place. */
  readonly socket: Socket;
  readonly workspaces: readonly Workspace[];
  /** Why it does not listen although it could. */
  readonly note: string | undefined;
  /** Connects as soon as it is this daemon's turn, by the platform's id of the app. */
  listen(id: string): void;
  stop(): Promise<void>;
}

/** Makes it; `make` makes a connection, `changed` is called when there is something else to say. */
export function createApp({ store }: Pick<PluginContext, "store">, workspaces: readonly Workspace[], make: () => Socket, changed: () => void): App {
  const cut = new AbortController();
  let note: string | undefined;
  let listening: Promise<void> | undefined;
  let socket = make();
  const tell = (words: string | undefined): void => {
    note = words;
    changed();
  };

  async function connect(signal: AbortSignal): Promise<void> {
    note = undefined;
    socket.start();
    await new Promise<void>((resolve) => onAbort(signal, () => resolve()));
    await socket.stop();
    // One that was stopped does not start again.
    if (!cut.signal.aborted) socket = make();
  }

  return {
    get socket() {
      return socket;
    },
    get note() {
      return note;
    },
    workspaces,
    listen(id) {
      listening ??= whileHeld(store, `socket:${id}`, { signal: cut.signal, standby: (node) => tell(standbyNote(node)), failed: tell }, connect);
    },
    async stop() {
      cut.abort(new Error("stopped"));
      await listening;
    },
  };
}
