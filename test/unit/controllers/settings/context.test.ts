import { expect } from 'chai';
import { beforeEach, describe, it, afterEach } from 'mocha';
import type { Node } from '../../../../pkg/apis/core.ts';
import type { KubernetesObject } from '../../../../pkg/apis/meta.ts';
import type { SettingsCaches } from '../../../../pkg/controllers/settings/caches.ts';
import { type RoutingContext, createContext, hasOldKubelet } from '../../../../pkg/controllers/settings/context.ts';
import type { RouterObject } from '../../../../pkg/diagnosis/routers/types.ts';
import { kubeProxy, node, service } from '../../../fixtures/core.ts';
import { CILIUM, daemonSet, routerObjects } from '../../../fixtures/data-planes.ts';
import { settingsWatches } from '../../../../pkg/controllers/settings/watches.ts';
import { type FakeCache, fakeCache } from '../../../fixtures/fake-cache.ts';
import { cluster, etcd, extension, garden, namespace, seed } from '../../../fixtures/gardener.ts';
import { ANNOTATION_APPLIED, ANNOTATION_TOPOLOGY_MODE, GROUP, LABEL_STRATEGY } from '../../../../pkg/apis/names.ts';
import { decideRelease } from '../../../../pkg/controllers/settings/decide/modes.ts';
import { NS, context } from './support.ts';

describe('the context of decisions', () => {
  const countingCache = <T extends KubernetesObject>(initial: T[]) => {
    let objects = initial;
    let reads = 0;
    const handlers: (() => void)[] = [];
    return {
      list: () => {
        reads += 1;
        return objects;
      },
      onChange: (handler: () => void) => void handlers.push(handler),
      set: (next: T[]) => {
        objects = next;
        handlers.forEach((handler) => handler());
      },
      reads: () => reads,
    };
  };

  const caches = () => ({
    nodes: countingCache<Node>([node({ kubeletVersion: 'v1.31.0' })]),
    namespaces: { get: (): undefined => undefined },
  });
  let held: ReturnType<typeof caches>;
  let current: () => RoutingContext;
  let seen: readonly RouterObject[] | undefined;
  let told: () => void;
  beforeEach(() => {
    held = caches();
    told = () => undefined;
    seen = undefined;
    const routers = { objects: () => seen, onChange: (callback: () => void) => void (told = callback) };
    current = createContext(held as unknown as SettingsCaches, { current: { major: 1, minor: 34 } }, routers);
  });

  const CLOSE_ONLY = daemonSet('cilium', 'quay.io/cilium/cilium:v1.18.3', CILIUM);
  const planes = [
    ['nothing read yet', undefined, undefined],
    ['kube-proxy', [kubeProxy()], false],
    ['Cilium 1.17', [daemonSet('cilium', 'cilium:v1.17.9', CILIUM)], false],
    ['Cilium 1.18', [kubeProxy(), CLOSE_ONLY], true],
    ['Cilium 1.19', [daemonSet('cilium', 'cilium:v1.19.0', CILIUM)], true],
    ['Cilium 1.20', [daemonSet('cilium', 'cilium:v1.20.0', CILIUM)], false],
    ['Cilium of an image without version', [daemonSet('cilium', 'cilium:latest', CILIUM)], false],
    ['another image of that version', [daemonSet('logs', 'fluent:v1.18.3')], false],
  ] as const;
  for (const [name, objects, older] of planes) {
    it(`${name}: ${older === undefined ? 'nothing known' : older ? 'the older name of the value' : 'its newest name'}`, () => {
      seen = objects === undefined ? undefined : routerObjects(...objects);
      expect(current().olderName).to.equal(older);
    });
  }

  it('follows a change of the data plane', () => {
    seen = routerObjects(CLOSE_ONLY);
    expect(current().olderName).to.equal(true);
    seen = routerObjects(kubeProxy());
    told();
    expect(current().olderName).to.equal(false);
  });

  const kubelets = [
    ['new', ['v1.31.0', 'v1.36.1-gke.5'], false],
    ['one old', ['v1.36.0', 'v1.30.14'], true],
    ['unreadable', ['', 'what'], false],
    ['no', [], undefined],
  ] as const;
  for (const [name, versions, old] of kubelets) {
    it(`${name} kubelets: ${old === undefined ? 'nothing known' : old ? 'annotation needed' : 'no annotation'}`, () => {
      const nodes = countingCache<Node>(versions.map((kubeletVersion) => node({ kubeletVersion })));
      expect(hasOldKubelet({ nodes } as unknown as SettingsCaches)).to.equal(old);
    });
  }
});

const NAMES = ['namespaces', 'services', 'nodes', 'etcds', 'clusters', 'liveSeed', 'gardens', 'extensions'] as const;

