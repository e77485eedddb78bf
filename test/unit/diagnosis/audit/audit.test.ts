// What crosses zones altogether, and what would be saved: known figures, and what holds for any cluster.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import type { KubernetesObject } from '../../../../pkg/apis/meta.ts';
import type { EndpointSlice, Node, Service } from '../../../../pkg/apis/core.ts';
import { audit, type AuditOptions, type AuditReport } from '../../../../pkg/diagnosis/audit/audit.ts';
import type { ServiceAudit } from '../../../../pkg/diagnosis/audit/service.ts';
import { explain } from '../../../../pkg/diagnosis/explain/explain.ts';
import { BUILT_IN_PRICES, tariffOf } from '../../../../pkg/diagnosis/prices.ts';
import { itemsOf, known } from '../../../../pkg/diagnosis/snapshot.ts';
import { renderAudit } from '../../../../pkg/report/audit.ts';
import { auditCluster } from '../../../fixtures/audit-cluster.ts';
import { endpoint, endpointsIn, node, service, slice } from '../../../fixtures/core.ts';
import { snapshotOf } from '../../../fixtures/snapshot.ts';
import { upTo } from '../../../support/depth.ts';

const OPTIONS: AuditOptions = { now: 0, proxy: { kind: 'kube-proxy' } };
const NODES = ['eu-1a', 'eu-1b', 'eu-1c'].map((zone) => node({ zone }));

type Objects = readonly (Node | Service | EndpointSlice)[];

/** A Service and its slice, with an endpoint in each of these zones. */
const pair = (
  name: string,
  zones: readonly string[],
  { hinted = false, spec = {} }: { hinted?: boolean; spec?: NonNullable<Parameters<typeof service>[0]>['spec'] } = {},
): Objects => [
  service({ metadata: { name }, spec: { trafficDistribution: 'PreferSameZone', ...spec } }),
  slice({
    service: name,
    metadata: { name: `${name}-x` },
    endpoints: endpointsIn(zones, hinted, `10.0.${name.length}`),
  }),
];

const auditOf = (objects: Objects, options: Partial<AuditOptions> = {}): AuditReport =>
  audit(snapshotOf(...objects), { ...OPTIONS, ...options });

const named = ({ services }: AuditReport, name: string): ServiceAudit => {
  const found = services.find((each) => each.name === name);
  if (found === undefined) throw new Error(`no Service ${name} in ${services.map((each) => each.name).join(', ')}`);
  return found;
};

const close = (actual: number | null | undefined, expected: number): void => {
  expect(actual).to.be.a('number');
  expect(actual).to.be.closeTo(expected, 1e-9);
};

