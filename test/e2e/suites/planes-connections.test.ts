// Cilium itself, from Kubernetes objects to connections: its control plane, maps of the kernel and eBPF, beside `kubectl topology route`.
// Soak: its control plane takes a quarter of an hour to build.
// Needs: clang-19, bpftool
// Needs built: planes/cilium-1.19/repl
//
//   E2E_SEED=<number>  repeats the worlds of a run; it is printed
import { expect } from 'chai';
import fc from 'fast-check';
import { after, before, describe, it } from 'mocha';
import { type EndpointSlice, type Service, isEndpointReady, zoneOfNode } from '../../../pkg/apis/core.ts';
import { ANNOTATION_TOPOLOGY_MODE, GROUP, LABEL_SERVICE_NAME, LABEL_STRATEGY } from '../../../pkg/apis/names.ts';
import { ENDPOINT_SLICES, ZONE_EVACUATIONS } from '../../../pkg/apis/resources.ts';
import type { RoutesReport } from '../../../pkg/diagnosis/models/routes.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { CILIUM, configMap, daemonSet } from '../../fixtures/data-planes.ts';
import { SITUATIONS, endpointName } from '../../fixtures/planes.ts';
import { readinessWorlds } from '../../fixtures/readiness-worlds.ts';
import { topologyJson } from '../../fixtures/topology-command.ts';
import { mastersGroup } from '../bed/access.ts';
import { type BedNode, type BedPod, type BedService, type Traffic, useBed } from '../bed/index.ts';
import { defaultControllers } from '../bed/control-plane.ts';
import { atLeast, waitFor } from '../bed/machine.ts';
import { startWebhook } from '../commands.ts';
import { defineEvacuations, evacuationNamed, reachesPhase } from '../evacuations.ts';
import { connectAs, startReconciler } from '../hints-support.ts';
import { type CiliumNode, RELEASE, compileSocketProgram, removeLeftCgroups, startCilium } from '../planes/socket-lb.ts';
import { isLongForm } from '../results.ts';
import { describeDisagreements, disagreements } from '../traffic-agreement.ts';

const seed = Number(process.env['E2E_SEED'] ?? Date.now() % 2 ** 31);
const worlds = fc.sample(readinessWorlds, { seed, numRuns: isLongForm ? 15 : 5 });
const NAMESPACE = 'planes';
const CONNECTIONS = 200;
const NAMES = ['a1', 'b1', 'b2', 'c1', 'c2'] as const;
type Family = 'IPv4' | 'IPv6';

/** A Service and its slices as a fixture has them. */
interface Given {
  readonly service: Service;
  readonly slices: readonly EndpointSlice[];
}

/** What one client reaches at one port and family: by Pod, and how many connections failed. */
interface Question {
  readonly client: BedNode;
  readonly service: BedService;
  readonly family: Family;
  /** Its name, and the number that clients connect to. */
  readonly port: string;
  readonly number: number;
}

