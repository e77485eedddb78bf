// The page of an audit: whatever objects hold is text, nothing outside is named, and every figure of the report is there.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { audit, type AuditReport } from '../../../../pkg/diagnosis/audit/audit.ts';
import { BUILT_IN_PRICES, tariffOf } from '../../../../pkg/diagnosis/prices.ts';
import { heatMap, shareBar } from '../../../../pkg/report/html/audit-services.ts';
import { renderAuditPage } from '../../../../pkg/report/html/audit-page.ts';
import { ATTACK, auditCluster, hostileCluster } from '../../../fixtures/audit-cluster.ts';
import { snapshotOf } from '../../../fixtures/snapshot.ts';

const NOW = Date.UTC(2026, 10, 21, 10, 30);

const pageOf = (report: AuditReport): string => renderAuditPage(report, { now: NOW });

const cluster = auditCluster({ nodes: 6, services: 26, endpoints: 120 });
const report = audit(snapshotOf(...cluster.nodes, ...cluster.services, ...cluster.slices), {
  now: NOW,
  proxy: { kind: 'kube-proxy' },
});

/** Elements of the page, without what stands in its own style and script. */
const tagsOf = (page: string): Map<string, number> => {
  const bare = page.replace(/<style>[\s\S]*?<\/style>/, '<style>').replace(/<script>[\s\S]*?<\/script>/, '<script>');
  const tags = new Map<string, number>();
  for (const [, tag = ''] of bare.matchAll(/<([a-z][\w-]*)/g)) tags.set(tag, (tags.get(tag) ?? 0) + 1);
  return tags;
};

const hostile = (): AuditReport => {
  const { nodes, services, slices } = hostileCluster();
  const prices = { ...BUILT_IN_PRICES.aws, currency: ATTACK, source: ATTACK, date: ATTACK };
  return audit(snapshotOf(...nodes, ...services, ...slices), {
    now: NOW,
    proxy: { kind: 'kube-proxy' },
    namespace: ATTACK,
    bill: { tariff: tariffOf(prices, nodes), gigabytesPerDay: 5 },
  });
};

