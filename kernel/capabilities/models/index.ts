import { type Agent, type ModelCall, type ModelEvent, type Models, tierFailure } from "@svc/sdk";
import { fail } from "../../errors.ts";
import { type ModelAddress, modelAddress, type NoAddress, type Provider } from "./address.ts";
import { callModel } from "./call.ts";
import { createConnections } from "./connection.ts";
import { createExtract, type ExtractOptions } from "./extract.ts";

export interface ModelsOptions extends ExtractOptions {
  /** The live section `providers`. */
  readonly providers: () => Readonly<Record<string, Provider>>;
  readonly agent: (id: string) => Agent | undefined;
}

/** The capability `models`. The network goes to the addresses of the configuration only. */
export function createModels({ providers, agent, ...extract }: ModelsOptions): Models & { close(): void } {
  const connections = createConnections();
  const addressOf = (id: string, model?: string): ModelAddress | NoAddress => {
    const known = agent(id);
    if (known !== undefined) return modelAddress(providers(), known, model);
    return { failure: tierFailure("request", fail("SVC_AGENT_UNKNOWN", { agent: id }).message), setting: `agents.${id}` };
  };
  async function* refused({ failure }: NoAddress): AsyncGenerator<ModelEvent> {
    yield failure;
  }
  return {
    extract: createExtract(extract),
    stream(call: ModelCall) {
      const address = addressOf(call.agent, call.model);
      return "failure" in address ? refused(address) : callModel(connections, address, call);
    },
    async usable(id) {
      const address = addressOf(id);
      if (!("failure" in address)) return { ok: true, detail: `provider ${address.provider}, model ${address.model}` };
      const { failure, setting } = address;
      return { ok: false, detail: failure.message.includes(setting) ? failure.message : `${failure.message}; set ${setting}` };
    },
    close: () => connections.close(),
  };
}
