// Shows the first members of a leaderboard, and reads them again when the feed says that ranks have changed.
"use strict";

const board = location.pathname.replace(/\/live$/, "");
const state = document.getElementById("state");
const size = document.getElementById("size");
const body = document.getElementById("members");
let ranks = new Map();
let isReading = false;
let isStale = false;

function show(name, words = name) {
  state.dataset.state = name;
  state.textContent = words;
}

// Integers have 64 bits, more than a number of JavaScript keeps: those stay as they were sent.
function exact(name, value, context) {
  return typeof value === "number" && !Number.isSafeInteger(value) && context?.source ? context.source : value;
}

// A number, or a text that is one, with a comma between thousands.
function grouped(number) {
  const [whole, decimals] = String(number).split(".");
  return whole.replace(/\B(?=(\d{3})+$)/g, ",") + (decimals === undefined ? "" : `.${decimals}`);
}

function text(score) {
  return Array.isArray(score) ? score.map(grouped).join(" / ") : grouped(score);
}

function row(member) {
  const line = document.createElement("tr");
  for (const [value, name] of [[grouped(member.rank), "number rank"], [member.member, "member"], [text(member.score), "number"]]) {
    const cell = document.createElement("td");
    const words = document.createElement("span");
    // A score that needs two lines breaks between its thousands.
    value.split(/(?<=,)/).forEach((part, index) => words.append(...(index > 0 && name !== "member" ? [document.createElement("wbr")] : []), part));
    cell.title = value;
    cell.className = name;
    cell.append(words);
    line.append(cell);
  }
  const before = ranks.get(member.member);
  if (ranks.size > 0 && before !== member.rank) line.className = before === undefined || before > member.rank ? "up" : "down";
  return line;
}

function nobody() {
  const line = document.createElement("tr");
  const cell = line.insertCell();
  cell.colSpan = 3;
  cell.className = "quiet";
  cell.textContent = "No member has a score yet.";
  return line;
}

async function read() {
  if (isReading) { isStale = true; return; }
  isReading = true;
  try {
    do {
      isStale = false;
      const response = await fetch(`${board}/top?limit=20`);
      if (!response.ok) throw new Error(`status ${response.status}`);
      const list = JSON.parse(await response.text(), exact);
      body.replaceChildren(...list.members.map(row));
      if (list.members.length === 0) body.append(nobody());
      ranks = new Map(list.members.map((member) => [member.member, member.rank]));
      const shown = list.size > list.members.length ? `the first ${list.members.length} of ` : "";
      size.textContent = `${shown}${grouped(list.size)} ${list.size === 1 ? "member" : "members"}, season ${list.season}`;
      show("live");
    } while (isStale);
  } catch (error) {
    show("lost", `not read: ${error.message}`);
  } finally {
    isReading = false;
  }
}

fetch(board).then((response) => response.json()).then((shown) => {
  document.title = document.getElementById("name").textContent = shown.name;
});

const feed = new EventSource(`${board}/feed`);
feed.addEventListener("rank", read);
feed.addEventListener("reset", read);
// The stream ends and begins anew every few seconds: only one that stays away is worth a word.
let absence = null;
feed.onopen = () => { clearTimeout(absence); absence = null; read(); };
feed.onerror = () => { absence ??= setTimeout(show, 2000, "lost", "no connection"); };
