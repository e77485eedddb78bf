// Workloads that are suspected by what they may do: they watch endpoints everywhere and receive traffic of others.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { KubernetesObject } from '../../../../pkg/apis/meta.ts';
import { bypassIndex } from '../../../../pkg/diagnosis/bypasses/bypass-index.ts';
import { bypassesOf } from '../../../../pkg/diagnosis/bypasses/find.ts';
import { unseenWatchers } from '../../../../pkg/diagnosis/bypasses/watchers.ts';
import { type ClusterSnapshot, unknown } from '../../../../pkg/diagnosis/snapshot.ts';
import { service } from '../../../fixtures/core.ts';
import { snapshotOf } from '../../../fixtures/snapshot.ts';

type Extra = KubernetesObject & { readonly [field: string]: unknown };

const edge = (image = 'own/edge:1.0', serviceAccountName = 'edge', args: readonly string[] = []): Extra => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'edge', namespace: 'infra' },
  spec: {
    template: {
      metadata: { labels: { app: 'edge' } },
      spec: { serviceAccountName, containers: [{ name: 'edge', image, args }] },
    },
  },
});
const pod: Extra = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'edge', namespace: 'infra', labels: { app: 'edge' } },
  spec: { serviceAccountName: 'edge', containers: [{ name: 'edge', image: 'own/edge:1.0' }] },
};
const entrance = (type: string): KubernetesObject =>
  service({ metadata: { name: 'edge', namespace: 'infra' }, spec: { type, selector: { app: 'edge' } } });
const OF_GKE = { name: 'default-http-backend', namespace: 'kube-system' };
const NOT_FOUND = [
  { ...edge(), metadata: OF_GKE },
  { ...entrance('NodePort'), metadata: OF_GKE },
];
const RBAC = 'rbac.authorization.k8s.io';
const ofRbac = (kind: string, metadata: object, more: object): Extra => ({
  apiVersion: `${RBAC}/v1`,
  kind,
  metadata: { name: 'edge', ...metadata },
  ...more,
});
const bound = (of: string, subject: object) => ({
  roleRef: { apiGroup: RBAC, kind: of, name: 'edge' },
  subjects: [subject],
});
const role = (rule: object) => ofRbac('ClusterRole', {}, { rules: [rule] });
const EDGE = { kind: 'ServiceAccount', namespace: 'infra', name: 'edge' };
/** Of the namespace of a Service; `of`: of a Role there, or of the ClusterRole. */
const bindingIn = (namespace: string, of = 'Role', subject: object = EDGE) =>
  ofRbac('RoleBinding', { namespace }, bound(of, subject));
const roleIn = (namespace: string, more: object = {}, ...rules: readonly object[]) => {
  const first = { apiGroups: [''], resources: ['endpoints'], verbs: ['watch'], ...more };
  return ofRbac('Role', { namespace }, { rules: [first, ...rules] });
};
const binding = (subject: object) => ofRbac('ClusterRoleBinding', {}, bound('ClusterRole', subject));

const CILIUM = { kind: 'DaemonSet', metadata: { name: 'cilium', namespace: 'infra' } };
const AGENT: Extra = { ...edge('quay.io/cilium/cilium:v1.18.0'), ...CILIUM };
const WATCH = { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['get', 'watch'] };
const SLICES = role(WATCH);
const AGGREGATED: Extra = { ...SLICES, aggregationRule: {} };
const rule = (group: string, resource: string, verb: string): Extra =>
  role({ apiGroups: [group], resources: [resource], verbs: [verb] });
const ENDPOINTS = role({ apiGroups: [''], resources: ['pods', 'endpoints'], verbs: ['list'] });
const OWN = { apiGroups: ['getambassador.io'], resources: ['*'], verbs: ['*'] };
const EVERYTHING = role({ apiGroups: ['*'], resources: ['*'], verbs: ['*'] });
const ACCOUNT = binding(EDGE);
const ALL = { kind: 'Group', name: 'system:authenticated' };
const group = (name: string): Extra => binding({ kind: 'Group', name: `system:serviceaccounts${name}` });
const user = (name: string): Extra => binding({ kind: 'User', name: `system:${name}` });
const LB = entrance('LoadBalancer');
/** What the workload behind the load balancer may do. */
const may = (...rights: readonly KubernetesObject[]): KubernetesObject[] => [edge(), LB, ...rights];
const web = service({ metadata: { name: 'web', namespace: 'shop' }, spec: { selector: { app: 'web' } } });

