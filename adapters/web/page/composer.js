/** Where one writes: text, files, commands with completion. Nothing typed here is ever lost: drafts stay in the browser. */

import { suggest } from "./completion.js";
import { h, icon, iconButton } from "./dom.js";
import { sizeOf } from "./message.js";

/**
 * `on`: { say({ text, uploads, replyToId }), edit(message, text) → promise, editLast(), up() }.
 */
export function createComposer({ chat, place, keep, on, placeholder }) {
  const draftKey = `draft:${place.roomId}:${place.threadId ?? ""}`;
  const listId = place.threadId ? "completions-thread" : "completions-room";
  const field = h("textarea", {
    rows: 1,
    "aria-autocomplete": "list",
    "aria-haspopup": "listbox",
    placeholder,
    "aria-label": placeholder,
    value: keep.get(draftKey, ""),
    autocomplete: "off",
  });
  const picker = h("input", { type: "file", multiple: true, hidden: true, onchange: () => addFiles(picker.files) });
  const banner = h("div", { class: "banner", hidden: true });
  const files = h("div", { class: "chips", hidden: true });
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const options = h("div", { class: "options", role: "listbox", id: listId, "aria-label": "Completions" });
  const position = h("div", { class: "position" });
  const popup = h("div", { class: "popup", hidden: true }, options, position);
  // A list that opens below the keyboard's place is not read out by itself.
  const announced = h("div", { class: "sr", role: "status" });
  const hint = h("div", { class: "hint", hidden: true });
  const sendButton = h(
    "button",
    { type: "submit", class: "send", title: "Send (Enter)", "aria-label": "Send" },
    icon("send"),
  );
  const form = h(
    "form",
    { class: "composer" },
    popup,
    announced,
    hint,
    banner,
    files,
    problem,
    h(
      "div",
      { class: "box" },
      iconButton("clip", "Attach a file", () => picker.click()),
      picker,
      field,
      sendButton,
    ),
  );
  /** { kind: "reply" | "edit", message, nonce? } */
  let mode;
  let uploads = [];
  /** Send was pressed while a file was on its way: the message goes when the file has arrived, unless its text changes before. */
  let isAsked = false;
  let completion;
  let asked = 0;

  field.addEventListener("input", () => {
    if (isAsked) {
      isAsked = false;
      say();
    }
    if (mode?.kind !== "edit") keep.set(draftKey, field.value);
    grow();
    void complete();
  });
  field.addEventListener("keydown", onKey);
  // The field may have the keyboard again by then.
  field.addEventListener("blur", () => setTimeout(() => document.activeElement !== field && hideCompletion(), 150));
  field.addEventListener("click", () => void complete());
  field.addEventListener("paste", (event) => {
    if (event.clipboardData?.files.length) {
      event.preventDefault();
      addFiles(event.clipboardData.files);
    }
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void submit();
  });

  function grow() {
    field.rows = Math.min(12, field.value.split("\n").length + Math.floor(field.value.length / 400));
    sendButton.classList.toggle("ready", field.value.trim() !== "" || uploads.length > 0);
  }

  function onKey(event) {
    if (event.isComposing) return;
    if (completion && completionKey(event)) return event.preventDefault();
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      void submit();
    } else if (event.key === "Escape" && mode) setMode(undefined);
    else if (event.key === "ArrowUp" && field.value === "" && !mode) {
      event.preventDefault();
      if (event.shiftKey) on.up();
      else on.editLast();
    }
  }

  async function submit() {
    const text = field.value;
    isAsked = uploads.some(({ state }) => state !== "done");
    if (isAsked) return waitForFiles();
    if (text.trim() === "" && uploads.length === 0) return;
    const tooLong = chat.whyTooLong(text);
    if (tooLong) return say(`${mode?.kind === "edit" ? "Not changed" : "Not sent"}: ${tooLong}.`);
    say();
    if (mode?.kind === "edit") {
      const { message, nonce } = mode;
      try {
        await on.edit(message, text, nonce);
        setMode(undefined);
      } catch (error) {
        say(`Not changed: ${error.message}.`);
      }
      return;
    }
    const replyToId = mode?.message.id;
    const sent = uploads.map(({ upload }) => upload);
    uploads = [];
    setMode(undefined);
    put("");
    showFiles();
    on.say({ text, uploads: sent, replyToId });
  }

  /** Handles a message whose files had not arrived when Send was pressed. */
  function waitForFiles() {
    const lost = uploads.find(({ state, isPassing }) => state === "failed" && !isPassing);
    if (lost) {
      isAsked = false;
      return say(`Not sent: ${lost.file.name} failed. Try it again or remove it, then press Send.`);
    }
    if (uploads.some(({ state }) => state !== "done")) return say("The message is sent when its files have arrived.");
    void submit();
  }

  function put(text) {
    field.value = text;
    keep.set(draftKey, text);
    hideCompletion();
    grow();
  }

  function say(text) {
    problem.hidden = !text;
    problem.textContent = text ?? "";
  }

  function setMode(next) {
    const wasEdit = mode?.kind === "edit";
    mode = next;
    say();
    banner.hidden = !next;
    if (next) {
      const label = next.kind === "edit" ? "Editing your message" : `Replying to ${next.message.author.name}`;
      banner.replaceChildren(
        icon(next.kind === "edit" ? "edit" : "reply"),
        h("span", {}, label),
        iconButton("close", "Cancel (Esc)", () => setMode(undefined)),
      );
    }
    // An edit borrows the field; the draft comes back after it.
    if (next?.kind === "edit") field.value = next.message.text;
    else if (wasEdit) field.value = keep.get(draftKey, "");
    grow();
    field.focus();
  }

  /* ── completion ── */

  async function complete() {
    const before = field.value.slice(0, field.selectionStart);
    const turn = ++asked;
    const found = await suggest(before, chat.commands).catch(() => undefined);
    if (turn !== asked || document.activeElement !== field) return;
    showHint(found?.hint);
    if (!found || found.items.length === 0) {
      closePopup();
      return;
    }
    completion = { ...found, index: 0, end: field.selectionStart };
    announced.textContent = `${found.items.length} ${found.items.length === 1 ? "completion" : "completions"}`;
    showCompletion();
  }

  function showCompletion() {
    const { items, index: current } = completion;
    options.replaceChildren(
      ...items.map(({ label, detail }, index) =>
        h(
          "div",
          {
            class: "option",
            role: "option",
            id: `${listId}-${index}`,
            "aria-selected": String(index === current),
            mousedown: (event) => {
              event.preventDefault();
              completion.index = index;
              take();
            },
          },
          h("b", {}, label),
          h("span", { class: "muted" }, detail),
        ),
      ),
    );
    position.replaceChildren(
      h("span", {}, `${current + 1} of ${items.length}`),
      h("span", { class: "keys" }, "↑ ↓ to choose · Tab to complete"),
    );
    popup.hidden = false;
    field.setAttribute("aria-controls", listId);
    field.setAttribute("aria-activedescendant", `${listId}-${current}`);
    options.children[current]?.scrollIntoView({ block: "nearest" });
  }

  function closePopup() {
    completion = undefined;
    popup.hidden = true;
    announced.textContent = "";
    field.removeAttribute("aria-controls");
    field.removeAttribute("aria-activedescendant");
  }

  function showHint(found) {
    hint.hidden = !found;
    if (!found) return;
    const { command, option } = found;
    const parts = command.options.map((one) =>
      h(one === option ? "b" : "span", {}, one.required ? `<${one.name}>` : `[${one.name}]`),
    );
    hint.replaceChildren(
      h("span", {}, `/${command.name}`),
      ...parts,
      h("span", { class: "muted" }, option ? option.summary : command.summary),
    );
  }

  function hideCompletion() {
    asked++;
    closePopup();
    hint.hidden = true;
  }

  function completionKey(event) {
    const { items, index } = completion;
    const typed = field.value.slice(completion.from, completion.end);
    switch (event.key) {
      case "ArrowDown":
      case "ArrowUp":
        completion.index = (index + (event.key === "ArrowDown" ? 1 : items.length - 1)) % items.length;
        showCompletion();
        return true;
      case "Tab":
        take();
        return true;
      case "Enter":
        // Typed out already, or nothing typed of an optional value: the line is meant as it is.
        if (event.shiftKey || items[index].insert.trim() === typed.trim() || typed === "") return false;
        take();
        return true;
      case "Escape":
        hideCompletion();
        return true;
      default:
        return false;
    }
  }

  function take() {
    const { from, end, items, index } = completion;
    const { insert } = items[index];
    field.setRangeText(insert, from, end, "end");
    keep.set(draftKey, field.value);
    grow();
    void complete();
  }

  /* ── files ── */

  function addFiles(list) {
    for (const file of list) {
      const entry = { file, state: "waiting" };
      uploads.push(entry);
      void upload(entry);
    }
    picker.value = "";
    field.focus();
  }

  async function upload(entry) {
    entry.isFinal = entry.file.size > chat.maxUploadBytes;
    entry.state = entry.isFinal ? "failed" : "waiting";
    entry.error = entry.isFinal ? `larger than ${sizeOf(chat.maxUploadBytes)}` : undefined;
    showFiles();
    if (entry.error) return;
    try {
      entry.upload = await chat.upload(entry.file);
      entry.state = "done";
    } catch (error) {
      const { message, isFinal, isPassing } = error;
      Object.assign(entry, { state: "failed", error: message, isFinal, isPassing });
    }
    showFiles();
  }

  function showFiles() {
    files.hidden = uploads.length === 0;
    files.replaceChildren(
      ...uploads.map((entry) =>
        h(
          "span",
          { class: `chip ${entry.state}` },
          icon("file"),
          h("span", {}, entry.file.name),
          h(
            "span",
            { class: "muted" },
            { waiting: "uploading…", done: sizeOf(entry.file.size), failed: entry.error }[entry.state],
          ),
          entry.state === "failed" &&
            !entry.isFinal &&
            h("button", { type: "button", class: "link", onclick: () => void upload(entry) }, "Try again"),
          iconButton("close", `Remove ${entry.file.name}`, () => {
            uploads = uploads.filter((one) => one !== entry);
            showFiles();
          }),
        ),
      ),
    );
    grow();
    if (isAsked) waitForFiles();
  }

  grow();
  return {
    element: form,
    addFiles,
    /** The connection is back: uploads that its loss broke are tried again. */
    uploadAgain() {
      for (const entry of uploads) if (entry.state === "failed" && entry.isPassing) void upload(entry);
    },
    focus: () => field.focus(),
    reply: (message) => setMode({ kind: "reply", message }),
    edit: (message, nonce) => setMode({ kind: "edit", message, nonce }),
    /** Writes a text before the text that is there already. */
    write(text) {
      put(field.value.trim() === "" ? text : `${text}\n${field.value}`);
      field.focus();
      void complete();
    },
  };
}