describe('audit: one Service', () => {
  it('that publishes a Pod which serves nothing is promised nothing', () => {
    const [web, own] = pair('web', ['eu-1a', 'eu-1b', 'eu-1c'], { spec: { publishNotReadyAddresses: true } });
    Object.assign((own as EndpointSlice).endpoints?.[0] ?? {}, { conditions: { ready: true, serving: false } });
    expect(named(auditOf([...NODES, web!, own!]), 'web').saving).to.equal(null);
  });

  it('that keeps its traffic saves nothing more', () => {
    const web = named(auditOf([...NODES, ...pair('web', ['eu-1a', 'eu-1b', 'eu-1c'], { hinted: true })]), 'web');
    expect([web.verdict, web.inZoneShare, web.crossZoneShare, web.saving]).to.deep.equal([
      'Effective',
      1,
      0,
      { routing: 0, endpoints: 0 },
    ]);
    expect([web.given, web.used, web.effective]).to.deep.equal([
      { count: 3, of: 3 },
      { count: 3, of: 3 },
      { count: 3, of: 3 },
    ]);
    expect([web.endpoints, web.zones, web.cause]).to.deep.equal([3, 3, null]);
  });

  it('without hints: two thirds cross three zones and would stay', () => {
    const web = named(auditOf([...NODES, ...pair('web', ['eu-1a', 'eu-1b', 'eu-1c'])]), 'web');
    close(web.crossZoneShare, 2 / 3);
    close(web.saving?.routing, 2 / 3);
    close(web.saving?.endpoints, 0);
    expect([web.worstOverload, web.given.count, web.used.count, web.effective.count]).to.deep.equal([0, 0, 0, 0]);
  });

  it('with a zone that has none: what routing keeps, and what only endpoints there would', () => {
    const web = named(auditOf([...NODES, ...pair('web', ['eu-1a', 'eu-1b'])]), 'web');
    close(web.inZoneShare, 1 / 3);
    close(web.saving?.routing, 1 / 3);
    close(web.saving?.endpoints, 1 / 3);
  });

  it('says what routing by zone does to the busiest endpoint', () => {
    const web = named(auditOf([...NODES, ...pair('web', ['eu-1a', 'eu-1b', 'eu-1b', 'eu-1c'])]), 'web');
    close(web.worstOverload, 0);
    // A third of the connections on one of four endpoints.
    close(web.overloadRoutedByZone, 1 / 3);
  });

  const silent: readonly (readonly [string, Objects])[] = [
    ['headless', [...NODES, ...pair('web', ['eu-1a'], { spec: { clusterIP: 'None' } })]],
    ['without endpoints', [...NODES, ...pair('web', [])]],
    ['of which no client is known', pair('web', ['eu-1a'])],
    ['whose endpoints have no zone', [...NODES, ...pair('web', ['', ''])]],
    ['whose Nodes have no zone', [node({ zone: '' }), ...pair('web', ['eu-1a', 'eu-1b'])]],
  ];
  for (const [name, objects] of silent) {
    it(`${name} has no prediction, and does not count`, () => {
      const bill = { tariff: tariffOf(BUILT_IN_PRICES.aws, []), gigabytesPerDay: 100 };
      const report = auditOf([...objects, ...pair('other', ['eu-1a'])], { bill });
      const web = named(report, 'web');
      expect([web.inZoneShare, web.crossZoneShare, web.worstOverload, web.saving, web.weight]).to.deep.equal([
        null,
        null,
        null,
        null,
        0,
      ]);
      expect(web.monthlyCost).to.equal(undefined);
      expect(report.sum.unpredicted).to.be.greaterThan(0);
    });
  }

  it('with the policy Local crosses nothing', () => {
    const local = pair('web', ['eu-1a'], { spec: { internalTrafficPolicy: 'Local' } });
    const web = named(auditOf([...NODES, ...local]), 'web');
    expect([web.crossZoneShare, web.saving?.routing, web.saving?.endpoints]).to.deep.equal([0, 0, 0]);
  });

  it('has the verdict and the causes of explain, whatever asks', () => {
    const { nodes, services, slices } = auditCluster({ nodes: 9, services: 26, endpoints: 150 });
    const snapshot = snapshotOf(...nodes, ...services, ...slices);
    const report = audit(snapshot, OPTIONS);
    for (const own of services) {
      const found = explain(snapshot, own, OPTIONS);
      const row = report.services.find(({ name, namespace }) => name === found.name && namespace === found.namespace);
      expect(row?.verdict, found.name).to.equal(found.verdict);
      expect(row?.cause ?? undefined, found.name).to.deep.equal(found.causes[0]);
      expect(row?.alsoFound).to.deep.equal(found.causes.slice(1).map(({ reason }) => reason));
      if (row !== undefined && row.inZoneShare !== null) close(row.inZoneShare, found.effective.inZoneShare ?? NaN);
    }
  });
});

