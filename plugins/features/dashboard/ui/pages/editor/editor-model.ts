import type { ApiError } from "../../data/api-error.ts";
import { request, requestWithHeaders } from "../../data/request.ts";
import { completePlaces, freePlace, NODE_WIDTH, snapped } from "../../graph/auto-layout.ts";
import { type GraphDefinition, type GraphNode, graphAt, type Places, readGraph, readPlaces, type Scope } from "../../graph/graph-types.ts";
import type { Change } from "./changes.ts";
import { applyEdit, copyOf, type Edit, edgeOf, newNode } from "./edit.ts";
import { changesIn, closedBy, type EditorState, isUnsaved, type Stored } from "./editor-state.ts";
import type { Checked, Source, Subject } from "./editor-types.ts";
import { type History, redo, step, undo } from "./history.ts";
import { localCopies } from "./local-copy.ts";

const LINT_MS = 400;
const LAYOUT_MS = 800;
const COLUMN = NODE_WIDTH + 112;
const NOTHING: readonly string[] = [];

/** Edited definition with its history, its check and the places of its nodes. The page renders `state` and calls the methods. */
export class EditorModel {
  state: EditorState;
  /** Of a new workflow: what its address asked for. */
  readonly opened: string | undefined;
  readonly #listeners = new Set<() => void>();
  #lint: ReturnType<typeof setTimeout> | undefined;
  #layout: ReturnType<typeof setTimeout> | undefined;
  #asked = 0;

  constructor(state: EditorState, opened?: string) {
    this.state = state;
    this.opened = opened;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  #put(change: Partial<EditorState>): void {
    this.state = { ...this.state, ...change };
    for (const listener of [...this.#listeners]) listener();
  }

  get definition(): GraphDefinition {
    return this.state.history.now.definition;
  }

  changes(): readonly Change[] {
    return changesIn(this.state);
  }

  unsaved(): boolean {
    return isUnsaved(this.state);
  }

  closed(): "locked" | "unread" | undefined {
    return closedBy(this.state);
  }

  edit(edit: Edit, key?: string): void {
    if (this.closed() !== undefined) return;
    const { now } = this.state.history;
    const definition = applyEdit(now.definition, edit);
    if (definition === now.definition) return;
    const places = this.#placed(definition);
    this.#put({ history: step(this.state.history, { ...now, definition }, key), places });
    this.#checkSoon();
  }

  /** Nodes that have no place get one. */
  #placed(definition: GraphDefinition, scope: Scope = this.state.scope): Places {
    const graph = graphAt(definition, scope);
    return graph === undefined ? this.state.places : completePlaces(graph, this.state.places);
  }

  /** Adds a node of a kind: after a port of another, or where it was dropped, or beside the last one. */
  add(
    kind: string,
    { from, at }: { readonly from?: { readonly id: string; readonly port: string } | undefined; readonly at?: readonly [number, number] } = {},
  ): void {
    if (this.closed() !== undefined) return;
    const { scope, places } = this.state;
    const graph = graphAt(this.definition, scope);
    if (graph === undefined) return;
    const node = newNode(this.definition, kind);
    const own = graph.nodes.flatMap(({ id }): (readonly [number, number])[] => (places.has(id) ? [places.get(id) as readonly [number, number]] : []));
    const source = from === undefined ? undefined : places.get(from.id);
    const beside =
      source === undefined ? ([Math.max(-COLUMN, ...own.map(([x]) => x)) + COLUMN, own[0]?.[1] ?? 0] as const) : ([source[0] + COLUMN, source[1]] as const);
    const place = at === undefined ? freePlace(beside, own) : ([snapped(at[0]), snapped(at[1])] as const);
    this.#put({ places: new Map(places).set(node.id, place) });
    this.edit({ type: "add", scope, node, ...(from === undefined ? {} : { from }) });
    this.select([node.id], [], true);
    this.#saveLayoutSoon();
  }

  /** Copies of nodes, with the edges between them, beside the originals. */
  paste(nodes: readonly GraphNode[], edges: Parameters<typeof copyOf>[2], from: Places = this.state.places): void {
    if (this.closed() !== undefined) return;
    const { graph, ids } = copyOf(this.definition, nodes, edges);
    if (graph.nodes.length === 0) return;
    const places = new Map(this.state.places);
    for (const [old, id] of ids) {
      const [x, y] = from.get(old) ?? [0, 0];
      places.set(id, [x + 32, y + 64]);
    }
    this.#put({ places });
    this.edit({ type: "paste", scope: this.state.scope, graph });
    this.select(
      graph.nodes.map(({ id }) => id),
      [],
    );
    this.#saveLayoutSoon();
  }

  connect(from: string, port: string, to: string): void {
    this.edit({ type: "connect", scope: this.state.scope, edge: edgeOf(from, port, to) });
  }

  rename(id: string, to: string): void {
    const { places, scope } = this.state;
    const place = places.get(id);
    if (place !== undefined) this.#put({ places: new Map(places).set(to, place) });
    this.edit({ type: "rename", scope, id, to });
    this.select([to], []);
    this.#saveLayoutSoon();
  }

  removeSelected(): void {
    const { scope, selected, selectedEdges } = this.state;
    const edges = (graphAt(this.definition, scope)?.edges ?? []).filter((edge) => selectedEdges.includes(`${edge.from}.${edge.fromPort ?? "out"}>${edge.to}`));
    if (selected.length > 0) this.edit({ type: "remove", scope, ids: selected });
    if (edges.length > 0) this.edit({ type: "disconnect", scope, edges });
    this.select([], []);
  }

  undo(): void {
    const { typed, ...rest } = this.state;
    const { stored, history } = rest;
    if (typed === undefined) this.#turn(undo(history));
    else if (history.past.length === 0 && stored !== undefined && stored.definition.nodes.length === 0) {
      // The file itself cannot be read: back to what it says.
      if (typed !== stored.text) this.type(stored.text);
    } else {
      // Discard unparsable text first.
      this.state = rest;
      this.#checkSoon();
    }
  }

  redo(): void {
    this.#turn(redo(this.state.history));
  }

  #turn(history: History): void {
    if (history.now === this.state.history.now) return;
    const { definition } = history.now;
    const scope = graphAt(definition, this.state.scope) === undefined ? [] : this.state.scope;
    const there = new Set(graphAt(definition, scope)?.nodes.map(({ id }) => id));
    const { typed: _, ...rest } = this.state;
    this.state = rest;
    this.#put({ history, scope, places: this.#placed(definition, scope), selected: this.state.selected.filter((id) => there.has(id)), selectedEdges: NOTHING });
    this.#checkSoon();
  }

