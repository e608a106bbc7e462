/**
 * The checks that Discord makes on a message body, with its error codes.
 * https://discord.com/developers/docs/resources/message#create-message
 */

export interface ApiError {
  status: number;
  code: number;
  message: string;
  errors?: Record<string, unknown>;
}

type Json = Record<string, unknown>;

const list = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : []);
const length = (value: unknown): number => (typeof value === "string" ? value.length : 0);

function invalid(field: string, code: string, message: string): ApiError {
  return {
    status: 400,
    code: 50035,
    message: "Invalid Form Body",
    errors: { [field]: { _errors: [{ code, message }] } },
  };
}

/** The error Discord would answer, or undefined when the body is fine. `hasFiles`: a body may be empty beside files. */
export function messageProblem(body: Json, hasFiles: boolean, isEdit: boolean): ApiError | undefined {
  if (length(body.content) > 2000)
    return invalid("content", "BASE_TYPE_MAX_LENGTH", "Must be 2000 or fewer in length.");
  if (body.nonce !== undefined && String(body.nonce).length > 25)
    return invalid("nonce", "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length.");
  const embeds = list(body.embeds);
  const components = list(body.components);
  if (!isEdit && length(body.content) === 0 && embeds.length === 0 && components.length === 0 && !hasFiles)
    return { status: 400, code: 50006, message: "Cannot send an empty message" };
  return embedProblem(embeds) ?? componentProblem(components);
}

function embedProblem(embeds: Json[]): ApiError | undefined {
  if (embeds.length > 10) return invalid("embeds", "BASE_TYPE_MAX_LENGTH", "Must be 10 or fewer in length.");
  let total = 0;
  for (const embed of embeds) {
    const fields = list(embed.fields);
    const footer = (embed.footer ?? {}) as Json;
    const tooLong =
      length(embed.title) > 256 ||
      length(embed.description) > 4096 ||
      length(footer.text) > 2048 ||
      fields.length > 25 ||
      fields.some((field) => length(field.name) > 256 || length(field.value) > 1024);
    if (tooLong) return invalid("embeds", "BASE_TYPE_MAX_LENGTH", "An embed part is too long.");
    if (fields.some((field) => length(field.name) === 0 || length(field.value) === 0))
      return invalid("embeds", "BASE_TYPE_REQUIRED", "This field is required");
    total += length(embed.title) + length(embed.description) + length(footer.text);
    total += fields.reduce((sum, field) => sum + length(field.name) + length(field.value), 0);
  }
  if (total > 6000) return invalid("embeds", "MAX_EMBED_SIZE_EXCEEDED", "Embed size exceeds maximum size of 6000");
  return undefined;
}

function componentProblem(rows: Json[]): ApiError | undefined {
  if (rows.length > 5) return invalid("components", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.");
  const seen = new Set<string>();
  for (const row of rows) {
    const items = list(row.components);
    if (row.type !== 1 || items.length === 0 || items.length > 5)
      return invalid("components", "BASE_TYPE_BAD_LENGTH", "A row holds 1 to 5 components.");
    for (const item of items) {
      if (length(item.label) > 80) return invalid("components", "BASE_TYPE_MAX_LENGTH", "Label too long.");
      if (item.style === 5) {
        if (!/^(https?|discord):\/\//.test(String(item.url ?? "")))
          return invalid("components", "URL_TYPE_INVALID_URL", "Not a well formed URL.");
        continue;
      }
      const id = String(item.custom_id ?? "");
      if (id.length < 1 || id.length > 100)
        return invalid("components", "BASE_TYPE_BAD_LENGTH", "custom_id must be between 1 and 100 in length.");
      if (seen.has(id)) return invalid("components", "COMPONENT_CUSTOM_ID_DUPLICATED", "custom_id duplicated");
      seen.add(id);
    }
  }
  return undefined;
}

/** https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-response-object-modal */
export function modalProblem(modal: Json): ApiError | undefined {
  const rows = list(modal.components);
  if (!isWithin(modal.title, 45))
    return invalid("title", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 45 in length.");
  if (!isWithin(modal.custom_id, 100))
    return invalid("custom_id", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.");
  if (rows.length === 0) return invalid("components", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.");
  const inputs = rows.flatMap((row) => list(row.components));
  if (inputs.some(({ type, label }) => type !== 4 || !isWithin(label, 45)))
    return invalid("components", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 45 in length.");
  return componentProblem(rows);
}

const isWithin = (text: unknown, max: number) => length(text) >= 1 && length(text) <= max;

/** Discord's checks on the command table. https://discord.com/developers/docs/interactions/application-commands */
export function commandsProblem(commands: unknown): ApiError | undefined {
  if (!Array.isArray(commands)) return invalid("commands", "LIST_TYPE_CONVERT", "Only iterables may be used");
  if (commands.length > 100) return { status: 400, code: 30032, message: "Maximum number of application commands" };
  for (const command of commands as Json[]) {
    if (
      !/^[-_\p{L}\p{N}]{1,32}$/u.test(String(command.name)) ||
      String(command.name) !== String(command.name).toLowerCase()
    )
      return invalid("name", "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid");
    const bad = [command, ...list(command.options)].find(
      (x) => length(x.description) < 1 || length(x.description) > 100,
    );
    if (bad) return invalid("description", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.");
    let optionalSeen = false;
    for (const option of list(command.options)) {
      if (option.required === true && optionalSeen)
        return invalid("options", "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID", "Required options must come first");
      if (option.required !== true) optionalSeen = true;
      if (option.autocomplete === true && list(option.choices).length > 0)
        return invalid("options", "APPLICATION_COMMAND_OPTIONS_CHOICES_AUTOCOMPLETE", "Not both");
      if (list(option.choices).length > 25) return invalid("options", "BASE_TYPE_MAX_LENGTH", "25 choices at most");
    }
  }
  return undefined;
}
