/** A form as Discord's modal. https://discord.com/developers/docs/components/reference#text-input */
import type { Form } from "../../src/domain/message.js";

const ROW = 1;
const TEXT_INPUT = 4;
const MAX_VALUE = 4000;

export function modalBody(form: Form, token: string): object {
  return {
    custom_id: token,
    title: form.title,
    components: form.fields.map((field) => ({
      type: ROW,
      components: [
        {
          type: TEXT_INPUT,
          custom_id: field.id,
          label: field.label,
          style: field.long ? 2 : 1,
          required: field.required ?? false,
          value: field.value?.slice(0, MAX_VALUE),
        },
      ],
    })),
  };
}
