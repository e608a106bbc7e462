/**
 * Bundles the compiled product into dist: a start reads a dozen files instead of 1,300, which halves its time and saves a
 * third of its memory. Entry points share their chunks, so a plugin that imports the package meets the gateway's own classes,
 * and what is imported lazily stays a file of its own.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { build } from "esbuild";
import { asScripts } from "./as-scripts.mjs";
import { forgetWarmUp, warmUp } from "./warm-up.mjs";

const ENTRIES = {
  "src/cli": "src/cli.ts",
  "src/index": "src/index.ts",
  // Threads and a program, beside the chunk that starts them: all lie in dist/src, whatever file they come from.
  "src/journal-worker": "src/store/journal/worker.ts",
  "src/verify-worker": "src/store/verify-worker.ts",
  "src/when-program": "src/orchestrator/assessments/checks/when-program.ts",
  ...Object.fromEntries(
    readdirSync("examples/plugins").map((name) => [
      `examples/plugins/${name.replace(/\.ts$/, "")}`,
      `examples/plugins/${name}`,
    ]),
  ),
};

/** Parts of dependencies that no code path of ours reaches, but that every start would load: whole files, or what `part` finds in one. */
const LEFT_OUT = [
  // Zod's messages in forty languages; ours are English, its default.
  { file: /zod\/v4\/locales\/index\.js$/, code: 'export { default as en } from "./en.js";' },
  // Of @fastify/static, for `wildcard: false` only.
  { file: /glob\/dist\/commonjs\/index(\.min)?\.js$/, code: leftOut("glob") },
  // Of fastify, for routes with JSON schemas: ours are parsed by zod.
  { file: /@fastify\/ajv-compiler\/index\.js$/, code: leftOut("ValidatorSelector") },
  { file: /@fastify\/fast-json-stringify-compiler\/index\.js$/, code: leftOut("SerializerSelector") },
  // For browsers; Node has `inspect`.
  {
    file: /@vladfrangu\/async_event_emitter\/dist\/index\.mjs$/,
    part: /^var import_inspect = .*$/gm,
    code: 'import inspects from "node:util"; var import_inspect = { default: inspects };',
  },
  // Requests go through undici's pools and its `request`.
  {
    file: /\/undici\/lib\/(mock|web\/(cookies|eventsource|fileapi|websocket))\/[\w-]+\.js$|\/undici\/lib\/web\/fetch\/(index|request|response)\.js$/,
    code: `module.exports = new Proxy({}, { get: () => function leftOut() { (${fails("This part of undici")})(); } });`,
  },
  { file: /\/undici\/lib\/web\/cache\/cachestorage\.js$/, code: "module.exports = { CacheStorage: class {} };" },
];

function leftOut(name) {
  return `module.exports = ${fails(name)}; module.exports.${name} = module.exports;`;
}

function fails(name) {
  const message = `${name} is left out of the bundle: see scripts/bundle.mjs`;
  return `() => { throw new Error(${JSON.stringify(message)}); }`;
}

const used = new Set();
const { outputFiles } = await build({
  entryPoints: ENTRIES,
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20",
  outdir: "dist",
  // One folder for all chunks, that of the entries: `import.meta.url` then means the same in each of them.
  chunkNames: "src/[name]-[hash]",
  external: ["@resvg/resvg-js", "pino-pretty"],
  // Comments and blanks are read at every start and kept in memory; names stay, for stack traces.
  minifyWhitespace: true,
  lineLimit: 160,
  legalComments: "external",
  logLevel: "warning",
  write: false,
  plugins: [
    {
      name: "left-out",
      setup({ onLoad }) {
        for (const { file, part, code } of LEFT_OUT)
          onLoad({ filter: file }, ({ path }) => {
            const text = part && readFileSync(path, "utf8");
            const contents = part ? text.replace(part, code) : code;
            if (contents !== text) used.add(file);
            return { contents, loader: "js" };
          });
      },
    },
  ],
});
for (const { file } of LEFT_OUT)
  if (!used.has(file)) throw new Error(`nothing imports ${file}, or that part is not in it: is LEFT_OUT up to date?`);

const isEntry = (path) => relative("dist", path).replace(/\.js$/, "") in ENTRIES;
const outputs = outputFiles
  .map(({ path, text }) => ({ path: relative(".", path), text }))
  .sort((a, b) => Number(isEntry(a.path)) - Number(isEntry(b.path)));
const files = await asScripts(outputs, isEntry);

// Entries come last and each file at once: who starts meanwhile gets the old product or the new one, never half of each.
for (const { path, text } of files) {
  if (existsSync(path) && readFileSync(path, "utf8") === text) continue;
  forgetWarmUp();
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}
removeOthers("dist", new Set(files.map(({ path }) => path)));
await warmUp();

/** What earlier builds left behind. */
function removeOthers(folder, kept) {
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    const path = join(folder, name);
    if (!/\.c?js(\.cache|\.LEGAL\.txt)?$/.test(name) || /\/page\//.test(path)) continue;
    if (!kept.has(path.replace(/\.cache$/, ""))) rmSync(path);
  }
}
