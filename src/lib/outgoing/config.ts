/** Settings of outgoing requests: `outgoing:` in hookgate.yaml. */
import { z } from "zod";
import { errorMessage } from "../errors.js";
import { parseDestinations } from "./destinations.js";

const destination = z.string().superRefine((text, context) => {
  try {
    parseDestinations([text]);
  } catch (error) {
    context.addIssue({ code: "custom", message: errorMessage(error) });
  }
});

export const outgoingConfig = z.strictObject({
  allow: z
    .array(destination)
    .default([])
    .describe(
      "Where requests to addresses from messages and hooks may go besides the public internet: hosts (files.example.org, *.example.org), addresses (10.1.2.3, [::1]), either with :port, and ranges (10.0.0.0/8).",
    ),
});
