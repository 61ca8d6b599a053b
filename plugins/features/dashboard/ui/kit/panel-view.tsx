import type { Envelope, PanelHost, PanelModule } from "@svc/sdk";
import { useEffect, useRef, useState } from "react";
import type { PanelView as Panel } from "../../panels.ts";
import { onFrame } from "../data/live.ts";
import { request } from "../data/request.ts";
import { useResource } from "../data/resource.ts";
import { navigate } from "../data/router.tsx";
import { session } from "../data/session.ts";
import { KIT } from "../words/kit.ts";
import { Icon } from "./icon.tsx";
import { toast } from "./toast.ts";

/** The panels that plugins provide for a place and the person may see. Those of another daemon are shown at its own dashboard. */
export function usePanels(place: Panel["place"]): readonly Panel[] {
  const path = session.daemon() === undefined ? "/api/panels" : undefined;
  const { data } = useResource<{ panels: readonly Panel[] }>(path, { refreshOn: ({ type }) => type.startsWith("plugin:") });
  return data?.panels.filter((panel) => panel.place === place) ?? [];
}

/** One panel, drawn by its plugin's own module into an element of its own. One that fails says so in its place. */
export function PanelView({ panel: { id, title, module } }: { readonly panel: Panel }) {
  const place = useRef<HTMLElement>(null);
  const [error, setError] = useState<string>();
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    setError(undefined);
    return mountPanel(module, element, setError);
  }, [module]);
  return (
    <section className="kit-panel" aria-label={title} data-panel={id}>
      {error !== undefined && (
        <p className="kit-state kit-state-wrong" role="alert">
          <Icon name="warn" />
          <span>{KIT.panelBroken(error)}</span>
        </p>
      )}
      <article ref={place} className="kit-panel-place" />
    </section>
  );
}

/** Loads the module and mounts it; gives the way to end it, also while it is still loading. */
function mountPanel(module: string, element: HTMLElement, failed: (reason: string) => void): () => void {
  const stops: (() => void)[] = [];
  let ended = false;
  const host: PanelHost = {
    request,
    onEvent(hear) {
      const stop = onFrame(({ name, data }) => {
        if (name === "event") hear(data as Envelope);
      });
      stops.push(stop);
      return stop;
    },
    navigate: (to) => navigate(to),
    toast: (message) => void toast(message),
  };
  const mount = async () => {
    const { mount: draw } = (await import(/* @vite-ignore */ module)) as PanelModule<HTMLElement>;
    if (typeof draw !== "function") throw new Error(`${module} exports no function 'mount'`);
    if (ended) return;
    const end = await draw(element, host);
    if (typeof end !== "function") return;
    if (ended) end();
    else stops.push(end);
  };
  mount().catch((error: unknown) => {
    if (!ended) failed(error instanceof Error ? error.message : String(error));
  });
  return () => {
    ended = true;
    for (const stop of stops) stop();
    element.replaceChildren();
  };
}

/** The small panels of a page, one beside the other; nothing where there are none. */
export function PanelCards() {
  const panels = usePanels("card");
  if (panels.length === 0) return null;
  return (
    <div className="kit-panel-cards">
      {panels.map((panel) => (
        <div key={panel.id} className="kit-panel-card">
          <h3>{panel.title}</h3>
          <PanelView panel={panel} />
        </div>
      ))}
    </div>
  );
}
