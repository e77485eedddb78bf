import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import type { EndpointSlice } from '../../../pkg/apis/core.ts';
import { type Flow, parseFlow } from '../../../pkg/traffic/conntrack.ts';
import { createDirectory } from '../../../pkg/traffic/directory.ts';
import { type Judgement, OUTCOMES, type Outcome, SETTLED_MS, createJudge } from '../../../pkg/traffic/hints.ts';
import { WINDOW_MS, createProofWindow, verdictOf } from '../../../pkg/traffic/proof.ts';
import type { OutcomeCounts, Verdict } from '../../../pkg/traffic/proof.ts';
import { lineOf } from './support.ts';

interface Row {
  readonly zone: string;
  /** Undefined: no hints. */
  readonly hints?: readonly string[];
  readonly ready?: boolean;
}

/** Endpoint `i` is 10.1.0.i on Node n-i. */
const sliceOf = (rows: readonly Row[], version = '1', name = 'web-1'): EndpointSlice => ({
  metadata: { namespace: 'shop', name, resourceVersion: version, labels: { 'kubernetes.io/service-name': 'web' } },
  addressType: 'IPv4',
  ports: [{ port: 8080 }],
  endpoints: rows.map(({ zone, hints, ready = true }, index) => ({
    addresses: [`10.1.0.${index}`],
    zone,
    nodeName: `n-${index}`,
    conditions: { ready },
    ...(hints === undefined ? {} : { hints: { forZones: hints.map((zoneName) => ({ name: zoneName })) } }),
  })),
});

/** Since 0; `judge` looks when `at` says. */
const world = (rows: readonly Row[], internalTrafficPolicy?: string) => {
  let now = 0;
  const directory = createDirectory(() => now);
  const setZone = (name: string, zone: string): void =>
    directory.setNode({ metadata: { name, labels: { 'topology.kubernetes.io/zone': zone } } });
  setZone('own', 'a');
  rows.forEach(({ zone }, index) => setZone(`n-${index}`, zone));
  const policy = internalTrafficPolicy === undefined ? {} : { internalTrafficPolicy };
  directory.setService({ metadata: { namespace: 'shop', name: 'web' }, spec: { clusterIP: '10.96.0.1', ...policy } });
  directory.setSlice(sliceOf(rows));
  const judge = createJudge(directory, 'own', () => now);
  const at = (time: number): void => void (now = time);
  const judged = (index: number, time = SETTLED_MS): Judgement | undefined => {
    at(time);
    return judge(flowTo(index), 'shop/web');
  };
  return { directory, setZone, judge, judged, at };
};

const flowTo = (index: number, asked = '10.96.0.1:80'): Flow => {
  const flow = parseFlow(lineOf({ event: 'NEW' }, '10.1.9.9:40000', asked, `10.1.0.${index}:8080`));
  if (flow === undefined) throw new Error('not a flow');
  return flow;
};

const own = { zone: 'a', hints: ['a'] };
const other = { zone: 'b', hints: ['b'] };

describe('hints: a new connection from zone a', () => {
  const cases: (readonly [name: string, rows: Row[], to: number, outcome: Outcome, predicted: number])[] = [
    ['to an endpoint hinted for its zone', [own, other], 0, 'Honored', 0],
    ['to another endpoint', [own, other], 1, 'Ignored', 0],
    [
      'to an endpoint of another zone that is hinted for this one',
      [{ zone: 'b', hints: ['a', 'b'] }, other],
      0,
      'Honored',
      1,
    ],
    ['without any hint', [{ zone: 'a' }, { zone: 'b' }], 1, 'Unhinted', 0.5],
    ['with one hint missing', [own, { zone: 'b' }], 1, 'Incomplete', 0.5],
    ['without a hint for its zone', [other], 0, 'Uncovered', 1],
    ['whose hinted endpoint is not ready', [{ ...own, ready: false }, other], 1, 'Uncovered', 1],
  ];
  for (const [name, rows, to, outcome, predicted] of cases) {
    it(`${outcome}: ${name}`, () => {
      expect(world(rows).judged(to)).to.deep.include({ service: 'shop/web', outcome, predicted });
    });
  }

  it('Misplaced: the Node of the endpoint was given another zone since', () => {
    const { at, setZone, judged } = world([own, other]);
    at(SETTLED_MS);
    setZone('n-0', 'b');
    expect(judged(0, SETTLED_MS + 1)?.outcome, 'at once').to.equal('Honored');
    expect(judged(0, 2 * SETTLED_MS)?.outcome).to.equal('Misplaced');
  });
});

