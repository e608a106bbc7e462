/** A chart as a picture that goes with a message. Its bytes travel in the message's row, so that it is sent after a crash, too. */
import type { Attachment } from "../domain/chat/message.js";
import { type Chart, drawPng } from "./draw.js";

/** `name` without its ending. */
export async function pictureOf(chart: Chart, name: string): Promise<Attachment> {
  const png = await drawPng(chart);
  return {
    type: "image",
    ref: name,
    url: `data:image/png;base64,${Buffer.from(png).toString("base64")}`,
    mimeType: "image/png",
    filename: `${name}.png`,
    sizeBytes: png.byteLength,
  };
}
