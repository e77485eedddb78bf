// An API that lies: empty answers, refusals, garbage, lists without most objects. Controllers take nothing away for it, neither while it
// lasts nor in a process that starts under it, and go on where they were.
import { expect } from 'chai';
import { afterEach, describe, it } from 'mocha';
import type { FlowPolicy } from '../../pkg/apis/flow-policy.ts';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { LABEL_MANAGED, LABEL_STRATEGY } from '../../pkg/apis/names.ts';
import {
  CLUSTERS,
  ENDPOINT_SLICES,
  ETCDS,
  FLOW_POLICIES,
  GARDENS,
  NAMESPACES,
  NODES,
  PODS,
  SERVICES,
  apiVersionOf,
} from '../../pkg/apis/resources.ts';
import type { Resource } from '../../pkg/apis/resources.ts';
import { node, service } from '../fixtures/core.ts';
import { cluster, etcd, garden, namespace, seed } from '../fixtures/gardener.ts';
import type { Fault, Sandbox, SandboxRequest } from '../sandbox/types.ts';
import { inFull } from '../support/depth.ts';
import { type ControllerBed, type Serving, eventually } from './controller-bed.ts';
import { NAMESPACE, flowNode, flowPod, flowPolicy, flowService, openFlowBed } from './flow-support.ts';
import { openBed } from './settings-support.ts';

const WATCHED = [NAMESPACES, SERVICES, NODES, ENDPOINT_SLICES, PODS, ETCDS, CLUSTERS, GARDENS, FLOW_POLICIES];
const MINUTE_MS = 60_000;
/** Longer than what is waited for before something is believed, or reverted. */
const LIES_MINUTES = 7;
/** Twice a minute, and more often at first; without a wait it would be thousands. */
const MOST_LISTS = 30;

/** A controller at work. */
interface Case {
  readonly bed: Pick<ControllerBed, 'clock' | 'close' | 'quiet' | 'sandbox' | 'until'>;
  readonly first: Serving;
  start(): Promise<Serving>;
  /** Changes nothing, but the controller hears of it where it can, and decides anew. */
  touch(): Promise<unknown>;
  /** Its source asks for nothing any more. */
  switchOff(): Promise<unknown>;
  /** Whether what it keeps is there. */
  on(): boolean;
  writes(): SandboxRequest[];
}

interface Controller {
  readonly name: string;
  open(): Promise<Case>;
}

interface Settings {
  readonly mode: string;
  readonly namespace: string;
  /** Its Service that has settings. */
  readonly service: string;
  /** Its other Services, and where the setting is read from. */
  readonly beside: readonly KubernetesObject[];
  /** The same source without the setting. */
  readonly off: KubernetesObject;
}

const managed = (value: string, ns: string, name: string) =>
  service({ metadata: { name, namespace: ns, labels: { [LABEL_MANAGED]: value } } });

const settingsIn = ({ mode, namespace: ns, service: name, beside, off }: Settings): Controller => ({
  name: `the settings-reconciler in mode ${mode}`,
  async open() {
    const bed = await openBed();
    const config = `modes: {${mode}: {}}`;
    const on = (): boolean => bed.service(ns, name).spec?.trafficDistribution === 'PreferSameZone';
    await bed.apply(...['a', 'b', 'c'].map((zone) => node({ zone })), ...beside, managed('true', ns, name));
    const first = await bed.start(config);
    await eventually(() => expect(on()).to.equal(true));
    await bed.quiet();
    return {
      bed,
      first,
      on,
      start: () => bed.start(config),
      touch: () => bed.apply(managed('false', ns, 'touched')),
      switchOff: () => bed.apply(off),
      writes: () => bed.writes().filter(({ resource }) => resource !== 'events'),
    };
  },
});

/** Only together do they say that the first is to be left alone. */
const behindLayerSeven = (name: string, ns: string): KubernetesObject[] =>
  [name, `${name}-mtls`].map((one) => service({ metadata: { name: one, namespace: ns } }));

