// Removes installations in every order and in the rudest ways: nothing that could block or change a write outlives them.
// Minutes: 3
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { ANNOTATION_PLAN, EXTENSION_NAME, LABEL_STRATEGY } from '../../../pkg/apis/names.ts';
import { exposeAddress, mastersGroup } from '../bed/access.ts';
import type { Component as Program } from '../bed/component.ts';
import { useBed } from '../bed/index.ts';
import { is, ofLength, run, waitFor } from '../bed/machine.ts';
import type { Slice } from '../bed/pod.ts';
import { COMPONENTS, FLOW, NAMESPACE, openHelm, RECONCILER, root, WEBHOOK } from '../chart.ts';
import type { Component, Helm } from '../chart.ts';
import {
  acting,
  apply,
  CLUSTER_ROLES,
  commandReady,
  installedProgram,
  nothingActs,
  ownersOf,
  removeRendered,
  WEBHOOKS,
} from '../commands.ts';

const HERE = { namespace: NAMESPACE };
const PORTS: Record<Component, { health: number; flags: string[] }> = {
  [WEBHOOK]: { health: 8081, flags: [] },
  [RECONCILER]: { health: 18_081, flags: ['--health-port', '18081', '--metrics-port', '18080'] },
  [FLOW]: { health: 28_081, flags: ['--health-port', '28081', '--metrics-port', '28080'] },
};
const ORDERS: Component[][] = COMPONENTS.flatMap((first) =>
  COMPONENTS.filter((second) => second !== first).map((second) => [
    first,
    second,
    ...COMPONENTS.filter((third) => third !== first && third !== second),
  ]),
);