const MAPPING: Extra = {
  apiVersion: 'getambassador.io/v3alpha1',
  kind: 'Mapping',
  metadata: { name: 'other', namespace: 'shop' },
  spec: { service: 'other' },
};
const PODS = roleIn('shop', { resources: ['pods', 'services'] }, { resources: ['leases'], verbs: ['update'] });
const OPERATOR = roleIn(
  'shop',
  { resources: ['pods', 'services'] },
  { resources: ['statefulsets'], verbs: ['create'] },
);

describe('workloads that may go around the proxies', () => {
  const cases: readonly (readonly [string, readonly KubernetesObject[], string | undefined])[] = [
    ['watches slices behind a LoadBalancer', [edge(), LB, SLICES, ACCOUNT], 'EndpointSlices'],
    ['watches Endpoints behind node ports', [edge(), entrance('NodePort'), ENDPOINTS, ACCOUNT], 'Endpoints'],
    ['is a proxy that may do everything', [edge('ambassador:1.14'), LB, EVERYTHING, ACCOUNT], 'EndpointSlices'],
    ['may do everything, as administrators', [edge(), LB, EVERYTHING, ACCOUNT], undefined],
    ['is a DaemonSet', [{ ...edge(), kind: 'DaemonSet' }, LB, SLICES, ACCOUNT], 'EndpointSlices'],
    ['is a data plane', [AGENT, LB, SLICES, ACCOUNT], undefined],
    ['is known by its Pods only', [pod, LB, SLICES, ACCOUNT], 'EndpointSlices'],
    ['is a proxy by its image', [edge('docker.io/datawire/ambassador:1.14'), SLICES, ACCOUNT], 'EndpointSlices'],
    ['has the right by its namespace', may(SLICES, group(':infra')), 'EndpointSlices'],
    ['has that of another namespace', may(SLICES, group(':shop')), undefined],
    ['has the right of all ServiceAccounts', may(SLICES, group('')), 'EndpointSlices'],
    ['has the right of all who authenticate', may(SLICES, binding(ALL)), 'EndpointSlices'],
    ['has the right as a user', may(SLICES, user('serviceaccount:infra:edge')), 'EndpointSlices'],
    ['has the right of a user with the name of a group', may(SLICES, user('authenticated')), undefined],
    ['has an aggregated role, filled in', may(AGGREGATED, ACCOUNT), 'EndpointSlices'],
    ['watches the whole group of slices', may(rule('discovery.k8s.io', '*', '*'), ACCOUNT), 'EndpointSlices'],
    ['watches slices of any group', may(rule('*', 'endpointslices', '*'), ACCOUNT), 'EndpointSlices'],
    ['watches one slice by its name', may(role({ ...WATCH, resourceNames: ['web'] }), ACCOUNT), undefined],
    [
      'is a proxy whose routes are read',
      [edge('registry.k8s.io/ingress-nginx/controller:v1.13'), LB, SLICES, ACCOUNT],
      undefined,
    ],
    ['is Emissary with Mappings', [edge('emissary:3.9'), LB, SLICES, ACCOUNT, MAPPING], undefined],
    ['receives traffic inside only', [edge(), entrance('ClusterIP'), SLICES, ACCOUNT], undefined],
    ['may only get one', may(rule('*', '*', 'get'), ACCOUNT), undefined],
    ['watches other objects', may(rule('', 'pods', 'watch'), ACCOUNT), undefined],
    ['watches the namespace by a Role', [edge(), LB, roleIn('shop'), bindingIn('shop')], 'Endpoints'],
    ['watches Pods and Services of the namespace', [edge(), PODS, bindingIn('shop')], 'Pods'],
    ['watches its Pods alone', [edge(), roleIn('shop', { resources: ['pods'] }), bindingIn('shop')], undefined],
    ['writes what it watches, as operators', [edge(), OPERATOR, bindingIn('shop')], undefined],
    ['watches it by a ClusterRole', [edge(), LB, SLICES, bindingIn('shop', 'ClusterRole')], 'EndpointSlices'],
    ['watches it as all do, and receives', may(roleIn('shop'), bindingIn('shop', 'Role', ALL)), 'Endpoints'],
    ['watches it as all do, for itself', [edge(), roleIn('shop'), bindingIn('shop', 'Role', ALL)], undefined],
    ['watches it, and writes its own objects', [edge(), roleIn('shop', {}, OWN), bindingIn('shop')], 'Endpoints'],
    ['watches it, and writes Endpoints', [edge(), roleIn('shop', { verbs: ['*'] }), bindingIn('shop')], undefined],
    ['watches another namespace', [edge(), LB, roleIn('infra'), bindingIn('infra')], undefined],
    ['is bound to a Role of another namespace', [edge(), LB, roleIn('infra'), bindingIn('shop')], undefined],
    [
      'watches the lock of a leader election only',
      [edge(), LB, roleIn('shop', { resourceNames: ['leader'] }), bindingIn('shop')],
      undefined,
    ],
    ['has another ServiceAccount', [edge('own/edge:1.0', 'other'), LB, SLICES, ACCOUNT], undefined],
  ];
  for (const [name, objects, watches] of cases) {
    it(`${watches === undefined ? 'none' : 'one'} that ${name}`, () => {
      const found = bypassesOf(web, bypassIndex(snapshotOf(web, ...objects)));
      expect(found.map((each) => [each.client, each.possible, 'watches' in each && each.watches])).to.deep.equal(
        watches === undefined ? [] : [['edge', true, watches]],
      );
    });
  }

  const GET = roleIn('shop', { verbs: ['get'] });
  const LIST = roleIn('shop', { resources: ['pods'], verbs: ['list', 'patch'] });
  const named: readonly (readonly [string, Extra, string[], boolean])[] = [
    ['gets endpoints of the Service that it names', GET, ['--to=web.shop'], true],
    ['gets endpoints, and names another', GET, ['--to=db.shop'], false],
    ['lists Pods by labels that those of the Service have', LIST, ['--k8s-label-selector', 'tier=a,app=web'], true],
    ['lists Pods by other labels', LIST, ['--selector=tier=a,app=db'], false],
    ['lists Pods, and names the Service', LIST, ['--to=web.shop'], false],
  ];
  const ofWeb = { ...edge(), metadata: { name: 'web', namespace: 'shop' } };
  const labels = { app: 'web', tier: 'a' };
  for (const [name, right, args, is] of named)
    it(`${is ? 'one' : 'none'} that ${name}`, () => {
      const pods = { ...ofWeb, spec: { template: { metadata: { labels }, spec: { serviceAccountName: 'web' } } } };
      const shown = snapshotOf(web, pods, edge('own/edge:1.0', 'edge', args), right, bindingIn('shop'));
      expect(bypassesOf(web, bypassIndex(shown)).map(({ client }) => client)).to.deep.equal(is ? ['edge'] : []);
    });

  it('none of the Service whose Pods they are', () => {
    const own = entrance('LoadBalancer') as typeof web;
    expect(bypassesOf(own, bypassIndex(snapshotOf(own, edge(), SLICES, ACCOUNT)))).to.deep.equal([]);
  });

  const unseen: readonly (readonly [
    string,
    readonly KubernetesObject[],
    Partial<ClusterSnapshot>,
    readonly string[],
  ])[] = [
    ['nothing where all was read', [edge(), LB], {}, []],
    [
      'roles where something receives traffic of others',
      [edge(), LB],
      { clusterRoles: unknown('x') },
      ['clusterRoles'],
    ],
    ['nothing where nothing does', [edge()], { clusterRoles: unknown('x') }, []],
    ['nothing where the 404 server of GKE alone does', NOT_FOUND, { clusterRoles: unknown('x') }, []],
    ...['traefik:v3.5', 'nginx-ic/nginx-plus-ingress:3.4.0', 'istio/proxyv2:1.27.1'].map(
      (image) =>
        [
          `Ingresses where ${image} routes by them`,
          [edge(image), LB],
          { ingresses: unknown('x') },
          ['ingresses'],
        ] as const,
    ),
  ];
  for (const [name, objects, missing, expected] of unseen) {
    it(`misses ${name}`, () => {
      const snapshot = { ...snapshotOf(web, ...objects), ...missing };
      expect(unseenWatchers(snapshot, web, bypassIndex(snapshot).watchers)).to.deep.equal(expected);
    });
  }

  it('are those of a namespace, which a binding need not name, but for scrapers', () => {
    const subject = { kind: 'ServiceAccount', name: 'edge' };
    const nearOf = (image: string) => {
      const objects = [edge(image), roleIn('infra'), bindingIn('infra', 'Role', subject)];
      return bypassIndex(snapshotOf(web, ...objects))
        .watchers.near.get('infra')
        ?.map(({ runner }) => runner.name);
    };
    expect([nearOf('own/edge:1.0'), nearOf('prometheus:3')]).to.deep.equal([['edge'], undefined]);
  });

  it('counts those that receive nothing: clients in their own namespace where they may do nothing but look Services up', () => {
    const of = (right: Extra) => {
      const { others, near } = bypassIndex(snapshotOf(web, edge(), right, ACCOUNT)).watchers;
      return [others.map(({ runner }) => runner.name), [...near.keys()]];
    };
    expect(of(SLICES)).to.deep.equal([['edge'], ['infra']]);
    expect(of(role({ ...WATCH, resources: ['endpointslices', 'nodes'] }))).to.deep.equal([['edge'], []]);
  });
});