describe('audit: the sum', () => {
  // Four endpoints that keep everything, two that let two thirds cross.
  const objects = [
    ...NODES,
    ...pair('kept', ['eu-1a', 'eu-1b', 'eu-1c', 'eu-1c'], { hinted: true }),
    ...pair('lost', ['eu-1a', 'eu-1b']),
  ];

  it('weighs Services by their ready endpoints', () => {
    const { sum, services } = auditOf(objects);
    expect([sum.services, sum.endpoints, sum.nodes]).to.deep.equal([2, 6, 3]);
    expect(sum.verdicts).to.deep.equal({ Effective: 1, Assumed: 0, Unknown: 0, NotWanted: 0, Ineffective: 1 });
    close(sum.crossZoneShare, (2 / 6) * (2 / 3));
    close(sum.saving?.routing, (2 / 6) * (1 / 3));
    close(sum.saving?.endpoints, (2 / 6) * (1 / 3));
    expect(services.map(({ name }) => name)).to.deep.equal(['lost', 'kept']);
  });

  it('has a matrix of all connections, every zone in rows and columns', () => {
    const { matrix } = auditOf(objects);
    expect(Object.keys(matrix)).to.deep.equal(['eu-1a', 'eu-1b', 'eu-1c']);
    close(matrix['eu-1a']?.['eu-1a'], (4 / 6) * (1 / 3) + (2 / 6) * (1 / 6));
    close(matrix['eu-1c']?.['eu-1b'], (2 / 6) * (1 / 6));
    expect(matrix['eu-1a']?.['eu-1c']).to.equal(0);
  });

  it('groups by first cause: what fails, what costs, what routing by zone cannot save', () => {
    const { causes } = auditOf([
      ...objects,
      ...pair('third', ['eu-1a'], { hinted: true }),
      ...pair('fourth', ['eu-1a', 'eu-1b', 'eu-1c'], { spec: { trafficDistribution: undefined } as never }),
    ]);
    expect(causes.map(({ group, reason, services }) => [group, reason, services])).to.deep.equal([
      ['Fails', 'HintsNotWritten', 1],
      ['Costs', 'NotRequested', 1],
      ['NotSavable', 'SingleEndpoint', 1],
    ]);
    expect(causes.every(({ remedy }) => remedy !== '')).to.equal(true);
  });

  it('takes one namespace only where asked', () => {
    const other = service({ metadata: { name: 'other', namespace: 'shop' } });
    const report = auditOf([...objects, other], { namespace: 'shop' });
    expect(report.services.map(({ name }) => name)).to.deep.equal(['other']);
    expect(report.namespace).to.equal('shop');
  });

  it('of nothing at all is nothing', () => {
    const { sum, services, matrix, causes } = auditOf(NODES);
    expect([services, causes, matrix, sum.inZoneShare, sum.crossZoneShare]).to.deep.equal([[], [], {}, null, null]);
  });
});

describe('audit: money', () => {
  const bill = { tariff: tariffOf(BUILT_IN_PRICES.aws, NODES), gigabytesPerDay: 300 };
  const days = 365 / 12;

  it('divides the bytes by ready endpoints, and bills what crosses at both ends', () => {
    const report = auditOf(
      [
        ...NODES,
        ...pair('kept', ['eu-1a', 'eu-1b', 'eu-1c'], { hinted: true }),
        ...pair('lost', ['eu-1a', 'eu-1b', 'eu-1c']),
      ],
      { bill },
    );
    close(named(report, 'kept').monthlyCost?.current, 0);
    close(named(report, 'lost').monthlyCost?.current, 150 * (2 / 3) * 0.02 * days);
    close(named(report, 'lost').monthlyCost?.saving?.routing, 150 * (2 / 3) * 0.02 * days);
    close(report.sum.monthlyCost?.current, 150 * (2 / 3) * 0.02 * days);
    close(report.causes[0]?.monthlyCost?.saving?.routing, 150 * (2 / 3) * 0.02 * days);
    expect(report.prices).to.include({ currency: 'USD', gigabytesPerDay: 300 });
  });

  it('is nowhere where no bytes are given', () => {
    expect(JSON.stringify(auditOf([...NODES, ...pair('web', ['eu-1a'])]))).not.to.match(/monthlyCost|prices|USD/);
  });
});