const SETTINGS: readonly Settings[] = [
  {
    mode: 'garden',
    namespace: 'garden',
    service: 'x',
    beside: [
      namespace({ role: 'garden' }),
      garden(),
      etcd({ metadata: { name: 'virtual-garden-etcd-main', namespace: 'garden' } }),
      ...behindLayerSeven('virtual-garden-kube-apiserver', 'garden'),
    ],
    off: garden({ enabled: false }),
  },
  {
    mode: 'seed',
    namespace: 'shoot--foo--bar',
    service: 'vpa-webhook',
    beside: [namespace(), cluster(), etcd(), ...behindLayerSeven('kube-apiserver', 'shoot--foo--bar')],
    off: cluster({ spec: { seed: seed({ enabled: false }) } }),
  },
  { mode: 'cluster', namespace: 'default', service: 'plain', beside: [], off: managed('false', 'default', 'plain') },
];

const FLOW = 'namespaceSelector: {matchLabels: {loop: mine}}';
const ASKS = { [LABEL_STRATEGY]: 'load-aware' };
/** More than the one core of zone a, so that the plan is not the one that is made without knowledge. */
const DEMAND = { a: 1.1, b: 0.1, c: 0.1 };

const flow: Controller = {
  name: 'the flow-controller',
  async open() {
    const bed = await openFlowBed();
    bed.plant.demand = DEMAND;
    await bed.apply(
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE, labels: { loop: 'mine' } } },
      ...Object.keys(DEMAND).flatMap((zone) => [flowNode(zone), flowPod(`web-${zone}`, zone)]),
      flowPolicy({ upDwell: '1s', planInterval: '1s' }),
      flowService({ labels: ASKS }),
    );
    const on = (): boolean => /a/.test(`${bed.hints('web')['web-b']}${bed.hints('web')['web-c']}`);
    const first = await bed.start(FLOW);
    await bed.until(() => expect(on()).to.equal(true));
    await bed.until(() => expect(bed.conditions('web')['Effective']).to.equal('True/PlanInForce'));
    return {
      bed,
      first,
      on,
      start: () => bed.start(FLOW),
      touch: () => bed.apply(flowService({ labels: ASKS, annotations: { touched: 'yes' } })),
      switchOff: () => bed.apply(flowService()),
      writes: () => bed.writes().filter(({ resource }) => resource !== FLOW_POLICIES.plural),
    };
  },
};

const CONTROLLERS: readonly Controller[] = [...SETTINGS.map(settingsIn), flow];

const newestOf = (sandbox: Sandbox): number =>
  Math.max(
    ...WATCHED.flatMap((resource) => sandbox.list(resource).map(({ metadata }) => Number(metadata?.resourceVersion))),
  );

const listOf = (sandbox: Sandbox, resource: Resource, items: readonly KubernetesObject[]): string =>
  JSON.stringify({
    kind: `${resource.kind}List`,
    apiVersion: apiVersionOf(resource),
    metadata: { resourceVersion: `${newestOf(sandbox)}` },
    items,
  });

const everyList = (text: string): Fault[] => [{ kind: 'answer', match: { verb: 'list' }, text }];
const refused = (...resources: readonly Resource[]): Fault[] =>
  resources.flatMap(({ plural }) =>
    ['list', 'watch'].map((verb): Fault => ({ kind: 'status', code: 403, match: { verb, resource: plural } })),
  );
/** What a watch says before it ends with the word that the version is gone. */
const eventAnd410 = (sandbox: Sandbox, resource: Resource): Fault => {
  const [known] = sandbox.list(resource);
  const mark = { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata: { resourceVersion: '1' } };
  const event = known === undefined ? { type: 'BOOKMARK', object: mark } : { type: 'MODIFIED', object: known };
  const status = { apiVersion: 'v1', kind: 'Status', status: 'Failure', code: 410, reason: 'Expired' };
  const text = `${JSON.stringify(event)}\n${JSON.stringify({ type: 'ERROR', object: status })}\n`;
  return { kind: 'answer', match: { verb: 'watch', resource: resource.plural }, text };
};

