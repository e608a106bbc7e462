/** The login: a token, and the name that others see. */
import { login } from "./api.js";
import { h } from "./dom.js";

/** Each sentence starts with a capital letter; text between backticks is code. */
function sentences(texts) {
  const text = texts
    .filter(Boolean)
    .map((one) => one.charAt(0).toUpperCase() + one.slice(1))
    .join(". ");
  return text.split("`").map((part, index) => (index % 2 === 1 ? h("code", {}, part) : part));
}

/** Calls `done()` when logged in. */
export function showLogin(root, { notice, done }) {
  const problem = h("p", { class: "problem", role: "alert", hidden: !notice }, notice);
  const tokenField = h("input", {
    id: "token",
    type: "password",
    required: true,
    autocomplete: "current-password",
    spellcheck: "false",
  });
  const nameField = h("input", {
    id: "name",
    type: "text",
    maxlength: 60,
    autocomplete: "nickname",
    "aria-describedby": "name-note",
  });
  const submit = h("button", { type: "submit", class: "button primary wide" }, "Log in");
  const form = h(
    "form",
    { class: "login card-box" },
    h("img", { src: "/icon.svg", alt: "", class: "logo" }),
    h("h1", {}, "Hookgate"),
    h(
      "p",
      { class: "muted" },
      "Enter your login token. The owner's was printed when Hookgate first started; ",
      h("code", {}, "npx hookgate token"),
      " shows it again, with a link that logs you in.",
    ),
    h("div", { class: "field" }, h("label", { for: "token" }, "Token"), tokenField),
    h(
      "div",
      { class: "field" },
      h("label", { for: "name" }, "Your name (optional)"),
      nameField,
      h("span", { class: "muted", id: "name-note" }, "Others see this name. Leave it empty to keep your present one."),
    ),
    problem,
    submit,
    h(
      "details",
      { class: "muted" },
      h("summary", {}, "How do others get in?"),
      h(
        "p",
        {},
        "Each person has their own token. The owner lists them under ",
        h("code", {}, "web.people"),
        " in hookgate.yaml, sets the environment variable that ",
        h("code", {}, "token_env"),
        " names, and restarts Hookgate.",
      ),
    ),
  );
  function say(...texts) {
    problem.replaceChildren(...sentences(texts));
    problem.hidden = false;
  }
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const token = tokenField.value.trim();
    const name = nameField.value.trim();
    if (token === "") return say("the token is empty: `npx hookgate token` shows the owner's");
    submit.disabled = true;
    problem.hidden = true;
    try {
      await login({ token, name: name || undefined });
      done();
    } catch (error) {
      say(error.message, error.hint);
      submit.disabled = false;
    }
  });
  root.replaceChildren(h("main", { class: "login-page" }, form));
  tokenField.focus();
}
