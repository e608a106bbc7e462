/** Settings of the web chat: `web:` in hookgate.yaml. */
import { z } from "zod";
import { whyBadName } from "../../src/lib/text/person-name.js";

const personName = z
  .string()
  .min(1)
  .max(60)
  .refine((name) => whyBadName(name) === undefined, { error: ({ input }) => `the name ${whyBadName(String(input))}` });

const person = z.strictObject({
  id: z
    .union([z.string(), z.int()])
    .transform(String)
    .pipe(z.string().regex(/^[1-9]\d{0,17}$/, "expected a number of its own, such as 2"))
    .describe("The person's numeric id, for `operators:` and hooks. 1 is the owner of the console token."),
  name: personName.describe("The name that others see; the person can change it."),
  token_env: z
    .string()
    .regex(/^[A-Z_][A-Z0-9_]*$/, "expected the name of an environment variable")
    .describe("The environment variable that holds this person's login token (16 characters or more)."),
});

const room = z.strictObject({
  id: z
    .string()
    .regex(/^(?!dm-)[a-z0-9][a-z0-9-]{0,39}$/, 'expected a-z, 0-9 and -, not starting with "dm-"')
    .describe("The room's id, for access lists and bridges."),
  name: z.string().min(1).max(60).describe("The room's name on the page."),
});

/** The fields, so that `access` can be added beside them. */
export const webConfig = z.strictObject({
  enabled: z.boolean().default(true).describe("Serve the web chat and its page at `/`."),
  name: z
    .string()
    .regex(/^[\w-]{1,32}$/, "expected up to 32 letters, digits, _ or -")
    .default("Hookgate")
    .describe("What the gateway is called in the web chat; `@` and this name mentions it."),
  rooms: z
    .array(room)
    .default([{ id: "general", name: "General" }])
    .describe(
      "Rooms that always exist; people can add others from the page. A room that was added cannot be removed yet; one that leaves this list stays, with its messages.",
    ),
  rooms_per_person: z
    .int()
    .min(0)
    .max(500)
    .default(20)
    .describe("How many rooms one person can add from the page. Holds for owners too."),
  people: z
    .array(person)
    .default([])
    .describe("People besides the owner who may log in, each with a token of their own. They have no role by default."),
  max_text: z
    .number()
    .int()
    .min(1000)
    .max(1_000_000)
    .default(32_000)
    .describe("The length of the longest message, in characters."),
});
