/** Checks that no section can make alone: secrets that it needs of the environment, and names of things that are defined elsewhere. */
import { platformProblem } from "../domain/chat/platform.js";
import { MIN_TOKEN_CHARACTERS, whyWeakToken } from "../lib/signing/secret.js";
import { whyNoKey } from "../lib/signing/webhook-signature.js";
import { looksLike } from "../lib/text/person-name.js";
import { nearest } from "../lib/validation/nearest.js";
import type { Environment } from "./env.js";
import { namedPlatforms } from "./named-platforms.js";
import { type OwnAccounts, ownAccounts } from "./own-accounts.js";
import type { Config } from "./schema.js";

export interface CrossProblem {
  path: [section: string, ...(string | number)[]];
  message: string;
  expected: string;
  got?: string;
  /** The key is wrong, not its value. */
  ofKey?: true;
  /** The index of the only person of the web chat that it concerns. */
  person?: number;
}

export function crossProblems(config: Config, env: Environment): CrossProblem[] {
  return [
    ...loginTokens(config, env),
    ...webhook(config, env),
    ...models(config),
    ...webNames(config),
    ...events(config, env),
    ...slaRoutes(config),
    ...alertPeople(config),
    ...platforms(config),
    ...accounts(config, env),
  ];
}

function loginTokens({ web }: Config, env: Environment): CrossProblem[] {
  if (!web.enabled) return [];
  const taken = new Map<string, string>();
  if (env.HOOKGATE_TOKEN !== undefined) taken.set(env.HOOKGATE_TOKEN, "the owner (HOOKGATE_TOKEN)");
  return web.people.flatMap(({ name, token_env }, index) => {
    const token = env.variable(token_env);
    const other = token === undefined ? undefined : taken.get(token);
    if (token !== undefined) taken.set(token, name);
    const weak = token === undefined ? undefined : whyWeakToken(token);
    const wrong =
      token === undefined
        ? "is missing"
        : other !== undefined
          ? `is also the token of ${other}`
          : weak && (token.length < MIN_TOKEN_CHARACTERS ? "is too short" : `is easy to guess: ${weak}`);
    if (wrong === undefined) return [];
    return [
      {
        path: ["web", "people", index, "token_env"],
        person: index,
        message: `the login token of ${name} ${wrong}`,
        expected: `a random secret of ${MIN_TOKEN_CHARACTERS} characters or more, of this person alone, in the environment variable ${token_env}`,
      },
    ];
  });
}

/** Two people of one name cannot be distinguished, and one with the gateway's name could speak for it. */
function webNames({ web }: Config): CrossProblem[] {
  if (!web.enabled) return [];
  const taken = [{ name: web.name, by: "the name of the gateway (web.name)" }];
  return web.people.flatMap(({ name }, index) => {
    const like = taken.find((one) => looksLike(one.name, name));
    taken.push({ name, by: "the name of another person" });
    if (like === undefined) return [];
    const message = `"${name}" ${like.name.toLowerCase() === name.toLowerCase() ? "is also" : `looks like "${like.name}", which is`} ${like.by}`;
    const expected = "a name of this person alone";
    return [{ path: ["web", "people", index, "name"], person: index, message, expected }];
  });
}

function webhook({ telegram }: Config, env: Environment): CrossProblem[] {
  if (telegram.mode !== "webhook" || env.TELEGRAM_TOKEN === undefined) return [];
  const problems: CrossProblem[] = [];
  if (telegram.webhook.url === undefined)
    problems.push({
      path: ["telegram", "webhook", "url"],
      message: "webhook mode needs the address that Telegram calls",
      expected: "a public URL, path included",
    });
  if (env.TELEGRAM_WEBHOOK_SECRET === undefined)
    problems.push({
      path: ["telegram", "mode"],
      message: "webhook mode needs TELEGRAM_WEBHOOK_SECRET",
      expected: "a secret in that environment variable, so that only your callers can call",
    });
  return problems;
}

/** A key that is missing stops nothing but the hooks that ask this model; a default that is no model is a slip. */
function models({ models: { default: name, available } }: Config): CrossProblem[] {
  const names = Object.keys(available);
  if (name === undefined || names.includes(name)) return [];
  return [
    {
      path: ["models", "default"],
      message: `there is no model "${name}"`,
      expected: names.length > 0 ? `one of ${names.join(", ")}` : "a name of models.available",
    },
  ];
}

function events(config: Config, env: Environment): CrossProblem[] {
  return Object.entries(config.events).flatMap(([name, { secret_env }]) =>
    (typeof secret_env === "string" ? [secret_env] : secret_env).flatMap((variable) => {
      const secret = env.variable(variable);
      const why = secret === undefined ? undefined : whyNoKey(secret);
      if (secret !== undefined && why === undefined) return [];
      const wrong = why === undefined ? "is missing" : `cannot be used: ${why}`;
      return [
        {
          path: ["events", name, "secret_env"],
          message: `the secret that signs the event ${name} ${wrong}`,
          expected: `a secret in the environment variable ${variable}: whsec_ and base64, or any text`,
        },
      ];
    }),
  );
}