  select(selected: readonly string[], selectedEdges: readonly string[] = NOTHING, show = false): void {
    const same = (one: readonly string[], other: readonly string[]) => one.length === other.length && one.every((id, at) => id === other[at]);
    const { state } = this;
    if (!show && same(selected, state.selected) && same(selectedEdges, state.selectedEdges)) return;
    this.#put({ selected, selectedEdges, ...(show ? { wish: state.wish + 1 } : {}) });
  }

  open(scope: Scope, selected: readonly string[] = NOTHING): void {
    this.#put({ scope, places: this.#placed(this.definition, scope), selected, selectedEdges: NOTHING });
  }

  /** Shows where a problem is: its graph, its node, its field and its line. */
  show(scope: Scope, node: string | undefined, field: string, line: number): void {
    const wish = this.state.wish + 1;
    this.open(scope, node === undefined ? [] : [node]);
    this.#put({ wanted: { field, line, wish }, wish });
  }

  move(moved: Places): void {
    this.#put({ places: new Map([...this.state.places, ...moved]) });
    this.#saveLayoutSoon();
  }

  /** Moves the selected nodes by the grid. */
  nudge(x: number, y: number): void {
    const { selected, places } = this.state;
    this.move(
      new Map(
        selected.flatMap((id) => {
          const place = places.get(id);
          return place === undefined ? [] : [[id, [place[0] + x, place[1] + y] as const] as const];
        }),
      ),
    );
  }

  /** The text as it was typed: read by the server, and then it is the graph as well. */
  type(text: string): void {
    this.#put({ typed: text });
    this.#checkSoon();
  }

  #checkSoon(): void {
    this.#put({ stale: true });
    clearTimeout(this.#lint);
    this.#lint = setTimeout(() => void this.check(), LINT_MS);
  }

  /** Checks the edited definition on the server, without writing. Resolves with the check, or undefined if it failed or there was an edit meanwhile. */
  async check(): Promise<Checked | undefined> {
    clearTimeout(this.#lint);
    this.#asked += 1;
    const asked = this.#asked;
    const { id, typed, history } = this.state;
    const name = id === "" ? "workflow" : id;
    try {
      const body = typed === undefined ? { id: name, text: history.now.text, definition: history.now.definition } : { id: name, text: typed };
      const checked = await request<Checked>("POST", "/api/workflows/check", body);
      if (asked !== this.#asked) return undefined;
      this.#took(checked, typed);
      return checked;
    } catch (error) {
      if (asked === this.#asked) this.#put({ checkFailed: (error as ApiError).message });
      return undefined;
    }
  }

  #took(checked: Checked, typed: string | undefined): void {
    const { checkFailed: _, lock: __, ...rest } = this.state;
    this.state = rest;
    if (typed === undefined || checked.definition === null) {
      this.#put({ checked, stale: false });
      return;
    }
    const { typed: ___, ...read } = this.state;
    this.state = read;
    const { definition, whole } = readGraph(checked.definition);
    const history = step(this.state.history, { definition, text: typed }, "text");
    const scope = graphAt(definition, this.state.scope) === undefined ? [] : this.state.scope;
    this.#put({
      history,
      checked,
      stale: false,
      whole,
      scope,
      places: this.#placed(definition, scope),
      ...(checked.locked === undefined ? {} : { lock: checked.locked }),
    });
  }

