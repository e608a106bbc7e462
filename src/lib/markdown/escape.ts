/** A name as Markdown that shows nothing but the name. */
export function escapeMarkdown(text: string): string {
  return text.replace(/[\\`*_[\]<>|~@]/g, "\\$&");
}
