/** `node --import`ed by the build's own runs of the product: what has been compiled by their end is kept beside the chunks. */
import { keepCode } from "../dist/src/loader.js";

process.on("exit", keepCode);
