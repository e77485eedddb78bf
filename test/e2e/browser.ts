// Pages in a real browser: Debian's Chromium without a window, what it complains about, and what it asks for.
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Much longer than anything takes on a machine that is busy with beds. */
const SLOW_MS = 120_000;

/** @throws Error where PATH has no such program. */
const findProgram = (name: string): string => {
  const found = (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find((path) => existsSync(path));
  if (found === undefined) throw new Error(`${name} is not on PATH (Debian: apt-get install ${name})`);
  return found;
};

export const startBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: findProgram('chromium'), args: FLAGS });

export interface Opened {
  readonly page: Page;
  /** Messages of the console, errors of scripts, dialogs: a good page has none. */
  readonly complaints: readonly string[];
  /** Everything that was asked for, the page itself included. */
  readonly requests: readonly string[];
}

/** Opens a file in a context of its own. */
export const openFile = async (
  browser: Browser,
  file: string,
  options: BrowserContextOptions = {},
): Promise<Opened> => {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.setDefaultTimeout(SLOW_MS);
  const complaints: string[] = [];
  const requests: string[] = [];
  page.on('console', (message) => complaints.push(`${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  context.on('request', (request) => requests.push(request.url()));
  await page.goto(pathToFileURL(file).href);
  return { page, complaints, requests };
};

/** Text whose contrast with what is behind it is too low. */
export interface PoorContrast {
  readonly text: string;
  readonly color: string;
  readonly background: string;
  readonly ratio: number;
}

// Runs in the page. Contrast after WCAG 2: relative luminance of what was computed, of every visible text.
const FIND_CONTRAST = `(() => {
  const parse = (color) => (color.match(/[\\d.]+/g) ?? []).map(Number);
  const channel = (value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const behind = (element) => {
    const cell = element.closest('g.cell');
    if (cell !== null) return getComputedStyle(cell.querySelector('rect')).fill;
    for (let at = element; at !== null; at = at.parentElement) {
      const { backgroundColor } = getComputedStyle(at);
      const [, , , alpha = 1] = parse(backgroundColor);
      if (alpha > 0) return backgroundColor;
    }
    return 'rgb(255, 255, 255)';
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const element = node.parentElement;
    const text = node.textContent.trim();
    if (text === '' || ['SCRIPT', 'STYLE', 'TITLE', 'title'].includes(element.tagName) || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const color = element instanceof SVGElement ? style.fill : style.color;
    const background = behind(element);
    const [light, dark] = [luminance(parse(color)), luminance(parse(background))].sort((a, b) => b - a);
    found.push({ text: text.slice(0, 60), color, background, ratio: (light + 0.05) / (dark + 0.05) });
  }
  return found;
})()`;

/** Every visible text with its contrast. */
export const contrasts = async (page: Page): Promise<readonly PoorContrast[]> =>
  (await page.evaluate(FIND_CONTRAST)) as PoorContrast[];

/** Elements that stick out of the page on the right, or whose text sticks out of them. */
export const overflowing = async (page: Page): Promise<readonly string[]> =>
  (await page.evaluate(`(() => {
    const width = document.documentElement.clientWidth;
    const name = (element) => element.tagName + ' ' + element.textContent.trim().slice(0, 40);
    const all = Array.from(document.querySelectorAll('main *, header *, footer *')).filter((each) => each.checkVisibility());
    const outside = all.filter((each) => each.getBoundingClientRect().right > width + 0.5);
    const cut = all.filter((each) => ['TD', 'TH', 'LI', 'P'].includes(each.tagName) && each.scrollWidth > each.clientWidth + 1 && each.clientWidth > 0);
    return [...outside, ...cut].map(name);
  })()`)) as string[];
