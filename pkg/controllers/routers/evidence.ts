// Reads now and then who load-balances Services. What may not be read shows nothing; what fails for a moment stays as it was.
import type { Node } from '../../apis/core.ts';
import { defined, orElse } from '../../apis/values.ts';
import type { KubernetesObject, ObjectMeta } from '../../apis/meta.ts';
import { CONFIG_MAPS, DAEMON_SETS, PODS, resource } from '../../apis/resources.ts';
import { type Clients, clientsOf } from '../../diagnosis/models/routes.ts';
import { metadataOf } from '../../diagnosis/project/fields.ts';
import { routerOf } from '../../diagnosis/project/routers.ts';
import { KUBE_PROXY_AGENT, isAgent } from '../../diagnosis/routers/planes.ts';
import type { RouterObject } from '../../diagnosis/routers/types.ts';
import type { Cache } from '../../kubernetes/cache.ts';
import { isForbidden, isNotFound } from '../../kubernetes/errors.ts';
import { pause } from '../../kubernetes/wait.ts';
import type { Uses } from '../../kubernetes/types.ts';

const SYSTEM = 'kube-system';
const FELIX = resource('crd.projectcalico.org', 'v1', 'FelixConfiguration', false);
/** Data planes change with an upgrade of the cluster. */
const PERIOD_MS = 600_000;
const RETRY_MS = 15_000;

interface RouterEvidenceOptions extends Uses<'client' | 'clock' | 'logger', 'list' | 'get'> {
  /** Whether the account may list the Pods of kube-system; without, static Pods are not asked for. Default false. */
  readonly pods?: boolean;
}

/** Objects whose fields are not what the API has there say nothing. */
const routersIn = (kind: string, object: KubernetesObject): RouterObject[] => {
  const found = orElse(() => routerOf({ ...object, kind }, metadataOf({ ...object }, false)), undefined);
  return found === undefined ? [] : [found];
};

const PROXY_PODS = (KUBE_PROXY_AGENT.labels ?? []).map(([key, value]) => `${key}=${value}`);

/** Reads a part, by itself; `before`: what the parts before it found. */
type ReadPart = (signal: AbortSignal, before: readonly RouterObject[]) => Promise<RouterObject[]>;

const partsOf = ({ client, pods = false }: RouterEvidenceOptions): Readonly<Record<string, ReadPart>> => ({
  async daemonsets(signal) {
    const { items } = await client.list(DAEMON_SETS, { namespace: SYSTEM }, signal);
    return items.flatMap((item) => routersIn('DaemonSet', item));
  },
  async 'cilium-config'(signal) {
    const object = await client.get(CONFIG_MAPS, { namespace: SYSTEM, name: 'cilium-config' }, signal);
    return routersIn('ConfigMap', object);
  },
  async 'static Pods'(signal, before) {
    // A DaemonSet describes all its Pods; without one each Node has a static Pod, which may have a version of its own.
    if (!pods || before.some((object) => object.kind === 'DaemonSet' && isAgent(KUBE_PROXY_AGENT, object))) return [];
    const lists = await Promise.all(
      PROXY_PODS.map((labelSelector) => client.list(PODS, { namespace: SYSTEM, labelSelector }, signal)),
    );
    return lists.flatMap(({ items }) => items.flatMap((item) => routersIn('Pod', item)));
  },
  [FELIX.plural]: async (signal) => routersIn(FELIX.kind, await client.get(FELIX, { name: 'default' }, signal)),
});

export const createRouterEvidence = (options: RouterEvidenceOptions) => {
  const { clock, logger } = options;
  const parts = Object.entries(partsOf(options));
  const known = new Map<string, readonly RouterObject[]>();
  const callbacks: (() => void)[] = [];
  let last: readonly RouterObject[] | undefined;

  const read = async (signal: AbortSignal): Promise<void> => {
    for (const [what, look] of parts) {
      try {
        known.set(what, await look(signal, [...known.values()].flat()));
      } catch (error) {
        if (signal.aborted) return;
        logger.debug('cannot read which data plane routes', { what, error });
        if (isForbidden(error) || isNotFound(error)) known.set(what, []);
      }
    }
    if (known.size < parts.length) return;
    const found = parts.flatMap(([what]) => known.get(what) ?? []);
    const changed = JSON.stringify(found) !== JSON.stringify(last);
    last = found;
    if (changed) for (const callback of callbacks) callback();
  };

  return {
    /** Undefined until all of it was read or refused once. */
    objects: (): readonly RouterObject[] | undefined => last,
    /** Calls back when what was read became another. */
    onChange: (callback: () => void): void => void callbacks.push(callback),
    /** Reads once; what goes wrong is logged, and what was known before stays, as it does when the signal aborts. */
    read,
    /** Resolves when the signal aborts. */
    async run(signal: AbortSignal): Promise<void> {
      while (await pause(clock, last === undefined ? RETRY_MS : PERIOD_MS, signal)) await read(signal);
    },
  };
};

export type RouterEvidence = ReturnType<typeof createRouterEvidence>;

/** Labels by which DaemonSets of data planes select Nodes, and by which Nodes show who routes and whether their zone is one. */
const PLACING =
  /^(?:kubernetes\.io\/(?:os|arch)$|kubernetes\.azure\.com\/cluster$|eks\.amazonaws\.com\/compute-type$|worker\.gardener\.cloud\/|type$)/;
/** Where k3s and RKE2 keep the arguments of their servers. */
const ARGUMENTS = /^(?:k3s|rke2)\.io\/node-args$/;

const kept = <K extends 'labels' | 'annotations'>(meta: ObjectMeta | undefined, field: K, keys: RegExp) => {
  const found = Object.entries(meta?.[field] ?? {}).filter(([key]) => keys.test(key));
  return found.length === 0 ? {} : { [field]: Object.fromEntries(found) };
};

/** The fields of a Node that show its data plane; for caches that keep little else. */
export const routingMeta = (meta: ObjectMeta | undefined): Pick<ObjectMeta, 'labels' | 'annotations'> => ({
  ...kept(meta, 'labels', PLACING),
  ...kept(meta, 'annotations', ARGUMENTS),
});

/** Who routes on a Node and whether it is ready; for the same caches. */
export const routingStatus = ({ status }: Node): Pick<NonNullable<Node['status']>, 'conditions' | 'nodeInfo'> => {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return {
    conditions: ready === undefined ? [] : [{ type: 'Ready', status: ready.status }],
    nodeInfo: defined({ kubeletVersion: status?.nodeInfo?.kubeletVersion }),
  };
};

const relevant = ({ metadata, status }: Node): string =>
  JSON.stringify([metadata?.labels, metadata?.annotations, status?.conditions, status?.nodeInfo]);

export const createClients = (
  nodes: Pick<Cache<Node>, 'list' | 'onChange'>,
  routers: Pick<RouterEvidence, 'objects' | 'onChange'>,
): (() => readonly Clients[]) => {
  let known: readonly Clients[] | undefined;
  nodes.onChange((node, previous, deleted) => {
    if (deleted || previous === undefined || relevant(node) !== relevant(previous)) known = undefined;
  });
  routers.onChange(() => (known = undefined));
  return () => (known ??= clientsOf(nodes.list(), routers.objects()));
};
