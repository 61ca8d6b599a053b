/** A tab of the administration: drafts that wait for a person's word, then what agents are told today, each with its whole text. */
import { element, shownText } from "./elements.js";

const STATES = { draft: "waits for review", "in use": "in use", broken: "cannot be used", empty: "empty" };

/** Shows the procedures in `place`, and again while runs end. */
export async function mount(place, host) {
  const sheet = element("link", { rel: "stylesheet", href: new URL("./panel.css", import.meta.url).href });
  const note = element("p", { className: "procedures-note", role: "status" });
  const drafts = element("ul", { className: "procedures" });
  const used = element("ul", { className: "procedures" });
  place.append(sheet, note, element("h2", { textContent: "To review" }), drafts, element("h2", { textContent: "What agents are told" }), used);
  let due;
  const draw = async () => {
    try {
      const { procedures, unread = 0, overfull = [] } = await host.request("GET", "/api/procedures");
      const waiting = procedures.filter(({ state }) => state === "draft");
      const others = procedures.filter(({ state }) => state !== "draft");
      fill(drafts, waiting, "No draft waits. Drafts are learned from runs that were alike, each night or by svc skill extract.");
      fill(used, others, "There is none. Skills are read from .agents/skills/<name>/SKILL.md of a workspace, procedures from the folder procedures.dir.");
      const left = [...(unread > 0 ? [`${unread} more files of procedures`] : []), ...overfull.map((one) => `${one.unread} more skills of ${one.folder}`)];
      note.textContent = left.length === 0 ? "" : `Not read: ${left.join(", ")}. Move some away.`;
    } catch (error) {
      note.textContent = `The procedures could not be read: ${error.message}`;
    }
  };
  /** Keeps rows whose procedure is the same, so that neither an open text nor the focus is lost. */
  const fill = (list, procedures, none) => {
    const known = new Map([...list.children].map((row) => [row.dataset.procedure, row]));
    const rows = procedures.map((procedure) => known.get(JSON.stringify(procedure)) ?? rowOf(procedure, host, draw));
    list.replaceChildren(...(rows.length === 0 ? [element("li", { className: "procedures-none", textContent: none })] : rows));
  };
  const stop = host.onEvent(({ type }) => {
    if (type !== "task:completed") return;
    clearTimeout(due);
    due = setTimeout(draw, 2000);
  });
  await draw();
  return () => {
    clearTimeout(due);
    stop();
  };
}

function rowOf(procedure, host, draw) {
  const { id, state, description, problem, file, agents } = procedure;
  const row = element("li", { className: `procedures-row procedures-${state.replace(" ", "-")}` });
  row.dataset.procedure = JSON.stringify(procedure);
  const name = element("bdi", { className: "procedures-name", textContent: id });
  const about = element("p", { dir: "auto", textContent: problem === undefined ? description : `It cannot be used: ${problem}.` });
  const facts = [STATES[state] ?? state, ...(agents === undefined ? [] : [`for ${agents.join(", ")}`]), file];
  const meta = element("p", { className: "procedures-meta", textContent: facts.join(" · ") });
  const buttons = element("div", { className: "procedures-buttons" });
  const text = element("div", { className: "procedures-text", hidden: true });
  row.append(name, about, meta, buttons, text);
  const show = button("Show the text", `Show the text of ${id}`, async () => {
    if (text.hidden && text.childElementCount === 0) {
      const { procedure: whole } = await host.request("GET", `/api/procedures/one?id=${encodeURIComponent(id)}`);
      text.replaceChildren(...shownText(id, whole.body));
    }
    text.hidden = !text.hidden;
    show.setAttribute("aria-expanded", String(!text.hidden));
    show.textContent = text.hidden ? "Show the text" : "Hide the text";
    show.setAttribute("aria-label", `${show.textContent} of ${id}`);
  });
  show.setAttribute("aria-expanded", "false");
  buttons.append(show);
  if (state === "draft") decide();
  return row;

  function button(words, label, act) {
    const made = element("button", { type: "button", textContent: words });
    made.setAttribute("aria-label", label);
    made.addEventListener("click", async () => {
      made.disabled = true;
      try {
        await act();
      } catch (error) {
        host.toast({ text: `${words} did not work.`, cause: error.message, kind: "error" });
      }
      made.disabled = false;
    });
    return made;
  }

  /** Promote under its name or another one; reject with a reason. */
  function decide() {
    const as = element("input", { value: id, size: 24, autocomplete: "off", spellcheck: false });
    as.setAttribute("aria-label", `Name under which ${id} is used`);
    const reason = element("input", { placeholder: "Why not (kept with the draft)", size: 28, maxLength: 1000, autocomplete: "off" });
    reason.setAttribute("aria-label", `Why ${id} is rejected`);
    const promote = button("Promote", `Promote ${id}`, async () => {
      const named = as.value.trim();
      const { procedure: done } = await host.request("POST", "/api/procedures/promote", { id, ...(named === "" || named === id ? {} : { as: named }) });
      host.toast({ text: `${done.id} is in use.` });
      await draw();
    });
    const reject = button("Reject", `Reject ${id}`, async () => {
      const why = reason.value.trim();
      await host.request("POST", "/api/procedures/reject", { id, ...(why === "" ? {} : { reason: why }) });
      host.toast({ text: `${id} is rejected. What it was learned from is not offered again.` });
      await draw();
    });
    for (const pair of [
      [as, promote],
      [reason, reject],
    ]) {
      const group = element("span", { className: "procedures-choice" });
      group.append(...pair);
      buttons.append(group);
    }
  }
}
