/** Dialogs: a form with fields, filled in or dismissed. */
import { h } from "./dom.js";

let count = 0;

/**
 * Shows a form. `send(values)` may reject: the form then shows why and stays, with everything that was typed. Resolves with true when
 * sent, false when dismissed.
 * @typedef {{ id: string, label: string, long?: boolean, required?: boolean, value?: string, type?: string }} Field
 * @param {{ title: string, text?: string, fields?: Field[], submit?: string, danger?: boolean }} form
 * @param {(values: Record<string, string>) => unknown} send
 */
export function askForm({ title, text, fields = [], submit = "Send", danger = false }, send) {
  return new Promise((resolve) => {
    const problem = h("p", { class: "problem", role: "alert", hidden: true });
    const inputs = fields.map((field) => {
      const id = `field-${++count}`;
      const props = {
        id,
        name: field.id,
        required: field.required,
        value: field.value ?? "",
        maxlength: 4000,
        autocomplete: "off",
      };
      const input = field.long
        ? h("textarea", { ...props, rows: 4 })
        : h("input", { ...props, type: field.type ?? "text" });
      return { field, input, row: h("div", { class: "field" }, h("label", { for: id }, field.label), input) };
    });
    const confirm = h("button", { type: "submit", class: danger ? "button danger" : "button primary" }, submit);
    const form = h(
      "form",
      { class: "form" },
      h("h2", {}, title),
      text && h("p", { class: "muted" }, text),
      inputs.map(({ row }) => row),
      problem,
      h(
        "div",
        { class: "row end" },
        h("button", { type: "button", class: "button", onclick: () => close(false) }, "Cancel"),
        confirm,
      ),
    );
    const dialog = h("dialog", { class: "dialog", "aria-label": title, cancel: dismiss }, form);

    function dismiss(event) {
      event.preventDefault();
      close(false);
    }

    function close(sent) {
      dialog.close();
      dialog.remove();
      resolve(sent);
    }

    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      confirm.disabled = true;
      try {
        await send(Object.fromEntries(inputs.map(({ field, input }) => [field.id, input.value])));
        close(true);
      } catch (error) {
        problem.textContent = [error.message, error.hint].filter(Boolean).join(". ");
        problem.hidden = false;
        confirm.disabled = false;
      }
    });
    document.body.append(dialog);
    dialog.showModal();
    inputs[0]?.input.focus();
  });
}
