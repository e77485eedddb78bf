// A whole page in one file under a policy that lets nothing in and nothing out, of templates that escape all values.
import { createHash } from 'node:crypto';

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

/** Style sheet and script are texts of this project, never of objects. */
type Page = Readonly<Record<'title' | 'style' | 'script', string>> & { readonly body: Markup };

/** `2026-11-23 04:05 UTC`. */
export const minuteOf = (now: number): string => `${new Date(now).toISOString().slice(0, 16).replace('T', ' ')} UTC`;

export const card = (figure: Content, meaning: Content): Markup =>
  markup`<li><strong>${figure}</strong><span>${meaning}</span></li>`;

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text, 'utf8').digest('base64')}'`;

/** The policy names style and script by their digests, so that markup which slipped in could neither run nor load anything. */
export const renderPage = ({ title, style, script, body }: Page): string => {
  const policy = `default-src 'none'; style-src ${hashOf(style)}; script-src ${hashOf(script)}; img-src data:; base-uri 'none'; form-action 'none'`;
  const page = markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>${title}</title>
<style>${trusted(style)}</style>
</head>
<body>
${body}
<script>${trusted(script)}</script>
</body>
</html>
`;
  return page.text;
};
