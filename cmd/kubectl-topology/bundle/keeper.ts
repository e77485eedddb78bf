// SPDX-License-Identifier: Apache-2.0
// Keeps those objects that a bundle needs: this project's, and the ones that findings are based on; bounded.
import { EXTENSION_NAME, EXTENSION_TYPE, LABEL_SERVICE_NAME } from '../../../pkg/apis/names.ts';
import { webhooksOf } from '../../../pkg/diagnosis/project/admission.ts';
import { textAt } from '../../../pkg/diagnosis/project/fields.ts';
import { metadataOf } from '../../../pkg/diagnosis/project/metadata.ts';
import { isAgentSet, routerConfigOf } from '../../../pkg/diagnosis/project/routers.ts';
import { registrationsOf, warningOf } from '../../../pkg/diagnosis/status/read-admission.ts';
import { isOfChart } from '../../../pkg/diagnosis/status/read-workloads.ts';
import { isManaged } from '../../../pkg/diagnosis/status/services.ts';
import { redacted } from './redact.ts';
import type { Fields } from '../../../pkg/apis/fields.ts';
import { isFields } from '../../../pkg/apis/fields.ts';

export interface Keeper {
  keep(object: unknown): void;
  /** By kind. */
  objects(): ReadonlyMap<string, readonly Fields[]>;
  /** `Nodes: 120 of 5,120` and the like. */
  leftOut(): readonly string[];
}

/** Most objects of each kind; the first ones by name are kept, of Events the newest. */
const LIMITS: Readonly<Record<string, number>> = { Node: 5_000, Namespace: 5_000, Event: 200 };
const LIMIT = 1_000;

const isPolicy = (kind: unknown): boolean =>
  kind === 'MutatingAdmissionPolicy' || kind === 'MutatingAdmissionPolicyBinding';

const SYSTEM = 'kube-system';
const namespaceOf = (object: Fields): string => metadataOf(object, false).namespace ?? '';

/** Whether it is this project's, or findings are based on it. For slices that is known once all Services are. */
const isWanted = (object: Fields): boolean => {
  const { kind } = object;
  if (kind === 'Service') return isManaged(object) || isOfChart(object, EXTENSION_NAME);
  if (kind === 'DaemonSet') return isAgentSet(object);
  if (kind === 'ConfigMap' && namespaceOf(object) === SYSTEM) {
    return isOfChart(object, EXTENSION_NAME) || routerConfigOf(object) !== undefined;
  }
  if (kind === 'MutatingWebhookConfiguration') {
    return registrationsOf(object).length > 0 || webhooksOf(object).some(({ slices }) => slices);
  }
  if (isPolicy(kind)) return isOfChart(object, EXTENSION_NAME);
  if (kind === 'Extension') return isFields(object['spec']) && object['spec']['type'] === EXTENSION_TYPE;
  return kind !== 'Event' || warningOf(object) !== undefined;
};

const fullNameIn = (object: Fields): string => {
  const { namespace = '', name } = metadataOf(object, false);
  return `${namespace}/${name}`;
};

/** Of a slice the name of its Service. */
const serviceOf = (object: Fields): string => {
  const { namespace = '', labels = {} } = metadataOf(object, false);
  return `${namespace}/${labels[LABEL_SERVICE_NAME] ?? ''}`;
};

const orderOf = (object: Fields): string => (object['kind'] === 'Event' ? lastSeen(object) : fullNameIn(object));

/** Newest first. */
const lastSeen = (object: Fields): string => {
  const time = Date.parse(textAt(object, 'lastTimestamp') ?? textAt(object, 'eventTime') ?? '');
  return String(Number.MAX_SAFE_INTEGER - (Number.isNaN(time) ? 0 : time));
};

export const createKeeper = (): Keeper => {
  const kept = new Map<string, Map<string, Fields>>();

  const chosen = (kind: string): Fields[] => {
    const all = [...(kept.get(kind)?.values() ?? [])];
    const services = new Set(kept.get('Service')?.keys() ?? []);
    const wanted = kind === 'EndpointSlice' ? all.filter((slice) => services.has(serviceOf(slice))) : all;
    return wanted
      .map((object) => [orderOf(object), object] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, object]) => object);
  };

  const limitOf = (kind: string): number => LIMITS[kind] ?? LIMIT;

  return {
    keep(object) {
      if (!isFields(object) || !isWanted(object)) return;
      const copy = redacted(object);
      if (copy === undefined) return;
      const kind = String(copy['kind']);
      const own = kept.get(kind) ?? new Map<string, Fields>();
      // Lists that begin anew bring the same objects once more.
      own.set(fullNameIn(object), copy);
      kept.set(kind, own);
    },
    objects: () => new Map([...kept.keys()].sort().map((kind) => [kind, chosen(kind).slice(0, limitOf(kind))])),
    leftOut: () =>
      [...kept.keys()].sort().flatMap((kind) => {
        const count = chosen(kind).length;
        return count > limitOf(kind) ? [`${kind}: ${limitOf(kind)} of ${count}`] : [];
      }),
  };
};