/** A well-formed list with no more than the first object of each resource that has several; `times`: so many lists. */
const poorLists = (sandbox: Sandbox, most: 0 | 1, times?: number): Fault[] =>
  WATCHED.map((resource) => {
    const text = listOf(sandbox, resource, sandbox.list(resource).slice(0, most));
    return { kind: 'answer', match: { verb: 'list', resource: resource.plural }, text, ...(times && { times }) };
  });

const SECRETS = '{"kind":"SecretList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[]}';

const LIES: readonly { name: string; of(sandbox: Sandbox): Fault[] }[] = [
  { name: 'every list answers 200 {}', of: () => everyList('{}') },
  { name: 'Nodes are refused', of: () => refused(NODES) },
  { name: 'each watch is an event and 410', of: (all) => WATCHED.map((resource) => eventAnd410(all, resource)) },
  { name: 'one list of each resource has lost most objects', of: (all) => poorLists(all, 1, 1) },
  ...inFull(
    [
      { name: 'every list is a page of HTML', of: () => everyList('<html>sign in</html>') },
      { name: 'every list ends in the middle', of: () => everyList('{"kind":"NodeList","items":[{"me') },
      { name: 'every list is one of another kind', of: () => everyList(SECRETS) },
      { name: 'Namespaces are refused', of: () => refused(NAMESPACES) },
      { name: 'everything is refused', of: () => refused(...WATCHED) },
      { name: 'every list is empty, and well-formed', of: (all: Sandbox) => poorLists(all, 0) },
    ],
    [],
  ),
];

/** Content of all that a lie could take away, a line an object; of a FlowPolicy its spec and its plan. */
const stateOf = (sandbox: Sandbox): string[] =>
  WATCHED.flatMap((resource) =>
    sandbox.list<KubernetesObject & Partial<FlowPolicy>>(resource).map((object) => {
      const { kind, metadata, spec, status } = object;
      return JSON.stringify(resource === FLOW_POLICIES ? [kind, metadata?.name, spec, status?.plan] : object);
    }),
  );

describe('controllers under an API that lies', function onSandbox() {
  this.timeout(30_000);
  let at: Case | undefined;
  afterEach(() => at?.bed.close());

  const pass = async ({ quiet, clock }: Case['bed'], minutes: number): Promise<void> => {
    for (let minute = 0; minute < minutes; minute += 1) {
      await quiet();
      clock.skip(MINUTE_MS);
    }
    await quiet();
  };

  for (const { name, open } of CONTROLLERS) {
    for (const lie of LIES) {
      it(`${name} takes nothing away while ${lie.name}`, async () => {
        at = await open();
        const { bed, first, start, touch, switchOff, on, writes } = at;
        const { sandbox } = bed;
        sandbox.clearRequests();
        for (const fault of lie.of(sandbox)) sandbox.addFault(fault);
        sandbox.compact();
        sandbox.cutWatches('410');
        await touch();
        await sandbox.settled();
        const before = stateOf(sandbox);
        const expectUndisturbed = (when: string): void => {
          expect(
            writes().map(({ verb, path }) => `${verb} ${path}`),
            `writes ${when}`,
          ).to.deep.equal([]);
          expect(stateOf(sandbox), `state ${when}`).to.deep.equal(before);
        };

        await pass(bed, LIES_MINUTES);
        expectUndisturbed('of a process that knows what was there');
        for (const { plural } of WATCHED) {
          const lists = sandbox.requests.filter(({ verb, resource }) => verb === 'list' && resource === plural);
          expect(lists.length, `lists of ${plural}`).to.be.at.most(MOST_LISTS);
        }

        await first.stop();
        const starting = start();
        await pass(bed, LIES_MINUTES);
        expectUndisturbed('of a process that starts under it');

        sandbox.clearFaults();
        await pass(bed, 2);
        await starting;
        await pass(bed, 2);
        expectUndisturbed('afterwards');
        await switchOff();
        await bed.until(() => expect(on(), 'follows its source again').to.equal(false));
      });
    }
  }
});
