/** The login: a token, and the name that others see. */
import { request } from "./api.js";
import { h } from "./dom.js";

/** `token`: from the printed link. Calls `done()` when logged in. */
export function showLogin(root, { token, notice, done }) {
  const problem = h("p", { class: "problem", role: "alert", hidden: !notice }, notice);
  const tokenField = h("input", {
    id: "token",
    type: "password",
    value: token ?? "",
    required: true,
    autocomplete: "current-password",
    spellcheck: "false",
  });
  const nameField = h("input", {
    id: "name",
    type: "text",
    maxlength: 60,
    autocomplete: "nickname",
    placeholder: "As before",
  });
  const submit = h("button", { type: "submit", class: "button primary wide" }, "Log in");
  const form = h(
    "form",
    { class: "login card-box" },
    h("img", { src: "/icon.svg", alt: "", class: "logo" }),
    h("h1", {}, "Hookgate"),
    h("p", { class: "muted" }, "Enter the login token. It was printed in the terminal when Hookgate first started."),
    h("div", { class: "field" }, h("label", { for: "token" }, "Token"), tokenField),
    h("div", { class: "field" }, h("label", { for: "name" }, "Your name (optional)"), nameField),
    problem,
    submit,
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    submit.disabled = true;
    problem.hidden = true;
    const name = nameField.value.trim();
    try {
      await request("POST", "/api/login", { token: tokenField.value.trim(), ...(name ? { name } : {}) });
      done();
    } catch (error) {
      problem.textContent = [error.message, error.hint].filter(Boolean).join(". ");
      problem.hidden = false;
      submit.disabled = false;
    }
  });
  root.replaceChildren(h("main", { class: "login-page" }, form));
  (token ? nameField : tokenField).focus();
}
