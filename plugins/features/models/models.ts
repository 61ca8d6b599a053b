import { type Agent, type ModelCall, type ModelEvent, type Models, tierFailure } from "@svc/sdk";
import type { ExtractOptions } from "./extract.ts";
import type { Connections } from "./model-connection.ts";
import { type ModelAddress, modelAddress, type NoAddress, type Providers } from "./provider-address.ts";

/** The part of the configuration that a turn uses. */
export interface ModelsOptions extends ExtractOptions {
  /** The live section `providers`. */
  readonly providers: () => Providers;
  readonly agent: (id: string) => Agent | undefined;
}

/** The models, and the connections that are kept for them. */
export interface OwnModels extends Models {
  /** Ends idle connections. */
  close(): void;
}

/** The capability `models`. The network goes to the addresses of the configuration only. What speaks to vendors is loaded with the first call. */
export function createModels({ providers, agent, ...options }: ModelsOptions): OwnModels {
  let connections: Connections | undefined;
  let extract: Models["extract"] | undefined;
  const addressOf = (id: string, model?: string): ModelAddress | NoAddress => {
    const known = agent(id);
    if (known !== undefined) return modelAddress(providers(), known, model);
    return { failure: tierFailure("request", `There is no agent '${id}'; see svc agent list.`), setting: `agents.${id}` };
  };
  async function* stream(call: ModelCall): AsyncGenerator<ModelEvent> {
    const address = addressOf(call.agent, call.model);
    if ("failure" in address) {
      yield address.failure;
      return;
    }
    const [{ callModel }, { createConnections }] = await Promise.all([import("./model-call.ts"), import("./model-connection.ts")]);
    connections ??= createConnections();
    yield* callModel(connections, address, call);
  }
  async function extracted(request: Parameters<Models["extract"]>[0]): Promise<unknown> {
    extract ??= (await import("./extract.ts")).createExtract(options);
    return extract(request);
  }
  return {
    extract: extracted,
    stream,
    async usable(id) {
      const address = addressOf(id);
      if (!("failure" in address)) return { ok: true, detail: `provider ${address.provider}, model ${address.model}` };
      const { failure, setting } = address;
      return { ok: false, detail: failure.message.includes(setting) ? failure.message : `${failure.message}; set ${setting}` };
    },
    close: () => connections?.close(),
  };
}
