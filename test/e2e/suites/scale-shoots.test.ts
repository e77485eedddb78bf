// A Seed's setting flipped on a real API server, with up to 10,000 shoots.
// Alone: it measures time and CPU.
// Soak: `make e2e` has the same flip with one shoot in the suite gardener-owners.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { makeBundle } from '../../../hack/bundle.ts';
import { CONFIG_API_VERSION } from '../../../pkg/apis/config/load.ts';
import { SETTINGS_RECONCILER_CONFIGURATION } from '../../../pkg/apis/config/settings-reconciler.ts';
import type { Service } from '../../../pkg/apis/core.ts';
import type { KubernetesObject } from '../../../pkg/apis/meta.ts';
import { LABEL_MANAGED } from '../../../pkg/apis/names.ts';
import { CLUSTERS, ENDPOINT_SLICES, ETCDS, NAMESPACES, SEEDS, SERVICES } from '../../../pkg/apis/resources.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { describeEnvironment } from '../../bench/environment.ts';
import { node, service, slice } from '../../fixtures/core.ts';
import { gardenerCrds, CUSTOM_RESOURCE_DEFINITIONS } from '../../fixtures/crds.ts';
import { ZONES, cluster, etcd, namespace, seed, shoot } from '../../fixtures/gardener.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { mastersGroup } from '../bed/access.ts';
import type { Component } from '../bed/component.ts';
import { type StoredObject, storeObjects, stored, untilKnown } from '../bed/etcd-objects.ts';
import { useBed } from '../bed/index.ts';
import { atLeast, waitFor } from '../bed/machine.ts';
import { ownNamespace } from '../commands.ts';
import { connectAs, RECONCILER_USER } from '../hints-support.ts';
import { keepResults, keptResults } from '../results.ts';
import { type ControllerPhase, type ShootsStep, formatShoots, mergeShoots } from '../scale-figures.ts';
import { measurePhase } from '../scale-world.ts';
import type { Write } from '../settings-audit.ts';
import { untilServed } from '../settings-world.ts';

/** `E2E_SCALE`: one number of shoots. */
const SIZES = process.env['E2E_SCALE']?.split(',').map(Number) ?? [1_000, 3_000, 10_000];
const SEED_NAME = 'my-seed';
const HEALTH = 'http://127.0.0.1:8083';
const LONGEST_SECONDS = 600;
/** Nothing written for so long is the end. */
const QUIET_MS = 5_000;

// The objects of a seed with many shoots: five Services, two Etcds and a Cluster with its CloudProfile each.

/** Written by the reconciler: three of the catalogue and one that an extension labelled. */
const CHANGING_SERVICES = ['kube-apiserver', 'gardener-resource-manager', 'vpa-webhook', 'extension-webhook'];
/** Belongs to etcd-druid and must not be touched. */
const UNTOUCHED_SERVICES = ['etcd-main-client'];
const OF_SHOOT = [...CHANGING_SERVICES, ...UNTOUCHED_SERVICES];

/** Ten kilobytes, the way real ones repeat themselves. */
const cloudProfile = {
  apiVersion: 'core.gardener.cloud/v1beta1',
  kind: 'CloudProfile',
  metadata: { name: 'bench' },
  spec: {
    machineTypes: Array.from({ length: 60 }, (_, index) => ({
      name: `machine-${index}`,
      cpu: String(2 + index),
      gpu: '0',
      memory: `${8 + index}Gi`,
      architecture: 'amd64',
      usable: true,
      storage: { class: 'premium', type: 'default', size: '50Gi' },
    })),
  },
};

const shootNamespace = (index: number): string => `shoot--bench--${String(index).padStart(4, '0')}`;

const shootObjects = (index: number): KubernetesObject[] => {
  const name = shootNamespace(index);
  const ofShoot = shoot({
    metadata: { name: name.slice(-4), namespace: 'garden-bench' },
    status: { technicalID: name },
  });
  return [
    namespace({ metadata: { name } }),
    cluster({ spec: { shoot: ofShoot, cloudProfile } }),
    ...OF_SHOOT.map((service_) =>
      service({
        metadata: {
          name: service_,
          namespace: name,
          labels: { app: service_, ...(service_ === 'extension-webhook' && { [LABEL_MANAGED]: 'true' }) },
        },
      }),
    ),
    ...OF_SHOOT.map((service_) =>
      slice({ metadata: { name: `${service_}-x7k2p`, namespace: name }, service: service_ }),
    ),
    ...['etcd-main', 'etcd-events'].map((name_) => etcd({ metadata: { name: name_, namespace: name } })),
  ];
};

/** Everything of the seed cluster except the Seed, which lives in the virtual garden. */
const landscapeObjects = (shoots: number): KubernetesObject[] => [
  ...ZONES.flatMap((zone) => [0, 1, 2].map((index) => node({ metadata: { name: `node-${zone}-${index}` }, zone }))),
  ...Array.from({ length: shoots }, (_, index) => shootObjects(index)).flat(),
];

/** Where the API server keeps what is not under its plural. */
const FOLDERS: Readonly<Record<string, string>> = {
  Node: 'minions',
  Namespace: 'namespaces',
  Service: 'services/specs',
  EndpointSlice: 'endpointslices',
  Cluster: 'extensions.gardener.cloud/clusters',
  Etcd: 'druid.gardener.cloud/etcds',
};

