import { expect } from 'chai';
import { describe, it } from 'mocha';
import { LABEL_REGION } from '../../../pkg/apis/names.ts';
import {
  BUILT_IN_PRICES,
  DAYS_PER_MONTH,
  DEFAULT_PRICES,
  isBuiltInPrices,
  monthlyCost,
  parsePrices,
  pricePerGigabyte,
  tariffOf,
} from '../../../pkg/diagnosis/prices.ts';
import type { PriceTable, TrafficShares } from '../../../pkg/diagnosis/prices.ts';
import { FieldError } from '../../../pkg/diagnosis/project/fields.ts';
import { node } from '../../fixtures/core.ts';

const nodeIn = (zone: string, region: string, name = `node-${zone}`) =>
  node({ zone, metadata: { name, labels: region === '' ? {} : { [LABEL_REGION]: region } } });

const minimal = { currency: 'EUR', crossZone: { out: 0.01, in: 0.02 } };

const problemOf = (value: unknown): FieldError => {
  try {
    parsePrices(value);
  } catch (error) {
    if (error instanceof FieldError) return error;
    throw error;
  }
  throw new Error(`${JSON.stringify(value)} was accepted`);
};

describe('built-in prices', () => {
  it('bill a gigabyte between zones as the providers do: AWS at both ends, Google Cloud at one, Azure not at all', () => {
    const price = (table: PriceTable) => pricePerGigabyte(tariffOf(table, []), 'a', 'b');
    expect(price(BUILT_IN_PRICES.aws)).to.equal(0.02);
    expect(price(BUILT_IN_PRICES.gcp)).to.equal(0.01);
    expect(price(BUILT_IN_PRICES.azure)).to.equal(0);
  });

  for (const [name, { source, date, currency }] of Object.entries(BUILT_IN_PRICES)) {
    it(`${name} says where it comes from and when`, () => {
      expect(source).to.have.length.above(20);
      expect(date).to.match(/^\d{4}-\d{2}-\d{2}$/);
      expect(currency).to.equal('USD');
    });
  }

  const clouds: readonly [labels: Record<string, string>, prices: keyof typeof BUILT_IN_PRICES][] = [
    [{ 'cloud.google.com/gke-nodepool': 'pool-1' }, 'gcp'],
    [{ 'topology.gke.io/zone': 'a' }, 'gcp'],
    [{ 'kubernetes.azure.com/cluster': 'MC_rg' }, 'azure'],
    [{ 'topology.disk.csi.azure.com/zone': 'westeurope-1' }, 'azure'],
    [{ 'eks.amazonaws.com/nodegroup': 'main' }, 'aws'],
    [{}, 'aws'],
  ];
  for (const [labels, prices] of clouds)
    it(`are those of ${prices} where Nodes have ${Object.keys(labels)[0] ?? 'no label of a cloud'}`, () => {
      const nodes = [node({ metadata: { name: 'a' } }), node({ metadata: { name: 'b', labels } })];
      expect(tariffOf(undefined, nodes).table).to.equal(BUILT_IN_PRICES[prices]);
    });

  it('are those of azure where Nodes have its provider ID, or a name of AKS', () => {
    for (const own of [{ spec: { providerID: 'azure:///s' } }, { metadata: { name: 'aks-np-12345678-vmss00000a' } }])
      expect(tariffOf(undefined, [node(own)]).table).to.equal(BUILT_IN_PRICES.azure);
  });

  it('are known by name, and only by their own names', () => {
    expect(isBuiltInPrices(DEFAULT_PRICES)).to.equal(true);
    expect(isBuiltInPrices('toString')).to.equal(false);
    expect(isBuiltInPrices('prices.yaml')).to.equal(false);
  });
});

describe('parsePrices', () => {
  it('needs a currency and what crossing zones costs, no more', () => {
    expect(parsePrices(minimal)).to.deep.equal({
      currency: 'EUR',
      source: '',
      date: '',
      crossZone: { out: 0.01, in: 0.02 },
      crossRegion: { out: 0.01, in: 0.02 },
      pairs: [],
      regions: {},
    });
  });

  it('takes everything else as well', () => {
    const table = {
      ...minimal,
      source: 'our contract',
      date: '2026-11-01',
      crossRegion: { out: 0.05, in: 0 },
      pairs: [{ between: ['a', 'eu-2'], out: 0, in: 0.5 }],
      regions: { a: 'eu-1' },
    };
    expect(parsePrices(table)).to.deep.equal(table);
  });

  const and = (more: object) => ({ ...minimal, ...more });
  const wrong: readonly [name: string, value: unknown, path: string, message: RegExp][] = [
    ['a list', [], '', /expected an object, found a list/],
    ['no currency', { crossZone: minimal.crossZone }, 'currency', /not empty/],
    ['an empty currency', and({ currency: '' }), 'currency', /not empty/],
    ['no price of zones', { currency: 'EUR' }, 'crossZone', /out and in/],
    ['a number where both ends are wanted', and({ crossZone: 0.01 }), 'crossZone', /an object/],
    ['one end only', and({ crossZone: { out: 0.01 } }), 'crossZone.in', /0 or more, found nothing/],
    ['a negative price', and({ crossRegion: { out: -1, in: 0 } }), 'crossRegion.out', /0 or more, found -1/],
    ['a price in quotes', and({ crossZone: { out: '0.01', in: 0 } }), 'crossZone.out', /found a string/],
    ['a price without end', and({ crossZone: { out: Infinity, in: 0 } }), 'crossZone.out', /0 or more/],
    ['a field nobody knows', and({ crosszone: {} }), 'crosszone', /one of the fields/],
    ['an end nobody knows', and({ crossZone: { out: 0, in: 0, inn: 1 } }), 'crossZone.inn', /out, in/],
    ['a pair of one', and({ pairs: [{ between: ['a'], out: 0, in: 0 }] }), 'pairs.0.between', /two different/],
    [
      'a pair with itself',
      and({ pairs: [{ between: ['a', 'a'], out: 0, in: 0 }] }),
      'pairs.0.between',
      /two different/,
    ],
    ['a pair without price', and({ pairs: [{ between: ['a', 'b'], in: 0 }] }), 'pairs.0.out', /0 or more/],
    [
      'a pair with more',
      and({ pairs: [{ between: ['a', 'b'], in: 0, out: 0, both: 1 }] }),
      'pairs.0.both',
      /one of the fields/,
    ],
    ['a region that is a number', and({ regions: { a: 1 } }), 'regions.a', /a string/],
    ['a date without quotes', and({ date: 2026 }), 'date', /a string/],
  ];
  for (const [name, value, path, message] of wrong) {
    it(`refuses ${name} and names the field`, () => {
      const problem = problemOf(value);
      expect(problem.path.join('.')).to.equal(path);
      expect(problem.message).to.match(message);
    });
  }
});