describe('hints: what goes around the proxy', () => {
  /** `nodeName`: of the endpoints, where the client is in the host network. */
  const around = (index: number, asked = `10.1.0.${index}:8080`, nodeName?: string): Judgement | undefined => {
    const { at, judge, directory } = world([own, other]);
    const addresses = [{ type: 'InternalIP', address: nodeName === undefined ? '10.1.9.1' : '10.1.9.9' }];
    directory.setNode({ metadata: { name: 'host' }, status: { addresses } });
    const { endpoints, ...slice } = sliceOf([own, other], '2');
    const on = nodeName === undefined ? {} : { nodeName };
    directory.setSlice({ ...slice, endpoints: endpoints!.map((each) => ({ ...each, ...on })) });
    at(SETTLED_MS);
    return judge(flowTo(index, asked), '');
  };

  it('Bypassed: an endpoint of another zone is asked by its own address', () => {
    expect(around(1)).to.deep.include({ service: 'shop/web', outcome: 'Bypassed', crossed: true });
  });

  it('says nothing where the zone may use the endpoint', () => {
    expect(around(0)).to.equal(undefined);
  });

  it('says nothing about a port that is no port of the Service', () => {
    expect(around(1, '10.1.0.1:9090')).to.equal(undefined);
  });

  it('Bypassed: from the host network to another node, as it is counted', () => {
    expect(around(1, undefined, 'n-1')?.outcome).to.equal('Bypassed');
  });

  it('says nothing of a kubelet, which asks Pods of its own node by their addresses', () => {
    expect(around(1, undefined, 'own')).to.equal(undefined);
    expect(around(1, undefined, ''), 'the node is not known').to.equal(undefined);
  });
});

describe('hints: what is not judged', () => {
  it('a connection while the slices are fresh, and one more change begins that anew', () => {
    const { directory, judged } = world([own, other]);
    expect(judged(1, SETTLED_MS - 1)).to.equal(undefined);
    expect(judged(1)?.outcome).to.equal('Ignored');
    directory.setSlice(sliceOf([own, { zone: 'b' }], '2'));
    expect(judged(1, SETTLED_MS)).to.equal(undefined);
    expect(judged(1, 2 * SETTLED_MS)?.outcome).to.equal('Incomplete');
  });

  it('a list that is read again changes nothing', () => {
    const { at, directory, judged } = world([own, other]);
    at(SETTLED_MS);
    directory.setSlice(sliceOf([own, other]));
    expect(judged(1)?.outcome).to.equal('Ignored');
  });

  for (const [name, policy, flow] of [
    ['a Service whose traffic stays on its node', 'Local', flowTo(1)],
    ['a node port', undefined, flowTo(1, '192.168.0.1:30080')],
    ['an endpoint that is not known', undefined, flowTo(7)],
  ] as const) {
    it(name, () => {
      const { at, judge } = world([own, other], policy);
      at(SETTLED_MS);
      expect(judge(flow, 'shop/web')).to.equal(undefined);
    });
  }
});

describe('hints: properties', () => {
  const zone = fc.constantFrom('a', 'b', 'c');
  const row = fc.record({
    zone,
    hints: fc.option(fc.uniqueArray(zone, { minLength: 1 }), { nil: undefined, freq: 6 }),
    ready: fc.boolean(),
  }) as fc.Arbitrary<Row>;
  const rows = fc.array(row, { minLength: 1, maxLength: 8 });

  it('what a proxy does by its rule is never called Ignored, and what it does against it always is', () => {
    fc.assert(
      fc.property(rows, (given) => {
        const ready = given.flatMap((each, index) => (each.ready === false ? [] : [{ ...each, index }]));
        const complete = ready.every(({ hints }) => hints !== undefined);
        const covered = ready.filter(({ hints }) => hints?.includes('a') === true);
        // pkg/proxy/topology.go: topologyModeFromHints and availableForTopology.
        const allowed = complete && covered.length > 0 ? covered : ready;
        const { judged } = world(given);
        for (const { index } of ready) {
          const isAllowed = allowed.some((each) => each.index === index);
          expect(judged(index)?.outcome === 'Ignored', `endpoint ${index}`).to.equal(!isAllowed);
        }
      }),
    );
  });

  it('the order and number of slices do not matter', () => {
    fc.assert(
      fc.property(rows, fc.nat({ max: 7 }), (given, at) => {
        const { endpoints, ...rest } = sliceOf(given);
        const whole = world(given);
        const halves = world([]);
        given.forEach((each, index) => halves.setZone(`n-${index}`, each.zone));
        const part = (name: string, some: EndpointSlice['endpoints']): EndpointSlice => ({
          ...rest,
          metadata: { ...rest.metadata, name, resourceVersion: '2' },
          endpoints: some ?? [],
        });
        halves.directory.setSlice(part('web-2', endpoints?.slice(at)));
        halves.directory.setSlice(part('web-1', endpoints?.slice(0, at)));
        for (const index of given.keys()) expect(halves.judged(index)).to.deep.equal(whole.judged(index));
      }),
    );
  });
});

const nodes = (counts: Readonly<Record<string, OutcomeCounts>>): ReadonlyMap<string, OutcomeCounts> =>
  new Map(Object.entries(counts));

