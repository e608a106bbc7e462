/** `npm run docs`: writes every generated document. */
import { mkdirSync, writeFileSync } from "node:fs";
import { renderDocs } from "./render-docs.js";

mkdirSync("docs", { recursive: true });
for (const [file, text] of Object.entries(renderDocs())) {
  writeFileSync(file, text);
  console.log(file);
}