describe('the end of an installation', () => {
  const bed = useBed();
  const slicePath = '/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices';
  const leasePath = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases/${FLOW}`;
  const deploymentPath = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/${WEBHOOK}`;
  const programs = new Map<Component, Program>();
  let helm: Helm;
  let slices = 0;

  /** The registration freezes slices while the webhook is away: whatever of it is left over shows. */
  const values = {
    endpointsliceWebhook: { failurePolicy: 'Fail', timeoutSeconds: 5 },
    flowController: { enabled: true, definition: false },
    evacuation: { definition: false },
  };

  const stopAll = async (): Promise<void> => {
    for (const program of programs.values()) await program.kill();
    programs.clear();
  };

  const start = async (...components: readonly Component[]): Promise<void> => {
    await Promise.all(
      components.map(async (component) => {
        const program = await installedProgram(bed(), component, component, PORTS[component].flags);
        programs.set(component, program);
        program.start();
        await commandReady(program, PORTS[component].health);
      }),
    );
  };

  const namespaceIs = async (wanted: 'there' | 'gone'): Promise<void> => {
    const probe = () =>
      bed()
        .api.get(`/api/v1/namespaces/${NAMESPACE}`)
        .then(() => 'there')
        .catch(() => 'gone');
    await waitFor(`namespace ${wanted}`, probe, is(wanted));
  };

  const makeNamespace = async (): Promise<void> => {
    await bed().api.create('/api/v1/namespaces', { metadata: { name: NAMESPACE } });
    // The webhook, as the API server finds it.
    await exposeAddress(bed().api, { namespace: NAMESPACE, name: WEBHOOK, targetPort: 10_250 });
  };

  /** Ready means registered. */
  const install = async (components: readonly Component[] = COMPONENTS): Promise<void> => {
    await apply(bed(), 'chart.yaml', await helm.template(values), '--force-conflicts');
    await start(...components);
  };

  /** A component that has written nothing yet has its ClusterRole owned with its first Lease. */
  const untilOwned = async (): Promise<void> =>
    void (await waitFor(
      'owners of all ClusterRoles',
      async () => [...(await ownersOf(bed(), CLUSTER_ROLES))],
      (owners) => owners.join() === `Namespace/${NAMESPACE}`,
    ));

  /** A slice that asks for hints, written by another writer. */
  const writeSlice = (strategy = 'same-zone', more: object = {}): Promise<Slice> =>
    bed().api.create<Slice>(slicePath, {
      metadata: { name: `web-${(slices += 1)}`, labels: { [LABEL_STRATEGY]: strategy } },
      addressType: 'IPv4',
      ports: [{ port: 80 }],
      endpoints: [{ addresses: ['192.0.2.1'], zone: 'a', conditions: { ready: true }, ...more }],
    });
  const hintsOf = ({ endpoints }: Slice): string[] =>
    (endpoints ?? []).flatMap(({ hints }) => (hints?.forZones ?? []).map(({ name }) => name));

  /** API servers hear of what is gone a moment later. */
  const unchanged = async (): Promise<void> =>
    void (await waitFor('a slice that is written as it is', () => writeSlice().then(hintsOf), ofLength(0)));

  before(async () => {
    helm = await openHelm();
    await bed().api.create('/api/v1/namespaces', { metadata: { name: 'shop' } });
    await makeNamespace();
    for (const kind of ['flow', 'evacuation'])
      await apply(bed(), `${kind}.yaml`, readFileSync(join(root, `example/${kind}/crd.yaml`), 'utf8'));
  });

  it('is prepared: everything goes with the ClusterRole of who wrote it, and that with the namespace', async () => {
    await install();
    const role = (component: Component): string => `ClusterRole/${EXTENSION_NAME}:${component}`;
    expect([...(await ownersOf(bed(), WEBHOOKS))]).to.deep.equal([role(WEBHOOK)]);
    await untilOwned();
    expect(hintsOf(await writeSlice())).to.deep.equal(['a']);
  });

  for (const [index, order] of ORDERS.entries()) {
    // Every order in one of the two ways; each component comes first once in each way.
    const rightsFirst = index % 2 === 0;
    const way = rightsFirst ? 'rights before processes' : 'processes killed before anything else';
    it(`leaves nothing after ${order.join(', ')}: ${way}`, async () => {
      if (programs.size === 0) {
        await install();
        await untilOwned();
      }
      const endings: Promise<void>[] = [];
      for (const component of order) {
        if (rightsFirst) await removeRendered(bed(), HERE, component, 'rights');
        else await programs.get(component)?.kill();
        await removeRendered(bed(), HERE, component, 'workload');
        if (rightsFirst) endings.push(programs.get(component)!.stop());
        else await removeRendered(bed(), HERE, component, 'rights');
      }
      await nothingActs(bed());
      await Promise.all(endings);
      programs.clear();
      await unchanged();
      const status = () =>
        bed()
          .api.get(leasePath)
          .then(() => 200)
          .catch((error: { status: number }) => error.status);
      await waitFor(`the end of ${leasePath}`, status, is(404));
    });
  }

  it('takes the webhook back itself where only its Deployment goes, and not when one replica ends', async () => {
    await install([WEBHOOK]);
    const registered = await acting(bed());
    expect(registered).to.deep.equal([EXTENSION_NAME]);
    await programs.get(WEBHOOK)?.stop();
    expect(await acting(bed()), 'after a restart').to.deep.equal(registered);
    await start(WEBHOOK);
    await bed().api.delete(deploymentPath);
    await programs.get(WEBHOOK)?.stop();
    expect(await acting(bed()), 'as soon as the process has ended').to.deep.equal([]);
  });

  it('returns planned slices to spread with their next write once the flow-controller is removed', async () => {
    await stopAll();
    await install();
    const hints = { hints: { forZones: [{ name: 'a' }, { name: 'b' }] } };
    const planner = await bed().kubeconfig({
      user: `system:serviceaccount:${NAMESPACE}:${FLOW}`,
      groups: [mastersGroup],
    });
    const plan = async (): Promise<Slice> => {
      const [enter, ...prefix] = bed().enter;
      const { metadata } = await writeSlice('load-aware');
      const patch = JSON.stringify({
        metadata: { annotations: { [ANNOTATION_PLAN]: 'zones' } },
        endpoints: [{ addresses: ['192.0.2.1'], zone: 'a', conditions: { ready: true }, ...hints }],
      });
      const kubectl = [bed().binaries('kubectl'), '--kubeconfig', planner, '-n', 'shop'];
      const words = ['patch', 'endpointslice', metadata.name, '--type=merge', '-o', 'json', '-p', patch];
      const text = await run(enter, [...prefix, ...kubectl, ...words]);
      return JSON.parse(text) as Slice;
    };
    const touch = (name: string): Promise<Slice> =>
      bed().api.patch<Slice>(`${slicePath}/${name}`, { metadata: { annotations: { at: String((slices += 1)) } } });
    const { metadata } = await waitFor(
      'a plan that is kept while the planner lives, of whose Lease the webhook may learn later',
      async () => touch((await plan()).metadata.name),
      (slice) => hintsOf(slice).join() === 'a,b',
    );
    await removeRendered(bed(), HERE, FLOW, 'rights');
    await waitFor('spread', () => touch(metadata.name).then(hintsOf), ofLength(0));
  });

  it('leaves nothing where processes crash and another writer deletes the namespace, and only that', async () => {
    await stopAll();
    await install();
    await untilOwned();
    await stopAll();
    const outcome = (): Promise<string> =>
      writeSlice()
        .then(() => 'written')
        .catch(({ message }: Error) => message);
    await waitFor('what a registration without a webhook does', outcome, (text) => /failed calling webhook/.test(text));
    await bed().api.delete(`/api/v1/namespaces/${NAMESPACE}`);
    await namespaceIs('gone');
    await nothingActs(bed());
    await unchanged();
    expect([...(await ownersOf(bed(), CLUSTER_ROLES))]).to.deep.equal([]);
  });
});
