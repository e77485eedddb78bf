// Gardener's owners of Services as processes, what they write, and the definitions that they need.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { Garden } from '../../../pkg/apis/gardener.ts';
import type { KubernetesObject } from '../../../pkg/apis/meta.ts';
import { mastersGroup } from '../bed/access.ts';
import { builtProgram } from '../bed/binaries.ts';
import type { Bed } from '../bed/index.ts';
import { run, waitFor } from '../bed/machine.ts';
import { documents, root } from '../chart.ts';

const folders = {
  'github.com/gardener/gardener': 'owner',
  'github.com/gardener/etcd-druid/api': 'etcd-druid-0.36',
} as const;

/** Where the module cache has a module, at the version that hack/gardener builds; downloads it where it is missing. */
export const moduleFolder = async (module: keyof typeof folders): Promise<string> => {
  const output = await run('go', [
    '-C',
    join(root, 'hack/gardener', folders[module]),
    'mod',
    'download',
    '-json',
    module,
  ]);
  return (JSON.parse(output) as { Dir: string }).Dir;
};

const read = (folder: string, isWanted: (file: string) => boolean): KubernetesObject[] =>
  readdirSync(folder)
    .filter((file) => file.endsWith('.yaml') && isWanted(file))
    .map((file) => parse(readFileSync(join(folder, file), 'utf8')) as KubernetesObject);

/** Those that gardenlet and gardener-operator watch (gardenlet ends after two minutes without), and that the components write. */
const OF_SEED =
  /extensions\.gardener\.cloud_|_(managedresources|servicemonitors|prometheusrules|verticalpodautoscalers)\.yaml$/;

/** All of a seed that is also a garden runtime that routing, or its owners, have to do with. */
export const realDefinitions = async (): Promise<KubernetesObject[]> => {
  const gardener = await moduleFolder('github.com/gardener/gardener');
  const druid = await moduleFolder('github.com/gardener/etcd-druid/api');
  return [
    ...read(join(gardener, 'example/seed-crds'), (file) => file.startsWith('10-crd-') && OF_SEED.test(file)),
    ...read(join(gardener, 'example/operator'), (file) => file.startsWith('10-crd-operator.gardener.cloud')),
    ...read(join(druid, 'core/v1alpha1/crds'), (file) => !file.includes('without_cel')),
  ];
};

/** Gardener's own example of a Garden, three zones, with the setting off: the definition asks for much more than routing reads. */
export const realGarden = async (zones: readonly string[]): Promise<Garden> => {
  const file = join(await moduleFolder('github.com/gardener/gardener'), 'example/operator/20-garden.yaml');
  // kubectl leaves out what is null, as in a section whose fields are all commented out.
  const found = documents<Garden>(readFileSync(file, 'utf8')).find(({ kind }) => kind === 'Garden');
  const { spec, ...example } = JSON.parse(
    JSON.stringify(found ?? {}),
    (_, value: unknown) => value ?? undefined,
  ) as Garden;
  const { provider, ...runtimeCluster } = spec?.runtimeCluster ?? {};
  const settings = { topologyAwareRouting: { enabled: false } };
  return {
    ...example,
    metadata: { name: 'garden' },
    spec: {
      ...spec,
      runtimeCluster: { ...runtimeCluster, provider: { ...provider, zones: [...zones] }, settings },
      virtualCluster: { ...spec?.virtualCluster, controlPlane: { highAvailability: {} } },
    },
  };
};

interface DeployOptions {
  readonly namespace: string;
  /** Whether it routes by zone. */
  readonly enabled: boolean;
  /** What it takes the version of the runtime cluster to be. Default `1.36.3`. */
  readonly runtime?: string;
  /** Bound of the component's own Wait. Default: it does not wait. */
  readonly waitSeconds?: number;
}

/** How long a component's Deploy and its Wait took, in milliseconds. */
export interface Deployed {
  readonly deployMs: number;
  readonly waitMs: number;
}

export interface Owner {
  /** Its name in the audit log. */
  readonly user: string;
  /**
   * One component's Deploy, and its Wait where asked.
   *
   * @param component the Service's name in the catalogue.
   * @throws CommandError with Gardener's words, for example those of its Wait.
   */
  deploy(component: string, options: DeployOptions): Promise<Deployed>;
  /** Writes objects.yaml, tls.crt and tls.key of etcd-druid, as gardenlet installs it, to a folder. */
  describeDruid(folder: string): Promise<void>;
}