describe('audit: of the whole cluster', () => {
  it('a Node without zone, although all slices are hinted', () => {
    const objects = [...NODES, node({ zone: '', metadata: { name: 'bare' } })];
    const { findings } = auditOf([...objects, ...pair('web', ['eu-1a', 'eu-1b', 'eu-1c'], { hinted: true })]);
    expect(findings[0]).to.include({ reason: 'ClientNodeWithoutZone', certainty: 'seen' });
    expect(findings[0]?.evidence).to.contain('1 of 4 ready Nodes without zone label: bare.');
  });

  it('endpoints that say another zone than their Node has', () => {
    const stray = slice({ endpoints: [endpoint({ zone: 'eu-1b', nodeName: 'node-eu-1a' }), endpoint()] });
    const { cause } = auditOf([...NODES, service(), stray]).services[0] ?? {};
    expect(cause?.evidence).to.match(/endpoints in another zone than their Node: eu-1b on node-eu-1a\.$/);
  });

  it('a proxy that may have missed its zone: possible, for the versions that can', () => {
    const of = (kubeletVersion: string, options: Partial<AuditOptions> = {}) =>
      auditOf([node({ kubeletVersion }), ...pair('web', ['eu-1a'])], options).findings;
    expect(of('v1.34.1')).to.have.lengthOf(1);
    expect(of('v1.34.1')[0]).to.include({ reason: 'ProxyMissedItsZone', certainty: 'possible' });
    expect(of('v1.33.9')).to.deep.equal([]);
    expect(of('v1.34.1', { proxy: { kind: 'linkerd' } })).to.deep.equal([]);
    expect(of('v1.34.1', { version: { major: 1, minor: 33 } })).to.deep.equal([]);
  });

  it('workloads that watch endpoints: named where they receive traffic of others, else counted', () => {
    const rbac = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name: 'watch' } };
    const [near, ...accounts] = ['near', 'edge', 'dns'].map((name) => ({
      kind: 'ServiceAccount',
      namespace: 'default',
      name,
    }));
    const deployment = (name: string): object => ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name },
      spec: { template: { metadata: { labels: { app: name } }, spec: { serviceAccountName: name } } },
    });
    const objects: object[] = [
      { ...rbac, kind: 'ClusterRole', rules: [{ apiGroups: ['*'], resources: ['endpoints'], verbs: ['watch'] }] },
      { ...rbac, kind: 'ClusterRoleBinding', roleRef: { kind: 'ClusterRole', name: 'watch' }, subjects: accounts },
      {
        ...rbac,
        metadata: { name: 'near', namespace: 'shop' },
        kind: 'RoleBinding',
        roleRef: { kind: 'ClusterRole', name: 'watch' },
        subjects: [near],
      },
      ...['edge', 'dns', 'near'].map(deployment),
      service({ metadata: { name: 'edge' }, spec: { type: 'LoadBalancer', selector: { app: 'edge' } } }),
    ];
    const { findings, services } = auditOf([...(objects as KubernetesObject[]), ...pair('web', ['eu-1a'])]);
    const found = findings.find(({ reason }) => reason === 'EndpointWatchers');
    expect(found?.certainty).to.equal('possible');
    expect(found?.evidence).to.match(
      /^Deployment default\/edge may watch .* 1 other workload .*: Deployment default\/dns\. 1 workload may watch those of a namespace: Deployment default\/near\.$/,
    );
    expect(services.flatMap(({ bypasses }) => bypasses)).to.deep.equal([]);
  });
});

describe('audit: clients on a Node without zone', () => {
  it('are promised nothing: the other three quarters could stay, and no endpoint would help the last', () => {
    const objects = [...NODES, node({ zone: '', metadata: { name: 'bare' } })];
    const { services } = auditOf([...objects, ...pair('web', ['eu-1a', 'eu-1b', 'eu-1c'])]);
    close(services[0]?.inZoneShare ?? 0, 0.25);
    close(services[0]?.crossZoneShare ?? 0, 0.5);
    close(services[0]?.saving?.routing ?? 0, 0.5);
    expect(services[0]?.saving?.endpoints).to.equal(0);
  });
});

