/** A tab of the administration: the nodes of the intent graph in their order, and the drafts that wait. Nothing is decided here. */

const CHANGES = { add: "adds", edit: "changes", remove: "removes" };

/** An element with these properties, and what stands in it. */
function element(name, properties = {}, ...inner) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...inner);
  return made;
}

const row = (...inner) => element("li", { className: "graph-row" }, ...inner);
const meta = (words) => element("p", { className: "graph-meta", dir: "auto", textContent: words });
const wrong = (words) => element("p", { className: "graph-wrong", textContent: words });

/** Shows the graph in `place`, and again when drafts were made or decided. */
export async function mount(place, host) {
  const sheet = element("link", { rel: "stylesheet", href: new URL("./panel.css", import.meta.url).href });
  const note = element("p", { className: "graph-note" });
  note.setAttribute("role", "status");
  const drafts = element("ul", { className: "graph" });
  const nodes = element("ul", { className: "graph" });
  place.append(sheet, note, element("h2", { textContent: "Drafts" }), drafts, element("h2", { textContent: "Nodes" }), nodes);
  let due;
  const draw = async () => {
    try {
      const [graph, waiting] = await Promise.all([host.request("GET", "/api/graph"), host.request("GET", "/api/graph/drafts")]);
      note.textContent = "";
      note.classList.remove("graph-wrong");
      fill(drafts, waiting.drafts, draftRow, "No draft waits. Drafts are made by svc graph draft, and decided in the inbox or by svc graph promote.");
      const broken = graph.broken.map((one) => ({ broken: one }));
      const all = [...broken, ...inOrder(graph.nodes)];
      fill(nodes, all, nodeRow, "The graph has no node. A node is a file <id>.yaml with a title in the folder graph.baseDir.");
    } catch (error) {
      note.textContent = `The graph could not be read: ${error.message}`;
      note.classList.add("graph-wrong");
    }
  };
  const stop = host.onEvent(({ type }) => {
    if (!type.startsWith("graph:") && !type.startsWith("approval:")) return;
    clearTimeout(due);
    due = setTimeout(draw, 1000);
  });
  await draw();
  return () => {
    clearTimeout(due);
    stop();
  };
}

/** Keeps rows that say the same, so that neither an open text nor the focus is lost. */
function fill(list, given, rowOf, none) {
  const known = new Map([...list.children].map((one) => [one.dataset.given, one]));
  const rows = given.map((one) => {
    const key = JSON.stringify(one);
    const made = known.get(key) ?? rowOf(one);
    made.dataset.given = key;
    return made;
  });
  list.replaceChildren(...(rows.length === 0 ? [element("li", { className: "graph-none", textContent: none })] : rows));
}

/** Each node behind the one that it is a part of, with the names of those above it. */
function inOrder(nodes) {
  const ids = new Set(nodes.map(({ id }) => id));
  const below = new Map();
  for (const node of nodes) {
    const parent = ids.has(node.parent) ? node.parent : undefined;
    below.set(parent, [...(below.get(parent) ?? []), node]);
  }
  const seen = new Set();
  const found = [];
  const walk = (parent, above) => {
    for (const node of (below.get(parent) ?? []).sort((one, other) => one.title.localeCompare(other.title))) {
      if (seen.has(node.id)) continue;
      seen.add(node.id);
      found.push({ node, above });
      walk(node.id, [...above, node.title]);
    }
  };
  walk(undefined, []);
  // Nodes that are parts of one another stand below none.
  return [...found, ...nodes.filter(({ id }) => !seen.has(id)).map((node) => ({ node, above: [] }))];
}

function nodeRow({ node, above, broken }) {
  if (broken !== undefined) return row(element("p", { className: "graph-name", textContent: broken.file }), wrong(`It is left out: ${broken.problem}.`));
  const { id, title, parent, links, keywords, text } = node;
  const facts = [
    id,
    ...(above.length > 0 ? [`part of ${above.join(" / ")}`] : parent === undefined ? [] : [`part of ${parent}, which is not there`]),
    ...(links.length > 0 ? [`has to do with ${links.join(", ")}`] : []),
    ...(keywords.length > 0 ? [`words: ${keywords.join(", ")}`] : []),
  ];
  return row(element("bdi", { className: "graph-name", textContent: title }), meta(facts.join(" · ")), ...textOf(title, text));
}

function draftRow({ id, file, change, problem }) {
  if (change === undefined) return row(element("p", { className: "graph-name", textContent: file }), wrong(`It cannot be used: ${problem}.`));
  const { node, confidence, by, reason, review } = change;
  const facts = [id, `${CHANGES[change.change]} ${node.id}`, `sure to ${confidence}`, ...(by === undefined ? [] : [`by ${by}`])];
  const words = [...(reason === undefined ? [] : [`Why: ${reason}`]), ...(review === undefined ? [] : [`Review: ${review}`])];
  const name = element("bdi", { className: "graph-name", textContent: node.title });
  return row(name, meta(facts.join(" · ")), ...words.map(meta), ...(problem === undefined ? [] : [wrong(problem)]), ...textOf(node.title, node.text));
}

function textOf(title, text) {
  if (text === "") return [];
  const whole = element("pre", { textContent: text, dir: "auto", tabIndex: 0 });
  whole.setAttribute("role", "region");
  whole.setAttribute("aria-label", `The text of ${title}`);
  return [element("details", {}, element("summary", { textContent: "Text" }), whole)];
}
