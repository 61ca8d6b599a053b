import { isForeign } from "../../sources/source.ts";
import type { HostedPlugin, RequirePinned } from "./hosted-plugin.ts";
import type { IntegrityPart, Marked, MarkedPhase, QuarantinePart } from "./supply-port.ts";

/** Location of, and access to, the facts about third-party plugins. */
export interface SupplyDeps {
  readonly parts: { integrity(): Promise<IntegrityPart>; quarantine(): Promise<QuarantinePart> };
  /** Holds the pins of installed packages, and which plugins are quarantined. */
  readonly dataFolder: string;
  /** `kept`: mark on disk whose code runs during the set-up of plugins. `read`: only skip quarantined plugins. */
  readonly quarantine: "kept" | "read" | "none";
}

/** Checks before third-party code runs: is it trusted, and is it quarantined? Each room is loaded for the first plugin that needs it. */
export class Supply {
  readonly #deps: SupplyDeps;
  #quarantine: QuarantinePart | undefined;
  #marked: Marked | undefined;
  #pins: Promise<ReturnType<IntegrityPart["openPins"]>> | undefined;

  constructor(deps: SupplyDeps) {
    this.#deps = deps;
  }

  /** Refuses an installed package that differs from its pin. */
  readonly requirePinned: RequirePinned = async (name, folder) => {
    const { parts, dataFolder } = this.#deps;
    this.#pins ??= parts.integrity().then(({ openPins }) => openPins(dataFolder));
    return (await this.#pins).requirePinned(name, folder);
  };

  /** Quarantines the plugins that are now on the list, and releases those that no longer are. */
  async update(plugins: readonly HostedPlugin[]): Promise<void> {
    const { parts, dataFolder, quarantine } = this.#deps;
    if (quarantine === "none") return;
    this.#quarantine ??= await parts.quarantine();
    if (quarantine === "kept") this.#marked ??= this.#quarantine.createMarked(dataFolder);
    const held = this.#quarantine.readQuarantine(dataFolder);
    for (const plugin of plugins) {
      const found = Object.hasOwn(held, plugin.source.id) ? held[plugin.source.id] : undefined;
      if (found !== undefined && plugin.state === "known") plugin.quarantine("an earlier run", found.reason);
      else if (found === undefined && plugin.state === "quarantined") plugin.move("known");
    }
  }

  /** Quarantines a plugin whose process ended too often, also for later runs of the daemon. */
  quarantine(plugin: HostedPlugin, what: string, cause: string): void {
    const reason = `${cause}; mend or update it, then: svc plugin retry ${plugin.source.id}`;
    plugin.quarantine(what, reason);
    const { dataFolder, quarantine } = this.#deps;
    if (quarantine === "kept") this.#quarantine?.quarantinePlugin(dataFolder, plugin.source.id, { phase: "run", reason, at: new Date().toISOString() });
  }

  /** Runs a phase of a plugin; under a mark on disk where its code could take this process down. Code in a process of its own cannot. */
  readonly around = <T>(plugin: HostedPlugin, phase: MarkedPhase, work: () => Promise<T>): Promise<T> => {
    const { source } = plugin;
    return this.#marked !== undefined && isForeign(source) && source.isolated !== true ? this.#marked(source, phase, work) : work();
  };
}