describe('audit: any cluster', () => {
  const zone = fc.constantFrom('a', 'b', 'c');
  const anyService = fc.record({
    zones: fc.array(zone, { maxLength: 6 }),
    hinted: fc.boolean(),
    spec: fc.constantFrom(
      {},
      { clusterIP: 'None' },
      { internalTrafficPolicy: 'Local' as const },
      { type: 'LoadBalancer' as const },
    ),
  });
  const anyCluster = fc.record({
    nodes: fc.array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 6 }),
    services: fc.array(anyService, { maxLength: 5 }),
  });

  it('conserves: what stays, what could stay and what needs endpoints is everything but what Nodes without zone send', () => {
    fc.assert(
      fc.property(anyCluster, ({ nodes, services }) => {
        const report = auditOf([
          ...nodes.map((own, index) => node({ zone: own, metadata: { name: `n${index}` } })),
          ...services.flatMap((own, index) => pair(`s${'x'.repeat(index)}`, own.zones, own)),
        ]);
        for (const { inZoneShare, saving, worstOverload } of report.services) {
          if (inZoneShare === null || saving === null) continue;
          const parts = inZoneShare + saving.routing + saving.endpoints;
          if (nodes.includes('')) expect(parts).to.be.at.most(1 + 1e-9);
          else close(parts, 1);
          for (const share of [inZoneShare, saving.routing, saving.endpoints]) expect(share).to.be.within(-1e-9, 1);
          expect(worstOverload).to.be.at.least(0);
        }
        const { inZoneShare, crossZoneShare, saving } = report.sum;
        if (inZoneShare === null || crossZoneShare === null || saving === null) return;
        if (!nodes.includes('')) close(saving.routing + saving.endpoints, crossZoneShare);
        const cells = Object.entries(report.matrix).flatMap(([from, row]) =>
          Object.entries(row).map(([to, share]) => ({
            way: from === '' || to === '' ? 'unknown' : from === to,
            share,
          })),
        );
        const sumOf = (way: boolean | 'unknown'): number =>
          cells.filter((cell) => cell.way === way).reduce((sum, { share }) => sum + share, 0);
        close(sumOf(true), inZoneShare);
        close(sumOf(false), crossZoneShare);
        close(inZoneShare + crossZoneShare + sumOf('unknown'), 1);
        const byCause = report.causes.reduce((sum, cause) => sum + (cause.crossZoneShare ?? 0), 0);
        close(byCause, crossZoneShare);
      }),
      { numRuns: upTo(300) },
    );
  });

  it('promises no saving where clients bypass the proxies, and says who does', () => {
    const web = [...NODES, ...pair('web', ['eu-1a', 'eu-1b', 'eu-1c'])];
    const ingress = {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'Ingress',
      metadata: { name: 'front', namespace: 'default' },
      spec: { ingressClassName: 'nginx', defaultBackend: { service: { name: 'web' } } },
    };
    const plain = auditOf(web);
    const behind = audit(snapshotOf(...web, ingress), OPTIONS);
    expect(plain.services[0]?.saving?.routing).to.be.greaterThan(0.5);
    expect([behind.services[0]?.saving, behind.services[0]?.bypasses]).to.deep.equal([null, ['ingress-nginx']]);
    expect(behind.services[0]?.group, 'whoever comes through the cluster IP still crosses').to.equal('Fails');
    expect([plain.sum.bypassed, behind.sum.bypassed]).to.deep.equal([{}, { 'ingress-nginx': 1 }]);
    expect([behind.sum.saving, behind.sum.promised, plain.sum.promised]).to.deep.equal([null, 0, 1]);
    expect(renderAudit(behind, { color: false, wide: false, columns: 100 })).to.contain('(ingress-nginx 1)');
    const kept = pair('web', ['eu-1a', 'eu-1b', 'eu-1c'], { hinted: true });
    const inPart = audit(snapshotOf(...NODES, ...kept, ingress), OPTIONS);
    expect([inPart.sum.verdicts.Effective, inPart.sum.effectiveInPart]).to.deep.equal([1, 1]);
    expect(inPart.services[0]?.scope.around.map(({ client }) => client)).to.deep.equal(['ingress-nginx']);
    const text = renderAudit(inPart, { color: false, columns: 100 });
    expect(text)
      .to.match(/ 3\/3\* /)
      .and.to.contain('1 effective (1 of them only through the cluster IP)');
    expect(renderAudit(auditOf([...NODES, ...kept]), { color: false, columns: 100 })).not.to.contain('*');
  });

  const measuredPast: readonly (readonly [string, boolean, number, readonly [part: number, number, RegExp]])[] = [
    ['all where nothing went past', false, 0, [1, 0, /would keep 67 % more\. (?!Of)/]],
    ['three quarters where one went past', false, 1, [0.75, 0, /keep 50 % more\. Of 1 Service that counts/]],
    ['nothing where all went past', false, Infinity, [0, 0, /would keep 0 % more\. Of 1 Service/]],
    ['nothing where it has its hints', true, 1, [0, 1, / 3\/3\* .*1 of them only through the cluster IP/]],
  ];
  for (const [name, hinted, past, [part, inPart, text]] of measuredPast) {
    it(`promises of what meters saw go through the cluster IP: ${name}`, () => {
      const web = {
        service: 'default/web',
        source: 'eu-1a',
        destination: 'eu-1b',
        requestBytes: 1e6,
        responseBytes: 1,
      };
      const flows = past === Infinity ? [] : [{ ...web, connections: 3 }];
      const direct = { nodes: 3, seconds: 600, flows: [{ ...web, connections: Math.min(past, 3) }] };
      const measured = { by: 'meters', seconds: 600, flows, notes: [] };
      const tariff = tariffOf(BUILT_IN_PRICES.aws, NODES);
      const objects = [...NODES, ...pair('web', ['eu-1a', 'eu-1b', 'eu-1c'], { hinted })];
      const report = auditOf(objects, { bill: { tariff, measured: { ...measured, direct } } });
      const { sum, services } = report;
      close(services[0]?.saving?.routing, (part * 2) / 3);
      close(sum.saving?.routing, (part * 2) / 3);
      expect([sum.promised, sum.promisedInPart, sum.effectiveInPart]).to.deep.equal([1, past > 0 ? 1 : 0, inPart]);
      // It is of the bytes through the cluster IP, whatever goes past it.
      const costs = auditOf(objects, { bill: { tariff, measured } }).services.map(({ monthlyCost }) => monthlyCost);
      expect(services.map(({ monthlyCost }) => monthlyCost)).to.deep.equal(costs);
      expect(renderAudit(report, { color: false, columns: 1_000 }).replaceAll(/\s+/g, ' ')).to.match(text);
    });
  }

  it('a sidecar elsewhere, and the annotation that GKE puts on every Service, take no saving from any', () => {
    const sidecar = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'one', namespace: 'mesh' },
      spec: { containers: [{ name: 'app' }, { name: 'istio-proxy' }] },
    };
    const [, endpoints] = pair('web', ['eu-1a', 'eu-1b', 'eu-1c']);
    const annotations = { 'cloud.google.com/neg': '{"ingress":true}' };
    const web = service({ metadata: { name: 'web', annotations } });
    const { services, sum } = audit(snapshotOf(...NODES, web, endpoints!, sidecar), OPTIONS);
    expect([services[0]?.group, services[0]?.bypasses, sum.promised]).to.deep.equal(['Costs', [], 1]);
  });
});

