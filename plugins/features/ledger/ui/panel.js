/** A tab of the administration: which agent works on which subject of a project, what was worked on last first. Nothing is changed here. */

const PAGE = 100;
const MODES = {
  off: "The ledger is off: set INTENT_LEDGER_MODE to shadow or authoritative in the environment of the daemon.",
  shadow: "Mode shadow: who works on what is noted, and nothing is decided by it.",
  authoritative: "Mode authoritative: messages about a subject go to the agent that has it.",
};

/** An element with these properties, and what stands in it. */
function element(name, properties = {}, ...inner) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...inner);
  return made;
}
const time = (at) => {
  const date = new Date(at);
  const shown = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short", hourCycle: "h23" }).format(date);
  return element("time", { dateTime: date.toISOString(), title: date.toISOString(), textContent: shown });
};

/** Shows the ledger in `place`, and again while tasks end. */
export async function mount(place, host) {
  const sheet = element("link", { rel: "stylesheet", href: new URL("./panel.css", import.meta.url).href });
  const note = element("p", { className: "ledger-note" });
  note.setAttribute("role", "status");
  const list = element("ul", { className: "ledger" });
  list.setAttribute("aria-label", "Entries of the ledger");
  const more = element("button", { type: "button", className: "ledger-more", textContent: "Show more", hidden: true });
  place.append(sheet, note, list, more);
  let due;
  let pages = 1;
  /** As many pages as are shown; the one behind them is asked for when somebody wants it. */
  const read = async () => {
    const entries = [];
    let mode = "off";
    for (let page = 0; page < pages; page += 1) {
      const after = entries.at(-1)?.id;
      const answer = await host.request("GET", `/api/ledger?limit=${PAGE}${after === undefined ? "" : `&after=${encodeURIComponent(after)}`}`);
      mode = answer.mode;
      entries.push(...answer.entries);
      if (answer.entries.length < PAGE) return { mode, entries, whole: true };
    }
    return { mode, entries, whole: false };
  };
  const draw = async () => {
    try {
      const { mode, entries, whole } = await read();
      note.textContent = MODES[mode];
      note.classList.remove("ledger-wrong");
      const none = "The ledger is empty. An entry comes with the first turn about an issue of a forge, or of a contact in business.contactMap.";
      const known = new Map([...list.children].map((row) => [row.dataset.entry, row]));
      // A row that says the same stays, and so does the focus in it.
      const rows = entries.map((entry) => known.get(JSON.stringify(entry)) ?? rowOf(entry, host));
      list.replaceChildren(...(rows.length === 0 ? [element("li", { className: "ledger-none", textContent: none })] : rows));
      more.hidden = whole;
    } catch (error) {
      note.textContent = `The ledger could not be read: ${error.message}`;
      note.classList.add("ledger-wrong");
    }
  };
  more.addEventListener("click", () => {
    pages += 1;
    draw();
  });
  const stop = host.onEvent(({ type }) => {
    if (type !== "task:completed" && type !== "task:started") return;
    clearTimeout(due);
    due = setTimeout(draw, 1000);
  });
  await draw();
  return () => {
    clearTimeout(due);
    stop();
  };
}

function rowOf(entry, host) {
  const { project, subject, agent, task, since, at, turns, other, assignedBy } = entry;
  const row = element("li", { className: "ledger-row" });
  row.dataset.entry = JSON.stringify(entry);
  const title = element("p", {}, element("bdi", { className: "ledger-name", textContent: subject }), " of ", element("bdi", { textContent: project }));
  const who = element("p", {}, element("bdi", { textContent: agent }), " has it since ", time(since));
  if (assignedBy !== undefined) who.append(", as ", element("bdi", { textContent: assignedBy }), " has said");
  const facts = element("p", { className: "ledger-meta" });
  if (turns === 0) facts.append("no turn yet");
  else facts.append(`${turns} ${turns === 1 ? "turn" : "turns"}, the last `, time(at));
  if (task !== undefined) facts.append(" · ", linkTo(task, "its task", host));
  row.append(title, who, facts);
  if (other !== undefined) {
    const times = other.times === 1 ? "a turn" : `${other.times} turns`;
    const rival = element("bdi", { textContent: other.agent });
    row.append(
      element("p", { className: "ledger-meta" }, "Another agent ran ", times, ": ", rival, ", ", time(other.at), " · ", linkTo(other.task, "its task", host)),
    );
  }
  return row;
}

function linkTo(task, words, host) {
  const link = element("a", { href: `/tasks/${encodeURIComponent(task)}`, textContent: words });
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    host.navigate(link.getAttribute("href"));
  });
  return link;
}