describe('proof: the verdict about a Service', () => {
  type Given = Readonly<Record<string, OutcomeCounts>>;
  /** `is`: status and reason. */
  const cases: (readonly [name: string, given: Given, is: string, more?: Partial<Verdict>])[] = [
    [
      'all connections of two Nodes were honored',
      { n1: { Honored: 10 }, n2: { Honored: 1 } },
      'True Honored',
      { message: 'New connections through the cluster IP follow the hints on 2 Nodes.' },
    ],
    [
      'one Node of two ignores hints',
      { n1: { Honored: 10 }, n2: { Honored: 5, Ignored: 10 } },
      'False HintsIgnored',
      { nodes: ['n2'], message: 'New connections went to endpoints that are not hinted for their zone: n2 10 of 15.' },
    ],
    ['two connections may have raced a change', { n1: { Honored: 10, Ignored: 2 } }, 'True Honored'],
    ['a few of very many may be anything', { n1: { Honored: 1_000, Ignored: 10 } }, 'True Honored'],
    ['a hint is missing', { n1: { Incomplete: 4 } }, 'False HintsIncomplete', { nodes: ['n1'] }],
    ['a Node of endpoints was relabelled', { n1: { Honored: 4, Misplaced: 4 } }, 'False EndpointMisplaced'],
    ['a client goes around', { n1: { Bypassed: 3 }, n2: { Honored: 3 } }, 'False ProxyBypassed', { nodes: ['n1'] }],
    ['a zone without endpoints is no fault', { n1: { Honored: 3 }, n3: { Uncovered: 50 } }, 'True Honored'],
    ['there are no hints', { n1: { Unhinted: 9 } }, 'Unknown NoHints'],
    ['there was no traffic', {}, 'Unknown NoTraffic'],
  ];
  for (const [name, given, is, more = {}] of cases) {
    it(`${is}: ${name}`, () => {
      const [status, reason] = is.split(' ');
      expect(verdictOf(nodes(given))).to.deep.include({ status, reason, ...more });
    });
  }

  it('names five Nodes, and how many more', () => {
    const given = Object.fromEntries(Array.from({ length: 7 }, (_, index) => [`n${index}`, { Ignored: 3 }]));
    const { message, nodes: faulty } = verdictOf(nodes(given));
    expect(message).to.contain('n4 3 of 3 and 2 more.');
    expect(faulty).to.have.lengthOf(7);
  });

  const counts = fc.dictionary(fc.constantFrom(...OUTCOMES), fc.nat({ max: 50 })) as fc.Arbitrary<OutcomeCounts>;
  const many = fc.dictionary(fc.constantFrom('n1', 'n2', 'n3', 'n4'), counts);

  it('one more Node that honors hints never makes it False', () => {
    fc.assert(
      fc.property(many, fc.integer({ min: 1, max: 100 }), (given, honored) => {
        const before = verdictOf(nodes(given));
        const after = verdictOf(nodes({ ...given, n9: { Honored: honored } }));
        expect(after.status).to.equal(before.status === 'False' ? 'False' : 'True');
      }),
    );
  });

  it('is False only with Nodes at fault, each with three connections or more', () => {
    fc.assert(
      fc.property(many, (given) => {
        const { status, nodes: faulty } = verdictOf(nodes(given));
        expect(status === 'False').to.equal(faulty.length > 0);
        for (const node of faulty) {
          const { Ignored = 0, Incomplete = 0, Misplaced = 0, Bypassed = 0 } = given[node] ?? {};
          expect(Math.max(Ignored, Incomplete, Misplaced, Bypassed)).to.be.at.least(3);
        }
      }),
    );
  });
});

describe('proof: the window', () => {
  const reading = (counts: OutcomeCounts, node = 'n1') => new Map([[node, new Map([['s/w', counts]])]]);
  const honoredOf = (window: ReturnType<typeof createProofWindow>): number | undefined =>
    window.evidence().get('s/w')?.get('n1')?.Honored;

  it('holds what grew between readings, and not what a meter counted before it was first read', () => {
    const window = createProofWindow();
    window.add(0, reading({ Honored: 100 }));
    expect(honoredOf(window)).to.equal(undefined);
    window.add(10_000, reading({ Honored: 103 }));
    window.add(20_000, reading({ Honored: 104, Ignored: 2 }));
    expect(window.evidence().get('s/w')?.get('n1')).to.deep.equal({ Honored: 4, Ignored: 2 });
  });

  it('forgets what is older than a minute', () => {
    const window = createProofWindow();
    window.add(0, reading({}));
    window.add(1, reading({ Honored: 5 }));
    window.add(WINDOW_MS, reading({ Honored: 6 }));
    expect(honoredOf(window)).to.equal(6);
    window.add(WINDOW_MS + 1, reading({ Honored: 6 }));
    expect(honoredOf(window)).to.equal(1);
  });

  it('counts all of a meter that began anew', () => {
    const window = createProofWindow();
    window.add(0, reading({ Honored: 100 }));
    window.add(1, reading({ Honored: 7 }));
    expect(honoredOf(window)).to.equal(7);
  });
});