const PROGRAM = 'gardener/owner/owner';
export const RUNTIME = '1.36.3';

/**
 * Gardener's own words on something that needs no cluster.
 *
 * @param input a file for its standard input. Default: nothing.
 */
export const askGardener = (args: readonly string[], input = '/dev/null'): Promise<string> =>
  run('sh', ['-c', 'input=$1; shift; exec "$0" "$@" <"$input"', builtProgram(PROGRAM), input, ...args]);

/** @param user `gardenlet` for control planes of Shoots, `gardener-operator` for the garden. */
export const openOwner = async (bed: Bed, user: 'gardenlet' | 'gardener-operator'): Promise<Owner> => {
  const name = `system:serviceaccount:garden:${user}`;
  const kubeconfig = await bed.kubeconfig({ user: name, groups: [mastersGroup] });
  const [enter, ...prefix] = bed.enter;
  const call = (...args: string[]): Promise<string> =>
    run(enter, [...prefix, builtProgram(PROGRAM), ...args, '--kubeconfig', kubeconfig]);
  return {
    user: name,
    async deploy(component, { namespace, enabled, runtime = RUNTIME, waitSeconds = 0 }) {
      const flags = [
        '--namespace',
        namespace,
        '--runtime',
        runtime,
        `--enabled=${enabled}`,
        '--wait',
        `${waitSeconds}s`,
      ];
      return JSON.parse(await call('deploy', component, ...flags)) as Deployed;
    },
    describeDruid: async (folder) => void (await call('druid', '--folder', folder, '--runtime', RUNTIME)),
  };
};

interface Version<T> {
  /** When it arrived, in milliseconds of `performance.now()`. */
  readonly atMs: number;
  readonly object: T;
}

interface Watched<T> {
  /** Waits for the version that stands now, ends the watch, and returns all, oldest first, those included that were replaced at once. */
  stop(): Promise<readonly Version<T>[]>;
}

interface Versioned {
  readonly metadata?: { readonly resourceVersion?: string };
}

const versionOf = ({ metadata }: Versioned): string | undefined => metadata?.resourceVersion;

/** Resolves once the watch is open; `collection` is the path of the collection, e.g. `/api/v1/namespaces/garden/services`. */
export const watchVersions = async <T extends Versioned>(
  bed: Bed,
  collection: string,
  name: string,
): Promise<Watched<T>> => {
  const path = `${collection}?fieldSelector=metadata.name%3D${name}`;
  const stopping = new AbortController();
  const versions: Version<T>[] = [];
  const add = (object: T): unknown => versions.push({ atMs: performance.now(), object });
  const { promise: open, resolve } = Promise.withResolvers<void>();
  const follow = async (): Promise<void> => {
    // Changes alone would not do: what is bare shows beside what stood before.
    const begin = (before: readonly T[]): void => {
      before.forEach(add);
      resolve();
    };
    for await (const { type, object } of bed.api.watch<T>(path, stopping.signal, begin)) {
      if (type === 'ADDED' || type === 'MODIFIED') add(object);
    }
  };
  const following = follow();
  await Promise.race([open, following]);
  return {
    async stop() {
      await waitFor(
        `the last version of ${name}`,
        () => bed.api.list<Versioned>(path),
        (now) => now.every((object) => versions.some((seen) => versionOf(seen.object) === versionOf(object))),
      );
      stopping.abort();
      await following;
      return versions;
    },
  };
};

/** How long, in milliseconds, versions without a value stood where there had been one before; one that stands last counts until `untilMs`. */
export const bareMs = <T>(versions: readonly Version<T>[], isBare: (object: T) => boolean, untilMs: number): number => {
  const first = versions.findIndex(({ object }) => !isBare(object));
  if (first === -1) return 0;
  return versions
    .slice(first)
    .map(({ atMs, object }, index, all) => (isBare(object) ? (all[index + 1]?.atMs ?? untilMs) - atMs : 0))
    .reduce((sum, ms) => sum + ms, 0);
};
