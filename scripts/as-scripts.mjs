/**
 * Makes scripts of the bundler's chunks, because V8 keeps compiled code for scripts, not for modules. `src/loader.ts` runs
 * them, and each entry becomes a module that hands on what its script exports.
 */
import { readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { transform } from "esbuild";

const FOLDER = "dist/src";
/** The last statement of a chunk. */
const EXPORTS = /export\{([^{}]*)\};\s*$/;
const DEFAULT = /export default ([\w$]+\(\));\s*$/;
const HASHBANG = /^#!.*\n/;
const OWN = /(\bfrom|\bimport\(?)(["'])\.\.?\/(?:[\w.-]+\/)*([\w-]+)\.js\2/g;
const LAZY = /(?<![\w$.#])import\(/g;

/** Makes the files of dist out of the output of the bundler (`{ path, text }`), the entries last in both. */
export async function asScripts(outputs, isEntry) {
  const chunks = outputs.filter(({ path }) => path.endsWith(".js"));
  const names = new Map(
    chunks.map(({ path }) => [basename(path, ".js"), `${basename(path, ".js")}${isEntry(path) ? "-entry" : ""}.cjs`]),
  );
  const nameOf = (path) => names.get(basename(path, ".js"));
  const scripts = chunks.map(async ({ path, text }) => ({
    path: join(FOLDER, nameOf(path)),
    text: await script(text, names),
  }));
  return [
    ...outputs.filter(({ path }) => !path.endsWith(".js")),
    ...(await Promise.all(scripts)),
    { path: join(FOLDER, "loader.js"), text: await loader() },
    ...chunks
      .filter(({ path }) => isEntry(path))
      .map(({ path, text }) => ({ path, text: entry(path, text, nameOf(path)) })),
  ];
}

async function script(text, names) {
  const source = exportsOnce(text.replace(HASHBANG, ""))
    .replace(OWN, (found, keyword, quote, name) =>
      names.has(name) ? `${keyword}${quote}./${names.get(name)}${quote}` : found,
    )
    // In a script, V8 would ask Node's `vm` what that means.
    .replace(LAZY, "__lazy(");
  const { code } = await transform(source, {
    format: "cjs",
    platform: "node",
    target: "node20",
    minifyWhitespace: true,
    lineLimit: 160,
    define: { "import.meta.url": "__url" },
    logOverride: { "commonjs-variable-in-esm": "silent" },
  });
  return `(function(require,module,__url,__lazy){"use strict";${ascii(code)}})\n`;
}

/**
 * One object, made when the script has run. Its properties are plain, which is cheap to read; what may be assigned again has a getter, so
 * that importers see each value. (What looks like an assignment may be text in quotes: then the getter costs a little and changes nothing.)
 */
function exportsOnce(text) {
  if (DEFAULT.test(text)) return text.replace(DEFAULT, "module.exports={default:$1};");
  return text.replace(EXPORTS, (_, list) => {
    const pairs = list.split(",").map((one) => one.trim().split(" as "));
    const properties = pairs.map(([local, name = local]) =>
      mayBeAssignedAgain(text, local) ? `get ${name}(){return ${local}}` : `${name}:${local}`,
    );
    return `module.exports={${properties}};`;
  });
}

function mayBeAssignedAgain(text, name) {
  const quoted = name.replaceAll("$", "\\$");
  const assignment = `(?<![\\w$.#])${quoted}\\s*(=(?![=>])|\\+\\+|--|[-+*/|&?]{1,2}=)|(\\+\\+|--)${quoted}(?![\\w$])`;
  return [...text.matchAll(new RegExp(assignment, "g"))].length > 1;
}

function entry(path, text, name) {
  const loaderPath = relative(dirname(path), join(FOLDER, "loader.js"));
  const exported = (EXPORTS.exec(text)?.[1] ?? "").split(",").filter(Boolean);
  const names = exported.map((one) => one.trim().split(" as ").at(-1));
  const named = names.filter((one) => one !== "default");
  return [
    HASHBANG.exec(text)?.[0].trim(),
    `import { load } from "${loaderPath.startsWith(".") ? "" : "./"}${loaderPath}";`,
    `${names.length > 0 ? "const entry = " : ""}load("${name}");`,
    named.length > 0 ? `export const { ${named.join(", ")} } = entry;` : undefined,
    names.includes("default") ? "export default entry.default;" : undefined,
    "",
  ]
    .filter((line) => line !== undefined)
    .join("\n");
}

async function loader() {
  const { code } = await transform(readFileSync("src/loader.ts", "utf8"), { loader: "ts", target: "node20" });
  return code;
}

/** The engine keeps a file with one wide character at twice its size; esbuild escapes all but those in patterns. */
function ascii(text) {
  return text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