/** Headless, so that no addresses have to be allocated. */
const headless = (object: KubernetesObject): KubernetesObject => {
  if (object.kind !== 'Service') return object;
  const { spec, ...rest }: Service = object;
  const families = { ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack', internalTrafficPolicy: 'Cluster' };
  const changed: Service = { ...rest, spec: { ...spec, ...families, clusterIP: 'None', clusterIPs: ['None'] } };
  return changed;
};

function* entries(shoots: number): Generator<StoredObject> {
  for (const object of landscapeObjects(shoots)) {
    const folder = FOLDERS[object.kind ?? ''];
    if (folder === undefined) throw new Error(`where does the API server keep a ${object.kind}?`);
    yield stored(folder, headless(object));
  }
}

const patched = (writes: readonly Write[]): number =>
  writes.filter(({ resource, verb, status }) => resource === 'services' && verb === 'patch' && status === 200).length;

for (const shoots of SIZES) {
  describe(`a Seed with ${shoots} shoots`, function () {
    this.timeout(1_800_000);
    const bed = useBed({ controllers: ['namespace-controller'] });
    const changing = shoots * CHANGING_SERVICES.length;
    const environment = describeEnvironment();
    const phases: ControllerPhase[] = [];
    const folder = temporaryFolder();
    let config: string;
    let client: Client;
    let reconciler: Component;

    before('the command as a bundle, the definitions, and the objects of a seed with its shoots', async () => {
      await makeBundle(folder.path);
      client = await connectAs(bed(), 'tester');
      for (const definition of gardenerCrds()) {
        await client.create(CUSTOM_RESOURCE_DEFINITIONS, definition);
        await untilServed(client, definition);
      }
      await client.create(NAMESPACES, { metadata: { name: ownNamespace } });
      await client.create(SEEDS, seed({ metadata: { name: SEED_NAME }, enabled: false }));
      await storeObjects(entries(shoots));
      await untilKnown(client, [SERVICES, ENDPOINT_SLICES, NAMESPACES, CLUSTERS, ETCDS]);
      const kubeconfig = await bed().kubeconfig({ user: RECONCILER_USER, groups: [mastersGroup] });
      const gardener = { version: 'v1.143.0', featureGates: { IstioTLSTermination: false } };
      config = join(bed().directory, 'settings-reconciler.json');
      const fields = {
        apiVersion: CONFIG_API_VERSION,
        kind: SETTINGS_RECONCILER_CONFIGURATION.kind,
        modes: { seed: { seedName: SEED_NAME, gardenKubeconfig: kubeconfig, gardener } },
        keep: 'on',
        log: { level: 'warn' },
        health: { port: 8083 },
        metrics: { port: 8084 },
      };
      writeFileSync(config, JSON.stringify(fields));
      reconciler = bed().program({
        name: 'settings-reconciler',
        command: [process.execPath, folder.at('settings-reconciler.js'), '--config', config],
        environment: { POD_NAMESPACE: ownNamespace, KUBECONFIG: kubeconfig },
      });
    });

    const keep = (): readonly ShootsStep[] => {
      const now: ShootsStep = { shoots, changing, environment: environment(), phases };
      const known = (keptResults('scale-shoots') ?? []) as readonly ShootsStep[];
      keepResults('scale-shoots', mergeShoots(known, now));
      return [now];
    };
    after(() => {
      if (phases.length > 0) console.log(`\n${formatShoots(keep())}\n`);
    });

    const until = <T>(what: string, probe: () => Promise<T> | T, accept: (value: T) => boolean): Promise<T> =>
      waitFor(what, probe, accept, {
        timeoutSeconds: LONGEST_SECONDS,
        intervalMs: 500,
        assert: () => reconciler.assertRunning(),
      });
    const phase = async (name: string, work: (writes: () => readonly Write[]) => Promise<unknown>): Promise<void> => {
      const measured = { controller: reconciler, user: RECONCILER_USER, healthUrl: `${HEALTH}/healthz` };
      phases.push(await measurePhase(name, bed(), measured, work));
      keep();
    };
    const start = async (): Promise<void> => {
      reconciler.start();
      await until('the settings-reconciler is ready', async () => (await fetch(`${HEALTH}/readyz`)).ok, Boolean);
    };
    /** Until nothing more is written. */
    const settle = async (writes: () => readonly Write[]): Promise<void> => {
      let [count, since] = [-1, performance.now()];
      await until(
        'the end of the writes',
        () => {
          const now = writes().length;
          if (now !== count) [count, since] = [now, performance.now()];
          return performance.now() - since;
        },
        (quietMs) => quietMs >= QUIET_MS,
      );
    };
    const flip = (enabled: boolean) => async (writes: () => readonly Write[]) => {
      await client.patch(SEEDS, { name: SEED_NAME }, 'merge', { spec: seed({ enabled }).spec });
      await until('a patch for each Service', () => patched(writes()), atLeast(changing));
    };

    it('starts with the setting off, and writes to no Service', async () => {
      await phase('start, setting off', async (writes) => {
        await start();
        await settle(writes);
        expect(patched(writes()), 'Services written').to.equal(0);
      });
    });

    it('writes each Service once when the setting is flipped on', async () => {
      await phase('setting flipped on', flip(true));
      await phase('after that, until nothing is written', settle);
      const again = phases.at(-1)?.writes['patch services'] ?? 0;
      expect((phases.at(-2)?.writes['patch services'] ?? 0) + again).to.equal(changing);
    });

    it('writes to no Service after a restart', async () => {
      await reconciler.stop();
      await phase('restart, setting on', async (writes) => {
        await start();
        await settle(writes);
        expect(patched(writes()), 'Services written').to.equal(0);
      });
      await reconciler.stop();
    });
  });
}
