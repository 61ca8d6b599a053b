/** A tab of the administration: the files in which an agent keeps what it remembers, with their text. Credentials are left out of it. */

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

/** Shows the memory of one agent at a time in `place`. */
export async function mount(place, host) {
  const sheet = element("link", { rel: "stylesheet", href: new URL("./panel.css", import.meta.url).href });
  const note = element("p", { className: "memory-note" });
  note.setAttribute("role", "status");
  const choice = element("select", { id: "memory-agent" });
  const list = element("ul", { className: "memory" });
  const chooser = element("div", { className: "memory-agent", hidden: true }, element("label", { htmlFor: choice.id, textContent: "Agent" }), choice);
  place.append(sheet, chooser, note, list);
  const told = (words, bad = false) => {
    note.textContent = words;
    note.classList.toggle("memory-wrong", bad);
  };
  /** The newest choice counts. */
  let reading = 0;
  const draw = async () => {
    reading += 1;
    const mine = reading;
    const id = choice.value;
    try {
      const { files, more } = await host.request("GET", `/api/agents/${encodeURIComponent(id)}/memory`);
      if (mine !== reading) return;
      told(more ? `The first ${files.length} files are shown; there are others.` : "");
      const none = "It has none: MEMORY.md, and files below memory/ of its workspace.";
      list.replaceChildren(
        ...(files.length === 0 ? [element("li", { className: "memory-none", textContent: none })] : files.map((one) => rowOf(id, one, host))),
      );
    } catch (error) {
      if (mine !== reading) return;
      list.replaceChildren();
      told(`The memory could not be read: ${error.message}`, true);
    }
  };
  choice.addEventListener("change", draw);
  try {
    const { agents } = await host.request("GET", "/api/agents");
    choice.append(...agents.map(({ id, name = id }) => element("option", { value: id, textContent: name === id ? id : `${name} (${id})` })));
    chooser.hidden = agents.length === 0;
    if (agents.length === 0) told("There is no agent.");
    else await draw();
  } catch (error) {
    told(`The agents could not be read: ${error.message}`, true);
  }
  return () => {
    reading += 1;
  };
}

function rowOf(agent, { file, size, changedAt }, host) {
  const about = element("p", { className: "memory-meta" }, `${size} bytes, changed `, time(changedAt));
  const text = element("div", {});
  const details = element("details", {}, element("summary", {}, element("bdi", { className: "memory-name", textContent: file })), text);
  // Read when it is opened, and again when it is opened once more: an agent may have written meanwhile.
  details.addEventListener("toggle", async () => {
    if (!details.open) return;
    try {
      const shown = await host.request("GET", `/api/agents/${encodeURIComponent(agent)}/memory?file=${encodeURIComponent(file)}`);
      const left = [...(shown.redacted > 0 ? [`${shown.redacted} credentials left out`] : []), ...(shown.cut ? [`the beginning of ${shown.size} bytes`] : [])];
      const whole = element("pre", { textContent: shown.text === "" ? "(no text)" : shown.text, dir: "auto", tabIndex: 0 });
      whole.setAttribute("role", "region");
      whole.setAttribute("aria-label", `The text of ${file}`);
      text.replaceChildren(...(left.length === 0 ? [] : [element("p", { className: "memory-meta", textContent: left.join(", ") })]), whole);
    } catch (error) {
      text.replaceChildren(element("p", { className: "memory-wrong", textContent: `It could not be read: ${error.message}` }));
    }
  });
  return element("li", { className: "memory-row" }, details, about);
}
