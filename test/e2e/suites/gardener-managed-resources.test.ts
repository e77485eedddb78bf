// The real gardener-resource-manager: what it reverts of a Service and a ClusterRole and when, what stays routed beside it, and what is left when it removes us.
// Soak: its programs take most of an hour to build.
// Needs built: gardener/gardener-1.141/gardener-resource-manager, gardener/gardener-1.150/gardener-resource-manager
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import type { Service } from '../../../pkg/apis/core.ts';
import { ANNOTATION_APPLIED, LABEL_CONSIDER, LABEL_MANAGED } from '../../../pkg/apis/names.ts';
import { SEEDS, SERVICES } from '../../../pkg/apis/resources.ts';
import { describeResourceManager, MODE_IGNORE } from '../../contract/resource-manager.ts';
import { namespace, seed } from '../../fixtures/gardener.ts';
import type { Component } from '../bed/component.ts';
import { useBed } from '../bed/index.ts';
import { atLeast, is, ofLength, waitFor } from '../bed/machine.ts';
import { NAMESPACE, RECONCILER, WEBHOOK } from '../chart.ts';
import { acting, commandReady, definitionNames, nothingActs, removeDefinitions } from '../commands.ts';
import { realDefinitions, watchVersions } from '../gardener/owner.ts';
import { MANAGER_USER, type Managed, manage, startResourceManager } from '../gardener/resource-manager.ts';
import { isAccepted, subjectOf } from '../settings-audit.ts';
import { letSeedsBeRead, SAME_ZONE, SEED } from '../settings-landscape.ts';
import { type World, openWorld, userOf } from '../settings-world.ts';

const NS = 'extension-provider-local';
/** The least that it takes. */
const SYNC_SECONDS = 15;
/** What our own kinds of an installation are, as far as they need no Pods here. */
const RENDERED: ReadonlySet<string> = new Set([
  'CustomResourceDefinition',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
  'ServiceAccount',
  'Service',
  'ConfigMap',
  'Role',
  'RoleBinding',
  'ClusterRole',
  'ClusterRoleBinding',
]);
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const COLLECTIONS = [
  ...['clusterroles', 'clusterrolebindings', 'roles', 'rolebindings'].map((plural) => `${RBAC}/${plural}`),
  ...['services', 'serviceaccounts'].map((plural) => `/api/v1/namespaces/${NAMESPACE}/${plural}`),
  ...['validatingadmissionpolicies', 'validatingadmissionpolicybindings'].map(
    (plural) => `/apis/admissionregistration.k8s.io/v1/${plural}`,
  ),
  // Those in our namespace go with it; a process that still runs may have written one anew.
  '/apis/coordination.k8s.io/v1/namespaces/garden/leases',
];
/** Every value that routing could have left on a Service. */
const FOREIGN = {
  metadata: { annotations: { [ANNOTATION_APPLIED]: '{}' }, labels: { [LABEL_CONSIDER]: 'true' } },
  spec: { trafficDistribution: SAME_ZONE },
};

interface ClusterRole {
  readonly metadata: { readonly labels?: object; readonly ownerReferences?: readonly object[] };
  readonly rules: readonly object[];
}

const serviceObject = (name: string, annotations = {}): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace: NS, labels: { app: name, [LABEL_MANAGED]: 'true' }, annotations },
  spec: { selector: { app: name }, ports: [{ name: 'https', port: 443, targetPort: 10_250 }] },
});

