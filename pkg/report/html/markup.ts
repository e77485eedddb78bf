// HTML and SVG as tagged templates that escape all values: the content of objects is untrusted.

/** Text that is markup already. Only `markup` and `trusted` make it. */
export class Markup {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export type Content = string | number | Markup | readonly Content[];

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Safe as text and inside quoted attributes. Control characters, and those that turn the direction of text, become spaces. */
export const escapeText = (text: string): string =>
  text
    .replaceAll(/[\u0000-\u001F\u007F-\u009F\u202A-\u202E\u2066-\u2069]+/g, ' ')
    .replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '');

const render = (content: Content): string => {
  if (content instanceof Markup) return content.text;
  return typeof content === 'object' ? content.map(render).join('') : escapeText(String(content));
};

/** Attributes must be quoted: markup`<td title="${text}">`. */
export const markup = (strings: TemplateStringsArray, ...values: readonly Content[]): Markup =>
  new Markup(strings.map((part, index) => part + render(values[index] ?? '')).join(''));

/** Only for text of this project: style sheets, scripts. */
export const trusted = (text: string): Markup => new Markup(text);

/** Sentences of this project set names in backticks. */
export const sentence = (text: string): Markup =>
  markup`${text.split('`').map((part, index) => (index % 2 === 1 ? markup`<code>${part}</code>` : part))}`;

export const NOTHING: Markup = new Markup('');