  setId(id: string): void {
    this.#put({ id });
    this.#checkSoon();
  }

  /** Saves the edited definition. Throws an `ApiError`: 412 after a concurrent write. */
  async save(
    checked: Checked,
    as: Subject = { kind: this.state.subject.kind === "new" ? "workflow" : this.state.subject.kind, id: this.state.id },
  ): Promise<void> {
    const { stored, subject, history } = this.state;
    const goes = stored !== undefined && as.kind === subject.kind && as.id === subject.id;
    const headers: Record<string, string> = goes ? { "if-match": stored.etag } : { "if-none-match": "*" };
    const base = as.kind === "draft" ? `/api/workflows/drafts/${encodeURIComponent(as.id)}` : `/api/workflows/${encodeURIComponent(as.id)}`;
    // A text with comments stays YAML; a drawn definition is JSON.
    const format = goes ? stored.format : as.kind === "draft" || history.now.text !== "" ? "yaml" : "json";
    const answer = await (format === "yaml"
      ? requestWithHeaders<{ hash?: string; file?: string }>("PUT", `${base}/text`, { text: checked.text }, { headers })
      : requestWithHeaders<{ hash?: string; file?: string }>("PUT", base, history.now.definition, { headers }));
    localCopies.remove(subject);
    const now: Stored = {
      definition: history.now.definition,
      text: checked.text,
      hash: answer.data.hash ?? checked.hash,
      etag: answer.headers.get("etag") ?? "",
      format,
      file: stored?.file ?? "",
    };
    this.#put({
      subject: as,
      id: as.id,
      stored: now,
      history: { ...this.state.history, now: { ...history.now, text: format === "yaml" ? checked.text : history.now.text } },
    });
    if (!goes) this.#saveLayoutSoon();
  }

  /** Continues on the base of a concurrent write; `merged` is both. */
  rebase(theirs: Source, merged: GraphDefinition): void {
    const { definition } = readGraph(theirs.definition);
    const text = theirs.format === "yaml" ? theirs.text : "";
    const { hash, etag, format, file } = theirs;
    const stored: Stored = { definition, text, hash, etag, format, file };
    this.#put({
      stored,
      history: step(this.state.history, { definition: merged, text }),
      places: new Map([...readPlaces(theirs.layout), ...this.state.places]),
    });
    this.#checkSoon();
  }

  /** There is nothing any more that it was made from: it is saved as a new one. */
  unstore(): void {
    const { stored: _, ...rest } = this.state;
    this.state = rest;
    this.#put({ history: { ...rest.history, past: rest.history.past.length > 0 ? rest.history.past : [rest.history.now] } });
  }

  keepLocally(): boolean {
    const { subject, history, stored } = this.state;
    const { definition, text } = history.now;
    return localCopies.write(subject, { at: Date.now(), definition, text: this.state.typed ?? text, ...(stored === undefined ? {} : { etag: stored.etag }) });
  }

  takeUp(copy: { readonly definition: GraphDefinition; readonly text: string }): void {
    this.#put({
      history: step(this.state.history, { definition: readGraph(copy.definition).definition, text: copy.text }),
      places: this.#placed(copy.definition, []),
    });
    this.#checkSoon();
  }

  #saveLayoutSoon(): void {
    clearTimeout(this.#layout);
    this.#layout = setTimeout(() => void this.saveLayout(), LAYOUT_MS);
  }

  /** Where nodes stand is no change of the workflow: it is written beside it, without a word. */
  async saveLayout(): Promise<void> {
    this.#layout = undefined;
    const { subject, stored, places } = this.state;
    if (subject.kind !== "workflow" || stored === undefined) return;
    const nodes = Object.fromEntries(places);
    await request("PUT", `/api/workflows/${encodeURIComponent(subject.id)}/layout`, { nodes }).catch(() => undefined);
  }

  /** Ends pending work; the places of nodes are still saved. */
  close(): void {
    clearTimeout(this.#lint);
    if (this.#layout === undefined) return;
    clearTimeout(this.#layout);
    void this.saveLayout();
  }
}
