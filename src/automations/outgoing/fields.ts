/** Option fields of everything that sends a request: the `http` handler and the `http` step. */
import { validateHeaderValue } from "node:http";
import { isIP } from "node:net";
import { z } from "zod";
import { whyNotPublic } from "../../lib/outgoing/destinations.js";
import { variableName } from "../../lib/process/program-fields.js";
import { isWebAddress } from "../../lib/web-address.js";
import type { Machine } from "../handler.js";
import { isTemplate } from "../template/is-template.js";

/** The server is before the first template, with the slash behind it: no tag and no value decides where the address leads. */
const hasFixedServer = (url: string) => !isTemplate(url) || /^https?:\/\/[^\s/?#{\\]+[/?#]/i.test(url);

/**
 * Judges each address of a definition, for requests and for people: undefined when no value is part of its server, or the whole address
 * is a value.
 */
export function serverProblem(url: string): string | undefined {
  if (hasFixedServer(url) || !/https?:/i.test(url)) return undefined;
  return "a value from the event would decide which server the address leads to: start with the server's name, and write templates after the slash (https://ci.example.org/{{ … }}), or give the whole address as one template";
}

/** A web address; one with a template can only be judged when it runs. */
export const webAddress = z.string().superRefine((text, context) => {
  if (isTemplate(text)) {
    const problem = serverProblem(text);
    if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
    if (/https?:\/\/[^/?#]*@/i.test(text)) context.addIssue({ code: "custom", message: LOGIN_IN_URL });
    return;
  }
  const message = whyNoAddress(text);
  if (message !== undefined) context.addIssue({ code: "custom", message });
});

export const LOGIN_IN_URL =
  "a login in the address is not sent: remove it, and write `auth: { user: …, password_env: … }`";

/** Undefined for an address that a request can go to. No message shows the login. */
function whyNoAddress(text: string): string | undefined {
  if (isWebAddress(text)) return hasLogin(text) ? LOGIN_IN_URL : undefined;
  if (/^https?:/i.test(text))
    return `this address has a server or a port that cannot be: expected https://server.example or https://server.example:8443 with a port up to 65535, got "${text}"`;
  return `expected an address that starts with https: or http:, got "${text}"`;
}

export function hasLogin(address: string): boolean {
  const { username, password } = new URL(address);
  return username !== "" || password !== "";
}

/** Where a request goes: written down, or in a variable when the address itself is a secret, as those of many chat webhooks are. */
export const target = {
  url: webAddress.optional().describe("Where it goes."),
  url_env: variableName.optional().describe("Instead of url: the variable that holds an address which is a secret."),
};
export interface Target {
  url?: string | undefined;
  url_env?: string | undefined;
}

export const hasOneTarget = ({ url, url_env }: Target) => (url === undefined) !== (url_env === undefined);
export const ONE_TARGET = { path: ["url"], message: "expected either url or url_env" };

/** https://www.rfc-editor.org/rfc/rfc9110#section-5.6.2 */
const headerName = z
  .string()
  .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, "expected a header's name, such as X-Source")
  .refine((name) => !SET_BY_US.has(name.toLowerCase()), {
    error: ({ input }) => `Hookgate sets the header ${String(input)} itself: remove it`,
  });
const SET_BY_US: ReadonlySet<string> = new Set([
  "host",
  "content-length",
  "transfer-encoding",
  "connection",
  "webhook-id",
  "webhook-timestamp",
  "webhook-signature",
  "x-crewship-signature",
]);

/** A name is refused as an issue of its entry: a schema of keys reports the form of the key only. */
export const headers = z
  .record(z.string(), z.string())
  .superRefine((given, context) => {
    for (const [name, value] of Object.entries(given)) {
      const refuse = (message: string) => context.addIssue({ code: "custom", message, path: [name] });
      const [problem] = headerName.safeParse(name).error?.issues ?? [];
      if (problem !== undefined) refuse(problem.message);
      else if (!isTemplate(value) && !isHeaderValue(name, value.trim()))
        refuse("the value has a line break or a character that no header may have: write it in one line");
    }
  })
  .default({})
  .describe("More headers of the HTTP request.");

function isHeaderValue(name: string, value: string): boolean {
  try {
    validateHeaderValue(name, value);
    return true;
  } catch {
    return false;
  }
}

/** `auth` would replace a header that was written. */
export function checkAuth(
  { headers: given, auth: login, url }: { headers: Readonly<Record<string, string>>; auth?: Auth | undefined } & Target,
  context: { addIssue(issue: { code: "custom"; message: string; path: string[] }): void },
): void {
  if (login === undefined) return;
  if (url !== undefined && !hasFixedServer(url))
    context.addIssue({
      code: "custom",
      message: `a value from the event would decide which server gets this secret: start \`url\` with the server (https://ci.example.org/{{ … }})`,
      path: ["auth"],
    });
  const set = "header" in login ? login.header : "Authorization";
  const twice = Object.keys(given).find((name) => name.toLowerCase() === set.toLowerCase());
  if (twice !== undefined)
    context.addIssue({ code: "custom", message: "`auth` sets this header, too: remove one", path: ["headers", twice] });
}

const WITH_JSON = "the template without quotes and with `| json`";

/** For `superRefine`: refuses a text that is JSON, where a value could end its place. */
export function checkJsonText(advice = WITH_JSON) {
  return (given: unknown, context: { addIssue(issue: { code: "custom"; message: string }): void }): void => {
    const found = typeof given === "string" ? templateInJsonText(given) : undefined;
    if (found === undefined) return;
    const risk = found.isQuoted
      ? `a value with a quote in it would end the text around ${found.template} and could add fields`
      : `the value of ${found.template} would be a part of the JSON, and could add fields`;
    context.addIssue({ code: "custom", message: `${risk}: write ${advice}` });
  };
}

/** Text as it is, or anything else as JSON; templates are in its strings. */
export const body = z
  .union([z.string(), z.record(z.string(), z.json()), z.array(z.json())])
  .superRefine(
    checkJsonText(`the body as a map, which quotes values itself (\`body: { text: "{{ … }}" }\`), or ${WITH_JSON}`),
  )
  .optional();

const FORM = "application/x-www-form-urlencoded";

interface Sent {
  headers: Readonly<Record<string, string>>;
  body?: unknown;
}

function contentType({ headers: given }: Pick<Sent, "headers">): string | undefined {
  const name = Object.keys(given).find((one) => one.toLowerCase() === "content-type");
  return name === undefined ? undefined : given[name];
}

const isForm = (type: string | undefined) => type?.trim().toLowerCase().startsWith(FORM) === true;

/** The options that are sent as a form: their values are encoded. */
export const formsOf = (options: Pick<Sent, "headers">): readonly string[] =>
  isForm(contentType(options)) ? ["body"] : [];

/** Without the header it is not known whether `a={{ … }}` is a form, in which a value with a `&` would add fields, or plain text. */
export function checkForm(
  { headers: given, body: sent }: Sent,
  context: { addIssue(issue: { code: "custom"; message: string; path: string[] }): void },
): void {
  const type = contentType({ headers: given });
  const refuse = (message: string) => context.addIssue({ code: "custom", message, path: ["body"] });
  if (isForm(type) && sent !== undefined && typeof sent !== "string")
    refuse("a map is sent as JSON, and the header Content-Type declares a form: write it as text (`a={{ … }}&b=c`)");
  if (type === undefined && typeof sent === "string" && isTemplate(sent) && looksLikeForm(sent))
    refuse(
      `this looks like a form, in which a value with a & in it would add fields: write \`headers: { Content-Type: ${FORM} }\`, and every value is encoded; or Content-Type: text/plain for a text that is no form`,
    );
}

function looksLikeForm(text: string): boolean {
  const filled = text.replace(/\{\{.*?\}\}/gs, "0").replace(/\{%.*?%\}/gs, "");
  return /^[\w.%+[\]-]+=[^\s&]*(?:&[\w.%+[\]-]+=[^\s&]*)*$/.test(filled.trim());
}

/** The first template of a text that is JSON whose value is not made JSON itself: between quotes, or without `| json`. */
function templateInJsonText(text: string): { template: string; isQuoted: boolean } | undefined {
  const parts = text.split(/(\{\{.*?\}\}|\{%.*?%\})/s);
  const isTag = (index: number) => index % 2 === 1;
  const filled = parts.map((part, index) => (isTag(index) ? (part.startsWith("{{") ? "0" : "") : part)).join("");
  if (!/\{\s*"|\[\s*["{[]/.test(filled) && !isJsonList(filled)) return undefined;
  let isQuoted = false;
  for (const [index, part] of parts.entries()) {
    if (!isTag(index)) for (const _ of part.replace(/\\./gs, "").matchAll(/"/g)) isQuoted = !isQuoted;
    else if (PRINTING.test(part)) return { template: part, isQuoted };
    else if (part.startsWith("{{") && !OWN_TIME.test(part) && (isQuoted || !MADE_JSON.test(part)))
      return { template: part, isQuoted };
  }
  return undefined;
}

/** Tags that print a value. */
const PRINTING = /^\{%-?\s*(?:echo|liquid|cycle|increment|decrement|render|include|tablerow)/;
/** A value that no message decides. */
const OWN_TIME = /^\{\{-?\s*current_time(?:_epoch)?\s*-?\}\}$/;

/** `json` is the last filter. */
const MADE_JSON = /\|\s*json\s*(:[^|]*)?-?\}\}$/;

function isJsonList(text: string): boolean {
  try {
    return Array.isArray(JSON.parse(text));
  } catch {
    return false;
  }
}

/** Our identity for the other side. A definition has only names of variables, and no result shows their values. */
export const auth = z
  .union([
    z
      .strictObject({ bearer_env: variableName.describe("The variable with the token.") })
      .describe("Authorization: Bearer …"),
    z
      .strictObject({ user: z.string().min(1), password_env: variableName })
      .describe("Authorization: Basic …, with a user name and a password."),
    z
      .strictObject({
        header: headerName.describe("The header's name."),
        value_env: variableName.describe("The variable with its value."),
      })
      .describe("A header of its own, such as X-Api-Key."),
  ])
  .optional();
export type Auth = NonNullable<z.output<typeof auth>>;

/**
 * Why the request is refused, as far as its address shows: only the configuration lets a private address through. The server is before
 * the first template (`serverProblem`); it is not known when the whole address is a value.
 */
export function targetProblems({ url = "" }: Target, { destinations }: Pick<Machine, "destinations">): string[] {
  const [fixed = ""] = url.split(/\{[{%]/);
  if (!URL.canParse(fixed)) return [];
  const { protocol, hostname, port: written } = new URL(fixed);
  const port = Number(written || (protocol === "https:" ? 443 : 80));
  const host = hostname.replace(/^\[|\]$/g, "");
  const address = /^(.+\.)?localhost\.?$/.test(host) ? "127.0.0.1" : host;
  const why = isIP(address) === 0 ? undefined : whyNotPublic(address);
  if (why === undefined || destinations.allowsHost(host, port) || destinations.allowsAddress(address, port)) return [];
  return [
    `${hostname}:${port} is refused, because its address is ${why}: add "${hostname}:${port}" to outgoing.allow, and restart Hookgate`,
  ];
}

/** The variable that holds the address. */
export function addressVariables({ url_env }: Target): string[] {
  return url_env === undefined ? [] : [url_env];
}

/** The variables of address and login. */
export function variablesOf({ auth: given, ...target }: Target & { auth?: Auth | undefined }): string[] {
  return [...addressVariables(target), ...authVariables(given)];
}

/** The variables of the login. */
export function authVariables(given: Auth | undefined): string[] {
  if (given === undefined) return [];
  if ("bearer_env" in given) return [given.bearer_env];
  return ["password_env" in given ? given.password_env : given.value_env];
}
