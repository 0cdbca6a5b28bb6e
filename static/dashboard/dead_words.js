// Numbers as the reader's language writes them, alone and in sentences of the page: `{done} done`.
const language = document.documentElement.lang || undefined;

export const number = (value) => new Intl.NumberFormat(language).format(value);
export const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => number(values[name]));
