// The page of `kubectl topology audit --html` in a real browser: light, dark, on paper, narrow, by keyboard, and under attack.
// Needs: chromium
// Needs no bed.
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { after, afterEach, before, describe, it } from 'mocha';
import { type Browser, type BrowserContextOptions, type Page, chromium } from 'playwright-core';
import type { AuditReport } from '../../../pkg/diagnosis/audit/audit.ts';
import { ATTACK, type AuditCluster, auditCluster, hostileCluster } from '../../fixtures/audit-cluster.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { runTopology } from '../../fixtures/topology-command.ts';

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

const startBrowser = (): Promise<Browser> => chromium.launch({ executablePath: findProgram('chromium'), args: FLAGS });

interface Opened {
  readonly page: Page;
  /** Messages of the console, errors of scripts, dialogs: a good page has none. */
  readonly complaints: readonly string[];
  /** Everything that was asked for, the page itself included. */
  readonly requests: readonly string[];
}

/** Opens a file in a context of its own. */
const openFile = async (browser: Browser, file: string, options: BrowserContextOptions = {}): Promise<Opened> => {
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
interface PoorContrast {
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
const contrasts = async (page: Page): Promise<readonly PoorContrast[]> =>
  (await page.evaluate(FIND_CONTRAST)) as PoorContrast[];

/** Elements that stick out of the page on the right, or whose text sticks out of them. */
const overflowing = async (page: Page): Promise<readonly string[]> =>
  (await page.evaluate(`(() => {
    const width = document.documentElement.clientWidth;
    const name = (element) => element.tagName + ' ' + element.textContent.trim().slice(0, 40);
    const all = Array.from(document.querySelectorAll('main *, header *, footer *')).filter((each) => each.checkVisibility());
    const outside = all.filter((each) => each.getBoundingClientRect().right > width + 0.5);
    const cut = all.filter((each) => ['TD', 'TH', 'LI', 'P'].includes(each.tagName) && each.scrollWidth > each.clientWidth + 1 && each.clientWidth > 0);
    return [...outside, ...cut].map(name);
  })()`)) as string[];

const READABLE = 4.5;
/** A4 across at 96 dots an inch, less the margins of 12 mm. */
const PAPER = { width: 1032, height: 703 };

describe('the page of an audit, in Chromium', () => {
  const folder = temporaryFolder();
  let browser: Browser;
  let file: string;
  let report: AuditReport;
  const opened: Page[] = [];

  /** Writes the page of a cluster as the command does; returns its path and what the command printed. */
  const write = async (name: string, { nodes, services, slices }: AuditCluster, ...flags: string[]) => {
    const items = [...nodes, ...services, ...slices];
    const input = folder.write(`${name}.json`, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
    const path = folder.at(`${name}.html`);
    const { code, out, err } = await runTopology(['audit', '-f', input, '--html', path, '-o', 'json', ...flags]);
    expect(code, err).to.equal(0);
    return { path, report: JSON.parse(out) as AuditReport };
  };

  const open = async (options: BrowserContextOptions = {}, path: string = file): Promise<Opened> => {
    const result = await openFile(browser, path, { viewport: { width: 1280, height: 900 }, ...options });
    opened.push(result.page);
    return result;
  };

  before(async () => {
    browser = await startBrowser();
    const cluster = auditCluster({ nodes: 12, services: 40, endpoints: 300 });
    ({ path: file, report } = await write('audit', cluster, '--gb-per-day', '2500'));
  });
  afterEach(async () => {
    for (const page of opened.splice(0)) await page.context().close();
  });
  after(() => browser.close());

  /** Values of a column by which rows are sorted, as they stand, of rows that are shown. */
  const values = (page: Page, title: string): Promise<string[]> =>
    page
      .locator(`#services tbody tr:not([hidden]) td[data-label="${title}"]`)
      .evaluateAll((cells) => cells.map((cell) => cell.getAttribute('data-value') ?? ''));

  const header = (page: Page, title: string) => page.locator('#services thead th', { hasText: title });

  const expectSorted = (found: readonly string[], sign: 1 | -1): void => {
    const known = found.filter((value) => value !== '').map(Number);
    expect(known).to.deep.equal([...known].sort((a, b) => (a - b) * sign));
    expect(found.slice(known.length), 'what is not known comes last').to.deep.equal(
      found.filter((value) => value === ''),
    );
  };

  it('complains of nothing, and asks for nothing but itself', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page, complaints, requests } = await open({ colorScheme });
      await page.locator('#filter').fill('api');
      await header(page, 'Crosses').getByRole('button').click();
      expect(complaints).to.deep.equal([]);
      expect(requests.filter((url) => !url.startsWith('data:'))).to.deep.equal([page.url()]);
    }
  });

  it('shows hostile names as text: nothing runs, nothing is loaded', async () => {
    const { path } = await write('hostile', hostileCluster(), '--gb-per-day', '10');
    const { page, complaints, requests } = await open({}, path);
    expect(await page.locator('#services tbody strong').textContent()).to.equal(ATTACK);
    expect(await page.locator('script').count()).to.equal(1);
    expect(await page.locator('img').count()).to.equal(0);
    expect(complaints).to.deep.equal([]);
    expect(requests.filter((url) => !url.startsWith('data:'))).to.deep.equal([page.url()]);
  });

  it('lets no script in that is not its own', async () => {
    const forged = readFileSync(file, 'utf8').replace('<main>', `<main>${ATTACK}<p style="color:red">styled</p>`);
    const { page, complaints } = await open({}, folder.write('forged.html', forged));
    expect(complaints.some((text) => text.startsWith('dialog'))).to.equal(false);
    expect(complaints.filter((text) => text.includes('Content Security Policy')).length).to.be.greaterThan(2);
    expect(await page.locator('#shown').textContent()).to.equal('40 of 40 Services');
  });

  it('comes worst first, and sorts by click, down and up', async () => {
    const { page } = await open();
    const costs = (await values(page, 'Cost a month (estimate)')).filter((value) => value !== '').map(Number);
    const worst = report.services.flatMap(({ monthlyCost }) =>
      monthlyCost === undefined ? [] : [monthlyCost.current],
    );
    expect(costs).to.have.lengthOf(worst.length);
    costs.forEach((cost, index) => expect(cost).to.be.closeTo(worst[index] ?? NaN, 1e-6));
    expect(await page.locator('#services th[aria-sort]:not([aria-sort="none"])').count()).to.equal(0);
    const crosses = header(page, 'Crosses');
    for (const [direction, sign] of [
      ['descending', -1],
      ['ascending', 1],
      ['descending', -1],
    ] as const) {
      await crosses.getByRole('button').click();
      expect(await crosses.getAttribute('aria-sort')).to.equal(direction);
      expectSorted(await values(page, 'Crosses'), sign);
    }
    const sorted = await page.locator('#services th[aria-sort]:not([aria-sort="none"])').count();
    expect(sorted, 'one column at a time').to.equal(1);
    const names = header(page, 'Service');
    await names.getByRole('button').click();
    const found = await values(page, 'Service');
    expect(await names.getAttribute('aria-sort')).to.equal('ascending');
    expect(found).to.deep.equal([...found].sort());
    expect(found).to.have.lengthOf(report.services.length);
  });

  it('sorts by keyboard, in the order in which things stand', async () => {
    const { page } = await open();
    await page.locator('#clear').focus();
    const order: string[] = [];
    for (let step = 0; step < 4; step += 1) {
      await page.keyboard.press('Tab');
      order.push(await page.locator(':focus').innerText());
    }
    expect(order.map((text) => text.trim())).to.deep.equal(['Service', 'Wanted', 'Given', 'Used']);
    const outline = await page
      .locator(':focus')
      .evaluate((element) => element.computedStyleMap().get('outline-style')?.toString());
    expect(outline, 'focus can be seen').to.equal('solid');
    for (const [key, sign] of [
      ['Enter', -1],
      ['Space', 1],
    ] as const) {
      await page.keyboard.press(key);
      expectSorted(await values(page, 'Used'), sign);
    }
    expect((await page.locator(':focus').innerText()).trim(), 'focus stays').to.equal('Used');
  });

  it('filters by text, by verdict and by cause, and says how many are left', async () => {
    const { page } = await open();
    const shown = page.locator('#shown');
    const rows = page.locator('#services tbody tr:not([hidden])');
    const expectShown = async (count: number): Promise<void> => {
      expect(await rows.count()).to.equal(count);
      expect(await shown.textContent()).to.equal(`${count} of 40 Services`);
    };
    await expectShown(40);
    const inSearch = report.services.filter(({ namespace }) => namespace === 'search');
    await page.locator('#filter').fill('SEARCH');
    await expectShown(inSearch.length);
    await page.locator('#verdict').selectOption('Effective');
    await expectShown(inSearch.filter(({ verdict }) => verdict === 'Effective').length);
    await page.locator('#filter').fill('no such thing');
    await expectShown(0);
    await page.locator('#clear').click();
    await expectShown(40);
    expect(await page.locator(':focus').getAttribute('id')).to.equal('filter');
    const [first] = report.causes;
    await page.locator('.causes button').first().click();
    expect(await page.locator('#cause').inputValue()).to.equal(first?.reason);
    await expectShown(first?.services ?? -1);
    expect(await page.locator(':focus').getAttribute('id')).to.equal('cause');
    // Sorting keeps the selection.
    await header(page, 'Saves').getByRole('button').click();
    await expectShown(first?.services ?? -1);
  });

  it('shows all rows, and no controls that do nothing, without scripts', async () => {
    const { page } = await open({ javaScriptEnabled: false });
    expect(await page.locator('#services tbody tr:visible').count()).to.equal(40);
    expect(await page.locator('.toolbar').isVisible()).to.equal(false);
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`has text that can be read, ${colorScheme}`, async () => {
      const { page } = await open({ colorScheme });
      await page.locator('#services tbody tr').first().hover();
      const found = await contrasts(page);
      expect(found.length).to.be.greaterThan(500);
      expect(found.filter(({ ratio }) => !(ratio >= READABLE))).to.deep.equal([]);
      const background = await page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
      expect(background).to.equal(colorScheme === 'light' ? 'rgb(255, 255, 255)' : 'rgb(15, 20, 25)');
    });
  }

  it('colors every level of the heat map so that it can be read', async () => {
    const { page } = await open();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      for (const level of [0, 1, 2, 3, 4]) {
        for (const kind of ['stay', 'cross']) {
          const cell = page.locator('.heat-map td').first();
          await cell.evaluate((element, name) => element.setAttribute('class', name), `${kind}-${level}`);
          const label = await cell.textContent();
          const found = (await contrasts(page)).find(({ text }) => text === label);
          expect(found?.ratio, `${colorScheme} ${kind}-${level}`).to.be.at.least(READABLE);
        }
      }
    }
  });

  it('prints on white, every column within the paper, nothing cut, without controls', async () => {
    const { page } = await open({ colorScheme: 'dark', viewport: PAPER });
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    expect(await overflowing(page)).to.deep.equal([]);
    expect(await page.locator('.toolbar').isVisible()).to.equal(false);
    expect(await page.locator('#services thead th:visible').count()).to.equal(12);
    expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).to.equal('rgb(255, 255, 255)');
    expect((await contrasts(page)).filter(({ ratio }) => !(ratio >= READABLE))).to.deep.equal([]);
    const pdf = (await page.pdf({ preferCSSPageSize: true })).toString('latin1');
    expect(pdf.match(/\/MediaBox\s*\[[^\]]*\]/)?.[0]).to.match(/\[0 0 841\.\d+ 594\.\d+\]/);
    expect(pdf.match(/\/Type\s*\/Page\b/g)?.length).to.be.within(3, 15);
  });

  for (const width of [400, 640, 1060, 1061, 1281, 1920]) {
    it(`fits ${width} pixels, nothing cut`, async () => {
      const { page } = await open({ viewport: { width, height: 900 } });
      expect(await page.evaluate('document.documentElement.scrollWidth')).to.be.at.most(width);
      expect(await overflowing(page)).to.deep.equal([]);
    });
  }

  it('stays a table to those who listen, and sortable, at 400 pixels', async () => {
    const { page } = await open({ viewport: { width: 400, height: 900 } });
    const table = page.getByRole('table', { name: 'Services, worst first' });
    expect(await table.getByRole('columnheader').count()).to.equal(12);
    expect(await table.getByRole('row').count()).to.equal(41);
    await table.getByRole('columnheader', { name: 'Endpoints' }).getByRole('button').click();
    expectSorted(await values(page, 'Endpoints'), -1);
    expect(await table.getByRole('cell').first().isVisible()).to.equal(true);
  });
});
