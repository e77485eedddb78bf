// A whole page in one file: style and script inside, and a policy that lets nothing else in and nothing out.
import { createHash } from 'node:crypto';
import { markup, trusted } from './markup.ts';
import type { Content, Markup } from './markup.ts';

export interface Page {
  readonly title: string;
  /** Text of a style sheet; of this project, never of objects. */
  readonly style: string;
  /** Text of a script; of this project, never of objects. */
  readonly script: string;
  readonly body: Markup;
}

/** `2026-11-23 04:05 UTC`. */
export const minuteOf = (now: number): string => `${new Date(now).toISOString().slice(0, 16).replace('T', ' ')} UTC`;

/** A figure in large type, and what it means. */
export const card = (figure: Content, meaning: Content): Markup =>
  markup`<li><strong>${figure}</strong><span>${meaning}</span></li>`;

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text, 'utf8').digest('base64')}'`;

/** The policy names style and script by their digests, so that markup which slipped in could neither run nor load anything. */
export const renderPage = ({ title, style, script, body }: Page): string => {
  const policy = [
    "default-src 'none'",
    `style-src ${hashOf(style)}`,
    `script-src ${hashOf(script)}`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
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