describe('regions of zones', () => {
  it('reads the label of Nodes, the table first', () => {
    const table = { ...parsePrices(minimal), regions: { c: 'eu-9', d: 'eu-4' } };
    const nodes = [nodeIn('a', 'eu-1'), nodeIn('b', ''), nodeIn('c', 'eu-3')];
    const { regions } = tariffOf(table, nodes);
    expect(Object.fromEntries(regions)).to.deep.equal({ a: 'eu-1', c: 'eu-9', d: 'eu-4' });
  });

  it('takes the first Node by name where Nodes of a zone contradict each other, in whatever order they come', () => {
    const nodes = [nodeIn('a', 'eu-2', 'node-2'), nodeIn('a', 'eu-1', 'node-1')];
    const table = parsePrices(minimal);
    expect(tariffOf(table, nodes).regions.get('a')).to.equal('eu-1');
    expect(tariffOf(table, [...nodes].reverse()).regions.get('a')).to.equal('eu-1');
  });
});

describe('pricePerGigabyte', () => {
  const table: PriceTable = {
    ...parsePrices(minimal),
    crossZone: { out: 0.01, in: 0.01 },
    crossRegion: { out: 0.02, in: 0.03 },
    pairs: [
      { between: ['a1', 'a2'], out: 0.001, in: 0 },
      { between: ['eu', 'us'], out: 0.5, in: 0 },
      { between: ['b1', 'us'], out: 0.7, in: 0 },
    ],
  };
  const nodes = [
    nodeIn('a1', 'eu'),
    nodeIn('a2', 'eu'),
    nodeIn('a3', 'eu'),
    nodeIn('b1', 'eu-2'),
    nodeIn('u1', 'us'),
    nodeIn('u2', 'us'),
    nodeIn('x', ''),
  ];
  const cases: readonly [name: string, from: string, to: string, price: number][] = [
    ['the zone itself', 'a1', 'a1', 0],
    ['another zone of the region', 'a1', 'a3', 0.02],
    ['a pair of zones', 'a1', 'a2', 0.001],
    ['a pair of regions', 'a3', 'u2', 0.5],
    ['a zone and a region', 'b1', 'u1', 0.7],
    ['two regions without a price of their own', 'a1', 'b1', 0.05],
    ['a zone whose region is not known', 'a1', 'x', 0.02],
    ['no zone at all', 'a1', '', 0.02],
    ['no zone on either side', '', '', 0.02],
  ];
  for (const [name, from, to, price] of cases) {
    it(`${name}: ${price} from either side`, () => {
      const tariff = tariffOf(table, nodes);
      expect(pricePerGigabyte(tariff, from, to)).to.be.closeTo(price, 1e-12);
      expect(pricePerGigabyte(tariff, to, from)).to.be.closeTo(price, 1e-12);
    });
  }

  it('does not take two zones of one region for a pair with the region itself', () => {
    const strange = { ...table, pairs: [{ between: ['eu', 'eu-2'] as const, out: 9, in: 0 }] };
    expect(pricePerGigabyte(tariffOf(strange, nodes), 'a1', 'a2')).to.equal(0.02);
  });
});

describe('monthlyCost', () => {
  const matrix: TrafficShares = new Map([
    ['a', new Map(Object.entries({ a: 0.4, b: 0.1 }))],
    ['b', new Map(Object.entries({ a: 0.2, b: 0.3 }))],
  ]);

  it('bills what crosses, for a twelfth of a year', () => {
    const cost = monthlyCost(tariffOf(BUILT_IN_PRICES.aws, []), matrix, 1000);
    expect(cost).to.be.closeTo(0.3 * 1000 * 0.02 * (365 / 12), 1e-9);
    expect(DAYS_PER_MONTH * 12).to.equal(365);
  });

  it('agrees with the published estimate for three equal zones: a gigabyte a second costs about 420,000 a year', () => {
    const zones = ['a', 'b', 'c'];
    const even = new Map(zones.map((from) => [from, new Map(zones.map((to) => [to, 1 / 9]))]));
    const yearly = 12 * monthlyCost(tariffOf(BUILT_IN_PRICES.aws, []), even, 24 * 3600);
    expect(yearly).to.be.closeTo(420_000, 1_000);
  });
});