describe(`Cilium ${RELEASE}, from objects to connections (E2E_SEED=${seed})`, () => {
  // It would remove slices that look mirrored and have no Endpoints.
  const bed = useBed({
    controllers: defaultControllers.filter((name) => name !== 'endpointslice-mirroring-controller'),
  });
  const clients: CiliumNode[] = [];
  const pods = new Map<string, BedPod>();
  let admin: Client;
  let kubeconfig: string;

  const podOf = (address: string): string => {
    const found = [...pods].find(({ 1: { addresses } }) => [addresses.ipv4, addresses.ipv6].includes(address));
    return found?.[0] ?? address;
  };

  /** Writes them; `nameOf` is the Pod that answers for an address of the fixture. */
  const store = async (given: Given, name: string, nameOf: (address: string) => string): Promise<BedService> => {
    const { clusterIPs: _, clusterIP: __, selector: ___, ...spec } = given.service.spec as Record<string, unknown>;
    const ipFamilyPolicy = given.service.spec?.ipFamilies?.[1] === undefined ? 'SingleStack' : 'RequireDualStack';
    const { annotations = {} } = given.service.metadata ?? {};
    const external = spec['type'] === 'NodePort' ? {} : { externalTrafficPolicy: undefined };
    const wanted = { ...spec, ...external, selector: undefined, ipFamilyPolicy };
    const created = await bed().service({ name, namespace: NAMESPACE, annotations, spec: wanted });
    for (const [index, { metadata, ...slice }] of given.slices.entries()) {
      const endpoints = (slice.endpoints ?? []).map(({ targetRef: ____, ...one }) => {
        const { ipv4 = '', ipv6 = '' } = pods.get(nameOf(one.addresses[0] ?? ''))?.addresses ?? {};
        return { ...one, addresses: [slice.addressType === 'IPv6' ? ipv6 : ipv4] };
      });
      const labels = { ...metadata?.labels, [LABEL_SERVICE_NAME]: name };
      const { annotations: own = {} } = metadata ?? {};
      const stored = { name: `${name}-${index}`, namespace: NAMESPACE, labels, annotations: own };
      await admin.create(ENDPOINT_SLICES, { ...slice, endpoints, metadata: stored });
    }
    return created;
  };

  const connect = ({ client, service, family, number }: Question, count: number): Promise<Traffic> =>
    bed().connect({ node: client, service, family, port: number, count, timeoutMs: 2_000 });

  /** Pods that `kubectl topology route` names. */
  const predicted = async ({ client, service, family, port }: Question): Promise<string[]> => {
    const of = ['--service', `${NAMESPACE}/${service.name}`, '--node', client.name, '--address-type', family];
    const { routes } = await topologyJson<RoutesReport>(['route', ...of, '--port', port, '--kubeconfig', kubeconfig]);
    const [route] = routes;
    expect(route).to.include({ router: 'cilium', certainty: 'seen' });
    return (route?.reachable ?? []).map((key) => podOf(/^\[?(.*?)\]?:\d+$/.exec(key)?.[1] ?? '')).sort();
  };

  /** Waits until the plane has followed, and compares how its connections are spread. */
  const check = async (question: Question, want: readonly string[]): Promise<void> => {
    const { client, service, family, port } = question;
    const what = `${service.name}, ${port}, ${family}, from ${client.name}`;
    await waitFor(
      `${what} reaches ${want.join(' ') || 'none'}`,
      () => connect(question, 40),
      ({ byPod, errors }) => Object.keys(byPod).sort().join() === want.join() && errors['ETIMEDOUT'] === undefined,
      { timeoutSeconds: 20 },
    );
    const { byPod, errors } = await connect(question, CONNECTIONS);
    // Cilium's own answer where a Service that it knows has no endpoint.
    expect(errors, what).to.deep.equal(want.length === 0 ? { EPERM: CONNECTIONS } : {});
    const shares = Object.fromEntries(want.map((name) => [name, 1 / want.length]));
    const off = disagreements({ [client.name]: shares }, { [client.name]: byPod });
    expect(describeDisagreements(off), what).to.equal('');
  };

  before('three zones with Cilium on a Node of each, and Pods that answer', async function () {
    this.timeout(300_000);
    removeLeftCgroups();
    admin = await connectAs(bed(), 'operator');
    kubeconfig = await bed().kubeconfig({ user: 'operator', groups: [mastersGroup] });
    await bed().api.create('/api/v1/namespaces', { metadata: { name: NAMESPACE } });
    const agent = daemonSet('cilium', `quay.io/cilium/cilium:v${RELEASE}`, CILIUM);
    const spec = { ...(agent['spec'] as object), selector: { matchLabels: CILIUM.labels } };
    await bed().api.create('/apis/apps/v1/namespaces/kube-system/daemonsets', { ...agent, spec });
    const on = { 'kube-proxy-replacement': 'true', 'enable-service-topology': 'true' };
    await bed().api.create('/api/v1/namespaces/kube-system/configmaps', configMap('cilium-config', on));
    const object = await compileSocketProgram(bed().directory);
    for (const [index, name] of ['node-a1', 'node-b1', 'node-c1'].entries()) {
      const node = await bed().node({ name, zone: 'abc'.charAt(index) });
      for (const pod of NAMES.filter((one) => one.startsWith(node.zone ?? ''))) {
        const created = await bed().pod({ node, app: 'server', name: pod, namespace: NAMESPACE });
        const answer = JSON.stringify({ pod, node: name, zone: node.zone });
        for (const address of Object.values(created.addresses))
          await node.agent.perform({ task: 'listen', address, port: 8081, answer });
        pods.set(pod, created);
      }
      clients.push(await startCilium(bed(), node, object));
    }
  });
  after(async () => {
    for (const client of clients) await client.end();
    await admin?.close();
    removeLeftCgroups();
  });

  describe('recorded situations', () => {
    const asked = SITUATIONS.filter(({ node }) => zoneOfNode(node) === 'a').map((situation, index) => ({
      ...situation,
      want: situation.used('cilium', RELEASE),
      service: `table-${index}`,
      given: { service: situation.service, slices: situation.slices },
    }));
    const services = new Map<string, BedService>();

    before(async () => {
      for (const { service, given } of asked)
        services.set(service, await store(given, service, (address) => endpointName(`${bracketed(address)}:8080`)));
    });

    for (const { name, want, service, port, family } of asked)
      it(name, async () => {
        const [{ client }] = clients as [CiliumNode];
        const number = port === 'second' ? 81 : 80;
        const of = { client, service: services.get(service) as BedService, family: family as Family, port, number };
        expect(await predicted(of), 'kubectl topology route').to.deep.equal(want);
        await check(of, want ?? []);
      });
  });

  describe('endpoints with hints of this project, as its webhook, its planner and an evacuation leave them', () => {
    for (const [index, given] of worlds.entries())
      it(`world ${index + 1}, ${given.name}: connections go where route says, and none fails where an endpoint is ready`, async function () {
        this.timeout(120_000);
        const service = await store(given, `world-${index}`, (address) => NAMES[Number(address.at(-1)) - 1] ?? '');
        for (const family of (given.service.spec?.ipFamilies ?? []) as Family[])
          for (const { name: port = '', port: number } of given.service.spec?.ports ?? [])
            for (const { client } of clients) {
              const of = { client, service, family, port, number };
              const want = await predicted(of);
              const ready = given.slices
                .filter((one) => one.addressType === family && one.ports?.some(({ name }) => name === port))
                .flatMap((one) => (one.endpoints ?? []).filter(isEndpointReady));
              if (ready.length > 0) expect(want, `${port}, ${family}, from ${client.name}`).not.to.be.empty;
              await check(of, want);
            }
      });
  });

  describe('a zone whose only Pod starts, ends and is evacuated', () => {
    const services: BedService[] = [];
    const stop = new AbortController();
    const failures: string[] = [];
    let answered = 0;
    let running: Promise<unknown> = Promise.resolve();
    let pod: BedPod;

    const settles = async (what: string, accept: (fromA: Traffic['byZone']) => boolean): Promise<void> => {
      const [{ client }] = clients as [CiliumNode];
      for (const service of services)
        await waitFor(
          `${service.name} from zone a: ${what}`,
          () => bed().connect({ node: client, service, count: 60 }),
          ({ byZone }) => accept(byZone),
        );
    };
    const stays = (): Promise<void> => settles('stays', ({ a = 0 }) => a === 60);
    const leaves = (): Promise<void> => settles('leaves', ({ a = 0 }) => a === 0);

    before(
      'the webhook, a leader of evacuations, Services of two strategies, and clients that never pause',
      async () => {
        await startWebhook(bed());
        await defineEvacuations(admin);
        await startReconciler(bed());
        for (const { node } of clients.toReversed()) pod = await bed().pod({ node, app: 'web', namespace: NAMESPACE });
        for (const strategy of ['same-zone', 'same-node'])
          services.push(
            await bed().service({
              name: strategy,
              namespace: NAMESPACE,
              app: 'web',
              labels: { [LABEL_STRATEGY]: strategy },
              annotations: { [ANNOTATION_TOPOLOGY_MODE]: `${GROUP}/${strategy}` },
            }),
          );
        await stays();
        const follow = async ({ client }: CiliumNode): Promise<void> => {
          while (!stop.signal.aborted)
            for (const service of services) {
              const { total, errors } = await bed().connect({ node: client, service, count: 20 });
              answered += total;
              for (const [code, count] of Object.entries(errors))
                failures.push(`${count} to ${service.name} from ${client.name}: ${code}`);
            }
        };
        running = Promise.all(clients.map(follow));
      },
    );
    after(async () => {
      stop.abort();
      await running;
    });

    const steps: readonly (readonly [name: string, act: () => Promise<unknown>, then: () => Promise<void>])[] = [
      ['fails its readiness probe', () => pod.setReady(false), leaves],
      ['is ready again', () => pod.setReady(true), stays],
      ['is evacuated', () => admin.create(ZONE_EVACUATIONS, evacuationNamed('a')), leaves],
      ['starts anew meanwhile', () => pod.setReady(false).then(() => pod.setReady(true)), leaves],
      ['returns', () => admin.delete(ZONE_EVACUATIONS, { name: 'a' }), stays],
      ['terminates', () => pod.terminate(), leaves],
    ];
    for (const [name, act, then] of steps)
      it(`${name}: no client is cut off`, async () => {
        await act();
        if (name === 'is evacuated') await reachesPhase(admin, 'a', ['Evacuated']);
        const known = answered;
        await then();
        await waitFor('connections since', () => answered, atLeast(known + 101));
        expect(failures).to.deep.equal([]);
      });
  });
});

/** An address as it stands before a port. */
const bracketed = (address: string): string => (address.includes(':') ? `[${address}]` : address);
