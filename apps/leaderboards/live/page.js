// Shows the first members of a leaderboard, and reads them again when the feed says that ranks have changed.
"use strict";

const board = location.pathname.replace(/\/live$/, "");
const state = document.getElementById("state");
const body = document.getElementById("members");
let ranks = new Map();
let isReading = false;
let isStale = false;

function text(score) {
  return Array.isArray(score) ? score.join(" / ") : String(score);
}

function row(member) {
  const line = document.createElement("tr");
  for (const value of [member.rank, member.member, text(member.score)]) {
    const cell = document.createElement("td");
    cell.textContent = value;
    line.append(cell);
  }
  const before = ranks.get(member.member);
  if (ranks.size > 0 && before !== member.rank) line.className = before === undefined || before > member.rank ? "up" : "down";
  return line;
}

async function read() {
  if (isReading) { isStale = true; return; }
  isReading = true;
  try {
    do {
      isStale = false;
      const answer = await fetch(`${board}/top?limit=20`);
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      const list = await answer.json();
      body.replaceChildren(...list.members.map(row));
      ranks = new Map(list.members.map((member) => [member.member, member.rank]));
      state.textContent = `live: ${list.size} members, season ${list.season}`;
    } while (isStale);
  } catch (error) {
    state.textContent = `not read: ${error.message}`;
  } finally {
    isReading = false;
  }
}

fetch(board).then((answer) => answer.json()).then((shown) => {
  document.title = document.getElementById("name").textContent = shown.name;
});

const feed = new EventSource(`${board}/feed`);
feed.addEventListener("rank", read);
feed.addEventListener("reset", read);
feed.onopen = read;
feed.onerror = () => { state.textContent = "connecting"; };