for (const version of ['1.141', '1.150'] as const) {
  describe(`gardener: managed resources, resource manager v${version}`, () => {
    const bed = useBed();
    let world: World;
    let managed: Managed;
    let commands: Component[] = [];

    const service = (name: string): Promise<Service> => world.service(NS, name);
    const write = (name: string): Promise<Service> =>
      world.client.patch<Service>(SERVICES, { namespace: NS, name }, 'merge', FOREIGN);
    const routes =
      (wanted: string | undefined) =>
      ({ spec }: Service) =>
        spec?.trafficDistribution === wanted;
    const expectReverted = (name: string): Promise<Service> =>
      waitFor(`${name} without the field`, () => service(name), routes(undefined));
    const managersWrites = (since: number, name: string): number =>
      world.audit
        .of(MANAGER_USER, since)
        .filter((event) => isAccepted(event) && subjectOf(event) === `services ${NS}/${name}`).length;

    before('a seed with an extension whose chart the resource manager applies, routing is off', async () => {
      world = await openWorld(bed(), {
        where: 'seed',
        definitions: await realDefinitions(),
        values: { flowController: { enabled: true } },
      });
      await world.create(
        seed({ metadata: { name: SEED }, enabled: false }),
        namespace({ role: 'extension', metadata: { name: NS } }),
        namespace({ role: 'garden' }),
      );
      // What it is to ignore from the start, it would not create.
      const held = serviceObject('held', MODE_IGNORE);
      await bed().api.create(`/api/v1/namespaces/${NS}/services`, held);
      await startResourceManager(bed(), { version, syncSeconds: SYNC_SECONDS });
      managed = await manage(bed(), NS, 'extension', [serviceObject('webhook'), serviceObject('held', MODE_IGNORE)]);
    });

    describe('by itself', () => {
      it('reverts the field at its next sync, and keeps foreign labels and annotations', async () => {
        await write('webhook');
        const { metadata } = await expectReverted('webhook');
        expect(metadata?.labels).to.include({ [LABEL_CONSIDER]: 'true' });
        expect(metadata?.annotations).to.include({ [ANNOTATION_APPLIED]: '{}' });
      });

      it('names its origin on what it manages', async () => {
        const { metadata } = await service('webhook');
        expect(Object.keys(metadata?.annotations ?? {})).to.include('resources.gardener.cloud/origin');
      });

      describeResourceManager(() => ({ client: world.client, namespace: NS, turn: () => managed.reconcile() }));
    });

    describe('beside our commands', () => {
      before('started as the chart renders them, with keep: auto', async () => {
        // Traces of the tests before would be ours; the one that is held is a stranger's.
        await world.client.patch(SERVICES, { namespace: NS, name: 'held' }, 'merge', {
          metadata: { labels: { [LABEL_MANAGED]: 'false' } },
        });
        await world.client.patch(SERVICES, { namespace: NS, name: 'webhook' }, 'merge', {
          metadata: { annotations: { [ANNOTATION_APPLIED]: null }, labels: { [LABEL_CONSIDER]: null } },
        });
        const webhook = await world.program(WEBHOOK);
        webhook.start();
        await commandReady(webhook, 8_081);
        const environment = { SEED_NAME: SEED, GARDEN_KUBECONFIG: await letSeedsBeRead(bed()) };
        commands = [webhook, await world.startReconciler({ environment })];
      });

      it('keeps a Service routed through every sync: no version of it is bare once admission keeps the first value', async () => {
        await world.client.patch(SEEDS, { name: SEED }, 'merge', {
          spec: { settings: { topologyAwareRouting: { enabled: true } } },
        });
        await waitFor('the first value', () => service('webhook'), routes(SAME_ZONE));
        // The API server's own caches learn of the namespace's label a moment after the value: until then it calls no webhook.
        const without = { spec: { trafficDistribution: null } };
        const tried = (): Promise<Service> =>
          world.client.patch(SERVICES, { namespace: NS, name: 'webhook' }, 'merge', without, { dryRun: true });
        await waitFor('admission that keeps the value', tried, routes(SAME_ZONE));
        await waitFor('the value', () => service('webhook'), routes(SAME_ZONE));
        const watched = await watchVersions<Service>(bed(), `/api/v1/namespaces/${NS}/services`, 'webhook');
        const mark = world.audit.mark();
        for (let round = 0; round < 3; round += 1) await managed.reconcile();
        await waitFor(
          'three writes of the resource manager, or as many answers that change nothing',
          () => managersWrites(mark, 'webhook'),
          atLeast(3),
        );
        const versions = await watched.stop();
        const values = versions.map(({ object }) => object.spec?.trafficDistribution);
        expect(values, 'every version').to.include(SAME_ZONE);
        expect(values, 'every version').to.not.include(undefined);
        const repairs = world.writes(mark).map(subjectOf);
        expect(repairs.filter((subject) => subject.startsWith('services '))).to.deep.equal([]);
      });
    });

    describe('that installed us', () => {
      const FOREIGN_OBJECTS = [
        ['/api/v1/namespaces/garden/configmaps', {}],
        ['/apis/rbac.authorization.k8s.io/v1/clusterroles', { rules: [] }],
      ] as const;
      let ours: Managed;
      let foreign: Record<string, unknown>;

      /** What others have: the Service that is ours to route loses at most what we set on it. */
      const others = async (): Promise<Record<string, unknown>> => {
        const { api } = bed();
        const { metadata, spec } = await service('webhook');
        const { trafficDistribution: _, ...unrouted } = spec ?? {};
        const read = async ([path]: readonly [string, object]): Promise<unknown> =>
          (await api.get(`${path}/foreign`)).metadata.resourceVersion;
        return {
          webhook: { spec: unrouted, uid: metadata?.uid, app: metadata?.labels?.['app'] },
          held: (await service('held')).metadata?.resourceVersion,
          created: await Promise.all(FOREIGN_OBJECTS.map(read)),
        };
      };
      /** Of what the chart renders and our commands write; what else is in our namespace goes with it, which gardenlet removes. */
      const left = async (): Promise<string[]> => {
        const lists = await Promise.all(COLLECTIONS.map((path) => bed().api.list(path)));
        return lists
          .flat()
          .filter(({ metadata }) => /topology-aware-routing/.test(metadata.name) || metadata.namespace === NAMESPACE)
          .filter(({ metadata }) => metadata.name !== 'default')
          .map(({ metadata }) => metadata.name)
          .sort();
      };
      const install = async (): Promise<void> => {
        const objects = world.rendered.filter(({ kind }) => RENDERED.has(kind ?? ''));
        ours = await manage(bed(), 'garden', 'topology-aware-routing', objects);
        for (const command of commands) {
          await command.stop();
          command.start();
        }
        await commandReady(commands[0]!, 8_081);
        await commandReady(commands[1]!, 18_081);
        await waitFor(
          'our registration',
          () => acting(bed()),
          (found) => found.length > 0,
        );
      };
      const stopAll = async (): Promise<void> => {
        for (const command of commands) await command.stop();
      };
      const orders: readonly (readonly [order: string, remove: () => Promise<void>, definitionsLeft: boolean])[] = [
        ['its ManagedResource while our processes run', () => ours.remove(), true],
        ['our processes, then its ManagedResource', () => stopAll().then(() => ours.remove()), true],
        [
          'its ManagedResource after our processes have crashed',
          async () => {
            for (const command of commands) await command.kill();
            await ours.remove();
          },
          true,
        ],
        [
          'the definition of FlowPolicies, then its ManagedResource',
          async () => {
            // Its next sync, which would bring them back, is then as far away as it can be.
            await ours.reconcile();
            await removeDefinitions(bed());
            await ours.remove();
          },
          false,
        ],
      ];

      before('what others have in the cluster', async () => {
        for (const [path, more] of FOREIGN_OBJECTS)
          await bed().api.create(path, { metadata: { name: 'foreign' }, ...more });
      });

      describe('and manages a ClusterRole of this project', () => {
        let mark: number;
        let path: string;
        let rules: readonly object[];
        const role = () => bed().api.get<ClusterRole>(path);
        const owners = async (): Promise<number> => (await role()).metadata.ownerReferences?.length ?? 0;
        const patches = (): number =>
          world.audit
            .of(userOf(RECONCILER), mark)
            .filter(({ verb, objectRef }) => verb === 'patch' && objectRef?.resource === 'clusterroles').length;
        const expectNoOwner = (): Promise<unknown> =>
          waitFor('the owner reset', owners, is(0), { timeoutSeconds: 4 * SYNC_SECONDS });

        before(async () => {
          mark = world.audit.mark();
          await install();
          const names = world.rendered
            .filter(({ kind }) => kind === 'ClusterRole')
            .map(({ metadata }) => metadata?.name);
          path = `${RBAC}/clusterroles/${names.find((name) => name?.endsWith(`:${RECONCILER}`))}`;
          ({ rules } = await role());
        });
        after(() => ours.remove());

        it('resets the owner that the settings-reconciler gives it, which does not fight for it', async () => {
          await waitFor('the owner given', patches, atLeast(1));
          for (let round = 0; round < 3; round += 1) {
            await ours.reconcile();
            await expectNoOwner();
          }
          // One for its Leases and one for its policies.
          expect(patches()).to.be.at.most(2);
        });

        it('reverts foreign rules at its next sync, and keeps a foreign label', async () => {
          const more = { apiGroups: [''], resources: ['configmaps'], verbs: ['list'] };
          const labels = { 'example.com/foreign': 'x' };
          await bed().api.patch(path, { metadata: { labels }, rules: [...rules, more] });
          await ours.reconcile();
          const { metadata } = await waitFor('the rules reverted', role, (now) => now.rules.length === rules.length);
          expect(metadata.labels).to.include(labels);
        });
      });

      for (const [order, remove, definitionsLeft] of orders) {
        describe(`and is to remove us: ${order}`, () => {
          before(async () => {
            await install();
            foreign = await others();
            await remove();
          });

          it('leaves nothing behind that could change or block a write', () => nothingActs(bed()));

          it('leaves no right, account, policy or Lease of this project', async () => {
            await waitFor('nothing of ours', left, ofLength(0));
          });

          it(definitionsLeft ? 'keeps the definition of FlowPolicies' : 'brings no definition back', async () => {
            const names = await definitionNames(bed());
            if (definitionsLeft) expect(names).to.include('flowpolicies.topology.extensions.gardener.cloud');
            else expect(names).to.deep.equal([]);
          });

          it('takes nothing of what others have', async () => {
            expect(await others()).to.deep.equal(foreign);
          });
        });
      }
    });
  });
}
