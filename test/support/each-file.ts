/** Before the tests of each file. */
import { afterEach } from "vitest";
import { cleanUp } from "./clean-up.js";

afterEach(cleanUp);