describe('what a change concerns', () => {
  let caches: Record<(typeof NAMES)[number], FakeCache<KubernetesObject>>;
  let seen: string[];
  let stop: AbortController;
  beforeEach(() => {
    seen = [];
    stop = new AbortController();
    caches = Object.fromEntries(NAMES.map((name) => [name, fakeCache()])) as typeof caches;
    const watches = settingsWatches(caches as unknown as SettingsCaches, (owners) => [
      owners === undefined ? '*' : owners.join('+'),
    ]);
    for (const watch of watches) watch.start((key) => seen.push(key), stop.signal);
  });
  afterEach(() => stop.abort());

  const ofClass = (name?: string, status: object = {}): KubernetesObject => {
    const read = { reading: { kind: 'absent' }, status };
    return {
      ...extension(name === undefined ? {} : { spec: { type: 'topology-aware-routing', class: name } }),
      ...read,
    };
  };

  const cases: readonly (readonly [name: string, emit: () => void, enqueued: string[]])[] = [
    ["a Shoot's Extension", () => caches.extensions.change(ofClass()), ['shoot--foo--bar']],
    ["a seed's Extension", () => caches.extensions.change(ofClass('seed')), ['extension-settings']],
    ["a garden's Extension", () => caches.extensions.change(ofClass('garden')), ['garden-settings']],
    ['an Extension of others', () => caches.extensions.change(extension()), []],
    [
      'only the status of an Extension',
      () => caches.extensions.change(ofClass(undefined, { observedGeneration: 2 }), ofClass()),
      [],
    ],
    [
      'an Extension that leaves',
      () => {
        const leaving = { ...ofClass(), metadata: { ...ofClass().metadata, deletionTimestamp: 'now' } };
        caches.extensions.change(leaving, ofClass());
      },
      ['shoot--foo--bar'],
    ],
    ['an Extension that is gone', () => caches.extensions.change(ofClass(), ofClass(), true), ['shoot--foo--bar']],
    ['a Service', () => caches.services.change(service()), ['default']],
    ['an Etcd', () => caches.etcds.change(etcd()), ['shoot--foo--bar']],
    ['a Namespace', () => caches.namespaces.change(namespace()), ['shoot--foo--bar']],
    ['a Garden', () => caches.gardens.change(garden()), ['garden-settings']],
    ['the live Seed', () => caches.liveSeed.change(seed()), ['shoot-settings+extension-settings']],
    [
      'a Cluster, whose Seed counts for extensions',
      () => caches.clusters.change(cluster()),
      ['shoot--foo--bar', 'extension-settings'],
    ],
    ['a Node', () => caches.nodes.change(node()), ['*']],
  ];
  for (const [name, emit, enqueued] of cases) {
    it(`${name} leads to ${enqueued.join(' and ')}`, () => {
      emit();
      expect(seen).to.deep.equal(enqueued);
    });
  }

  const nodeChanges = [
    ['readiness', node({ status: { conditions: [{ type: 'Ready', status: 'False' }] } }), ['*']],
    ['zone', node({ metadata: { name: 'node-eu-1a' }, zone: 'eu-1b' }), ['*']],
    ['kubelet', node({ kubeletVersion: 'v1.30.0' }), ['*']],
    ['annotations', node({ metadata: { annotations: { x: 'y' } } }), []],
  ] as const;
  for (const [name, next, enqueued] of nodeChanges) {
    it(`a Node's new ${name} ${enqueued.length > 0 ? 'concerns all' : 'concerns no Service'}`, () => {
      caches.nodes.change(next, node());
      expect(seen).to.deep.equal(enqueued);
    });
  }
});

const FIELD = { trafficDistribution: 'PreferSameZone' };
const APPLIED = { annotations: { [ANNOTATION_APPLIED]: JSON.stringify(FIELD) } };
const of = (name: string) => ({ name, namespace: NS });

describe('decideRelease', () => {
  const snapshot = {
    namespace: NS,
    labelled: false,
    services: [
      service({ metadata: { ...of('routed'), ...APPLIED }, spec: FIELD }),
      service({ metadata: of('bare'), spec: FIELD }),
    ],
    // The version does not matter for a release.
    context: context({ version: undefined }),
  };
  const decision = decideRelease(snapshot)!;

  it("reverts what carries this project's settings, regardless of their writer, and nothing else", () => {
    expect(decision.objects.map(({ kind, ref }) => `${kind}/${ref.name}`)).to.deep.equal(['Service/routed']);
    expect(decision.objects.map(({ plan }) => plan.kind === 'patch' && plan.patch)).to.deep.equal([
      { spec: { trafficDistribution: null }, metadata: { annotations: { [ANNOTATION_APPLIED]: null } } },
    ]);
  });

  const planned = {
    metadata: {
      ...of('planned'),
      labels: { [LABEL_STRATEGY]: 'load-aware' },
      annotations: {
        [ANNOTATION_TOPOLOGY_MODE]: `${GROUP}/load-aware`,
        [ANNOTATION_APPLIED]: JSON.stringify({ labels: { [LABEL_STRATEGY]: 'load-aware' } }),
      },
    },
  };
  for (const { name, labelled = false, services = [], left } of [
    { name: 'nothing of ours', left: undefined },
    { name: 'our label alone', labelled: true, left: 0 },
    { name: 'a strategy label that admission keeps', services: [service(planned)], left: undefined },
  ])
    it(`finds ${left === undefined ? 'nothing' : 'something'} to release where there is ${name}`, () =>
      expect(decideRelease({ ...snapshot, labelled, services })?.objects.length).to.equal(left));
});