describe('audit: large clusters', () => {
  /** How often a field of a Service or Pod is read, by Service; each Service has a namespace of its own. */
  const readsOf = (count: number, type: string): number => {
    let reads = 0;
    const counted = <T extends object>(from: T): T =>
      new Proxy(from, { get: (own, key, self): unknown => ((reads += 1), Reflect.get(own, key, self)) });
    const objects = Array.from({ length: count }, (_, index) => {
      const [own, ofIt] = pair('web', ['eu-1a', 'eu-1b'], { spec: { type } });
      for (const each of [own, ofIt]) Object.assign(each?.metadata ?? {}, { namespace: `team-${index}` });
      const pods = ['a', 'b', 'c'].map((name) => ({ kind: 'Pod', metadata: { name, namespace: `team-${index}` } }));
      return [own!, ofIt!, ...pods];
    });
    const all = snapshotOf(...NODES, ...objects.flat());
    const pods = known(itemsOf(all.pods).map(counted));
    audit({ ...all, pods, services: known(itemsOf(all.services).map(counted)) }, OPTIONS);
    expect(itemsOf(pods)).to.have.length(3 * count);
    return reads / count;
  };

  for (const type of ['ClusterIP', 'LoadBalancer'])
    it(`a ${type} Service does not cost more where there are more of them`, () => {
      expect(readsOf(80, type)).to.be.at.most(1.5 * readsOf(20, type));
    });
});