/** An alert whose route is misspelt would go to an unexpected chat. */
function slaRoutes({ sla, alerts }: Config): CrossProblem[] {
  const known = new Set(["default", ...Object.keys(alerts.routes)]);
  return sla.policies.flatMap(({ routes = [] }, policy) =>
    routes.flatMap((name, index): CrossProblem[] => {
      if (known.has(name)) return [];
      const near = nearest(name, known);
      return [
        {
          path: ["sla", "policies", policy, "routes", index],
          message: `there is no route "${name}"${near ? ` (did you mean "${near}"?)` : ""}`,
          expected: `one of ${[...known].join(", ")} (alerts.routes)`,
        },
      ];
    }),
  );
}

/** Every person who can be called must exist: a misspelt name would be discovered on the night when no one comes. */
function alertPeople({ alerts }: Config): CrossProblem[] {
  const { routes, rotas, people, digests } = alerts;
  const isKnown = (name: string) =>
    name.startsWith("oncall:")
      ? Object.hasOwn(rotas, name.slice("oncall:".length))
      : name === "everyone" || name.includes(":") || Object.hasOwn(people, name);
  const named: { name: string; path: CrossProblem["path"] }[] = [
    ...Object.entries(routes).flatMap(([route, { escalate }]) =>
      escalate.flatMap(({ mention }, step) =>
        mention.map((name, index) => ({
          name,
          path: ["alerts", "routes", route, "escalate", step, "mention", index] as CrossProblem["path"],
        })),
      ),
    ),
    ...Object.entries(rotas).flatMap(([rota, { rotate, shifts }]) => [
      ...(rotate?.people ?? []).map((name, index) => ({
        name,
        path: ["alerts", "rotas", rota, "rotate", "people", index] as CrossProblem["path"],
      })),
      ...shifts.map(({ person }, index) => ({
        name: person,
        path: ["alerts", "rotas", rota, "shifts", index, "person"] as CrossProblem["path"],
      })),
    ]),
  ];
  const noRota = digests.flatMap(({ rota }, index): CrossProblem[] => {
    if (rota === undefined || Object.hasOwn(rotas, rota)) return [];
    const near = nearest(rota, Object.keys(rotas));
    return [
      {
        path: ["alerts", "digests", index, "rota"],
        message: `there is no rota "${rota}"${near ? ` (did you mean "${near}"?)` : ""}`,
        expected: "a name of `alerts.rotas`",
      },
    ];
  });
  const nobody = named
    .filter(({ name }) => !isKnown(name))
    .map(({ name, path }) => ({
      path,
      message: `there is no person "${name}"`,
      expected: "platform:id, platform:role:id, oncall: and a name of `alerts.rotas`, or a name of `alerts.people`",
    }));
  return [...nobody, ...noRota];
}

/** Platforms identify people by numbers; a name there would match no one, unnoticed. */
function accounts(config: Config, env: Environment): CrossProblem[] {
  const people = Object.entries(config.alerts.people).flatMap(([name, texts]) =>
    texts.map((text, index) => ({ path: ["alerts", "people", name, index] as CrossProblem["path"], text })),
  );
  const known = namedPlatforms(config).filter(({ isPerson }) => isPerson);
  return [
    ...people
      .filter(({ text }) => !text.includes(":"))
      .map(({ path, text }) => ({
        path,
        message: `"${text}" names no platform`,
        expected: "platform:id, such as discord:80351110224678912",
        got: text,
      })),
    ...known.flatMap(({ path, text }): CrossProblem[] => {
      const message = platformProblem(text) === undefined ? personProblem(text, ownAccounts(env)) : undefined;
      if (message === undefined) return [];
      const [, platform, last = "80351110224678912"] = /^([a-z]+):.*?(\d+)?$/.exec(text) ?? [];
      const role = platform === "discord" ? ` or, for a role, discord:role:${last}` : "";
      return [{ path, message, expected: `${platform}:80351110224678912${role}; /whoami shows it`, got: text }];
    }),
  ];
}

/** Why a text behind a known platform names no person and no role. */
function personProblem(text: string, own: OwnAccounts): string | undefined {
  const [platform = "", ...parts] = text.split(":");
  const id = parts.join(":");
  if (Object.entries(own).some(([one, account]) => one === platform && account === id))
    return `${text} is the gateway's own account, and no person`;
  const hasRoles = platform === "discord";
  if (/^\d+$/.test(id) || (hasRoles && /^role:\d+$/.test(id))) return undefined;
  if (parts.length > 1) return `${text} is no person${hasRoles ? " and no role" : ""}`;
  return `"${id}" is no id of ${platform}, which has numbers`;
}

/** A message for a misspelt platform would be lost unnoticed. */
function platforms(config: Config): CrossProblem[] {
  return namedPlatforms(config).flatMap(({ path, text, ofKey }) => {
    const message = platformProblem(text);
    if (message === undefined) return [];
    const expected = "web, discord or telegram before the first colon";
    return [{ path, message, expected, got: text, ofKey }];
  });
}
