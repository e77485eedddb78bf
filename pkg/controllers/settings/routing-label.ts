// Labels the namespaces in which admission keeps our values or chooses Etcds' client Services, and removes the labels again.
import type { SettingsReconcilerConfiguration } from '../../apis/config/settings-reconciler.ts';
import type { Namespace } from '../../apis/core.ts';
import { LABEL_ETCD_CLIENTS, LABEL_ROUTING } from '../../apis/names.ts';
import { nameOf } from '../../apis/object.ts';
import { NAMESPACES } from '../../apis/resources.ts';
import { isNotFound } from '../../kubernetes/errors.ts';
import type { Client } from '../../kubernetes/types.ts';
import { isHeld } from '../../gardener/decide.ts';
import type { NamespaceDecision, ObjectDecision } from './types.ts';

export interface LabelWish {
  readonly keep: SettingsReconcilerConfiguration['keep'];
  /** Something in the namespace has settings of this project. */
  readonly manages: boolean;
  /** An owner there keeps rewriting what we set, or is known to. */
  readonly rewritten: boolean;
  readonly labelled: boolean;
}

/** The labels that this project writes on a namespace. */
export interface NamespaceLabels {
  /** Admission keeps our settings in the writes of others. */
  readonly routing: boolean;
  /** Admission sets and hints the client Services of Etcds. */
  readonly etcdClients: boolean;
}

export const NO_LABELS: NamespaceLabels = { routing: false, etcdClients: false };

/** Whether our settings should be kept. With `auto` the label itself remembers that there was a fight. */
export const wantsRoutingLabel = ({ keep, manages, rewritten, labelled }: LabelWish): boolean => {
  if (keep === 'off' || !manages) return false;
  return keep === 'on' || rewritten || labelled;
};

const isRefusedEtcd = ({ kind, want }: ObjectDecision): boolean => kind === 'Etcd' && want === undefined;

/** The labels that a decision asks for; undefined where it says nothing about what is wanted, and they stay as they are. */
export const labelsFor = (
  { decision, scope, objects }: NamespaceDecision,
  { keep, fighting, labelled }: Pick<LabelWish, 'keep' | 'labelled'> & { readonly fighting: boolean },
): NamespaceLabels | undefined => {
  if (isHeld(decision) || objects.some((item) => isHeld(item.decision))) return undefined;
  const enabled = objects.filter(({ want }) => want !== undefined);
  const services = enabled.filter(({ kind }) => kind === 'Service');
  const rewritten = fighting || services.some((item) => item.rewritten === true);
  return {
    routing: wantsRoutingLabel({ keep, manages: services.length > 0, rewritten, labelled }),
    // Before there is an Etcd, so that its client Service and slices are right from their first write on.
    etcdClients: decision.kind === 'enabled' && scope !== undefined && !objects.some(isRefusedEtcd),
  };
};

export interface LabelWriter {
  client: Pick<Client, 'patch'>;
  /** What the label says of this installation. Default `true`. */
  value?: string;
}

/** What differs, as the labels of a merge patch. */
const changesOf = (namespace: Namespace, wanted: NamespaceLabels, value: string): Record<string, string | null> => {
  const wishes = [
    [LABEL_ROUTING, wanted.routing ? value : undefined],
    [LABEL_ETCD_CLIENTS, wanted.etcdClients ? 'true' : undefined],
  ] as const;
  const has = namespace.metadata?.labels ?? {};
  return Object.fromEntries(wishes.flatMap(([key, wish]) => (has[key] === wish ? [] : [[key, wish ?? null]])));
};

/** Sets or removes the labels that are not as wanted; the namespace as it is then, undefined once it is gone. */
export const writeLabels = async (
  namespace: Namespace,
  wanted: NamespaceLabels,
  { client, value = 'true' }: LabelWriter,
  signal: AbortSignal,
): Promise<Namespace | undefined> => {
  const name = nameOf(namespace);
  const labels = changesOf(namespace, wanted, value);
  if (Object.keys(labels).length === 0) return namespace;
  try {
    return await client.patch<Namespace>(NAMESPACES, { name }, 'merge', { metadata: { labels } }, {}, signal);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
};

/** What of it a namespace has, or is to have: nothing is removed by writing this. */
export const withPresent = (namespace: Namespace, wanted: NamespaceLabels, value = 'true'): NamespaceLabels => {
  const has = namespace.metadata?.labels ?? {};
  return {
    routing: wanted.routing || has[LABEL_ROUTING] === value,
    etcdClients: wanted.etcdClients || has[LABEL_ETCD_CLIENTS] === 'true',
  };
};
