/** A card of the dashboard: what is used of each cap, and until when it counts. */
/** The caps of which most is used; a daemon with many agents has many. */
const MOST = 6;
const dollars = (amount) => `$${amount.toFixed(2)}`;
const share = (used, cap, measure) =>
  measure === "money" ? `${dollars(used)} of ${dollars(cap)}` : `${Math.round(used).toLocaleString()} of ${cap.toLocaleString()} ${measure}`;

/** Shows the counters in `place`, and again while turns end. */
export async function mount(place, host) {
  const list = document.createElement("dl");
  list.className = "budgets";
  const sheet = document.createElement("link");
  sheet.rel = "stylesheet";
  sheet.href = "/budgets/panel.css";
  const note = document.createElement("p");
  note.setAttribute("role", "status");
  place.append(sheet, list, note);
  let due;
  const draw = async () => {
    try {
      const { budgets } = await host.request("GET", "/api/budgets");
      const all = budgets.flatMap((budget) => budget.caps.map((cap) => ({ budget, cap, share: cap.used / cap.cap })));
      const shown = all.sort((one, other) => other.share - one.share).slice(0, MOST);
      list.replaceChildren(...shown.map(({ budget, cap }) => row(budget, cap)));
      const more = all.length - shown.length;
      note.textContent = all.length === 0 ? "No cap is set: see budgets in the configuration." : more > 0 ? `${more} more, less used: svc budgets` : "";
    } catch (error) {
      note.textContent = `The budgets could not be read: ${error.message}`;
    }
  };
  const stop = host.onEvent(({ type }) => {
    if (type !== "task:completed" && type !== "budget:warned") return;
    clearTimeout(due);
    due = setTimeout(draw, 1000);
  });
  await draw();
  return () => {
    clearTimeout(due);
    stop();
  };
}

function row({ agent, period, to }, { measure, used, cap }) {
  const group = document.createElement("div");
  const name = document.createElement("dt");
  const whose = document.createElement("bdi");
  whose.textContent = agent === "*" ? "All agents" : agent;
  name.append(whose, `, this ${period}`);
  const value = document.createElement("dd");
  const meter = document.createElement("meter");
  meter.max = cap;
  meter.optimum = 0;
  meter.low = cap * 0.8;
  meter.high = cap * 0.99;
  meter.value = Math.min(used, cap);
  meter.setAttribute("aria-label", `${whose.textContent}, ${measure} this ${period}`);
  const words = document.createElement("span");
  words.textContent = `${share(used, cap, measure)}, until ${new Date(to).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })}`;
  value.append(meter, words);
  group.append(name, value);
  if (used >= cap) group.className = "budgets-full";
  return group;
}