describe('report: page of an audit', () => {
  it('shows hostile names, annotations, zones and prices as text', () => {
    const found = hostile();
    expect(found.services).to.have.lengthOf(1);
    const page = pageOf(found);
    const tags = tagsOf(page);
    expect(tags.get('script')).to.equal(1);
    expect(tags.has('img')).to.equal(false);
    expect(page.replaceAll(/="[^"]*"/g, '=')).not.to.match(/<[^>]*\sonerror=/);
    // The name, its namespace, the annotation in the evidence, the zone and the price list are all there.
    expect(page.split('&lt;script&gt;alert(1)').length).to.be.greaterThan(8);
  });

  it('names nothing outside itself', () => {
    // Digests are base64, in which a slash is a letter.
    const page = pageOf(report).replaceAll(/sha256-[\w+/]+/g, '');
    expect(page).not.to.match(/(?:https?:)?\/\/(?!www\.w3\.org)[a-z]/i);
    expect(pageOf(report)).not.to.match(/\b(?:src|srcset|action|formaction|poster|ping)=/);
    expect([...pageOf(report).matchAll(/\shref="([^"]*)"/g)].map(([, href]) => href)).to.deep.equal(['data:,']);
    expect(pageOf(report)).not.to.match(/\sstyle=|\son[a-z]+=/);
  });

  it('has a row a Service, in the order of the report, with cause and remedy', () => {
    const page = pageOf(report);
    const names = [...page.matchAll(/<strong>([\w-]+)<\/strong><small>/g)].map(([, name]) => name);
    expect(names).to.deep.equal(report.services.map(({ name }) => name));
    for (const { cause } of report.services) {
      if (cause !== null) expect(page).to.contain(`<code>${cause.reason}</code><p>`);
    }
  });

  it('has every id once, and labels for what has an id only', () => {
    const ids = [...pageOf(report).matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).to.equal(ids.length);
    expect(ids).to.include.members(['services', 'services-title', 'filter', 'verdict', 'cause', 'clear', 'shown']);
  });

  it('shows costs only where bytes were given', () => {
    expect(pageOf(report)).not.to.match(/USD|a month/);
    const bill = { tariff: tariffOf(BUILT_IN_PRICES.aws, cluster.nodes), gigabytesPerDay: 2_500 };
    const snapshot = snapshotOf(...cluster.nodes, ...cluster.services, ...cluster.slices);
    const page = pageOf(audit(snapshot, { now: NOW, proxy: { kind: 'kube-proxy' }, bill }));
    expect(page)
      .to.contain('a month is the estimated cost of crossing zones')
      .and.to.contain('At an assumed 2,500 GB a day');
  });

  it('says when it was made and what it could not see', () => {
    expect(pageOf(report)).to.contain('2026-11-21 10:30 UTC');
    expect(pageOf({ ...report, unseen: [{ what: 'webhooks', why: 'you may not list <them>' }] })).to.contain(
      'Not seen: mutating webhooks (you may not list &lt;them&gt;).',
    );
  });

  it('has no figure that is none', () => {
    expect(pageOf(report)).not.to.match(/NaN|undefined|Infinity|\[object/);
    expect(pageOf(hostile())).not.to.match(/NaN|undefined|Infinity|\[object/);
  });
});

const found = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, value = '']) => value);

describe('report: heat map', () => {
  const { text } = heatMap({ 'eu-1a': { 'eu-1a': 0.4, 'eu-1b': 0.1 }, 'eu-1b': { 'eu-1a': 0, 'eu-1b': 0.5 } });

  it('labels every cell with where from, where to, and how much', () => {
    expect(found(text, /<td [^>]*aria-label="([^"]*)"/g)).to.deep.equal([
      'From eu-1a to eu-1a: 40 % of all connections, in the zone',
      'From eu-1a to eu-1b: 10 % of all connections, crossing',
      'From eu-1b to eu-1a: 0 % of all connections, crossing',
      'From eu-1b to eu-1b: 50 % of all connections, in the zone',
    ]);
    expect(found(text, />(\d+ %)<\/td/g)).to.deep.equal(['40 %', '10 %', '0 %', '50 %']);
  });

  it('colors by quarters of the largest cell, apart for what stays and what crosses', () => {
    expect(found(text, /<td class="([\w-]+)"/g)).to.deep.equal(['stay-4', 'cross-1', 'cross-0', 'stay-4']);
  });

  it('names the place without zone, escapes the others, and is a sentence where it has no zone or too many', () => {
    const shown = heatMap({ '': { '<b>': 1 } }).text;
    expect(shown).to.contain('From no zone to &lt;b&gt;: 100 %').and.not.to.contain('<b>');
    expect(heatMap({}).text).to.equal('<p>There are no connections between zones.</p>');
    const zones = Array.from({ length: 600 }, (_, index) => `z${index}`);
    const large = Object.fromEntries(zones.map((from) => [from, Object.fromEntries(zones.map((to) => [to, 1e-6]))]));
    expect(heatMap(large).text).to.equal(
      '<p>600 zones are too many for a picture; <code>-o json</code> holds all of them.</p>',
    );
  });

  it('the bar sets parts beside each other and says what they are', () => {
    const bar = shareBar([
      { kind: 'stays', label: 'stays', share: 0.25 },
      { kind: 'routing', label: 'could stay', share: 0.5 },
    ]).text;
    expect(found(bar, /aria-label="([^"]*)"/g)).to.deep.equal(['stays: 25 %; could stay: 50 %']);
    expect(found(bar, / x="([\d.]+)"/g)).to.deep.equal(['0', '0.25']);
    expect(found(bar, / width="([\d.]+)"/g)).to.deep.equal(['0.25', '0.5']);
  });
});
