// The Services that ask for routing through us, judged as an audit judges them, and where admission may be tried.
import type { Service } from '../../apis/core.ts';
import {
  ANNOTATION_APPLIED,
  ANNOTATION_TOPOLOGY_MODE,
  GROUP,
  LABEL_CONSIDER,
  LABEL_MANAGED,
  LABEL_NAMESPACE_NAME,
  LABEL_STRATEGY,
} from '../../apis/names.ts';
import { byText, nameOf } from '../../apis/values.ts';
import { audit } from '../audit/audit.ts';
import { matchesSelector } from '../../routing/types.ts';
import { serviceRefOf } from '../models/lookup.ts';
import { itemsOf, known } from '../snapshot.ts';
import { type StatusEvidence, type StatusObjects, registrationsOf } from './evidence.ts';

/** It carries one of our labels or annotations, and is not left out by one. */
const isManaged = ({ metadata }: Service): boolean => {
  const { labels = {}, annotations = {} } = metadata ?? {};
  if (labels[LABEL_MANAGED] === 'false') return false;
  return (
    labels[LABEL_MANAGED] === 'true' ||
    labels[LABEL_STRATEGY] !== undefined ||
    labels[LABEL_CONSIDER] === 'true' ||
    annotations[ANNOTATION_APPLIED] !== undefined ||
    (annotations[ANNOTATION_TOPOLOGY_MODE] ?? '').startsWith(`${GROUP}/`)
  );
};

/** Null where Services or slices could not be seen. */
export const servicesStatus = ({ snapshot, now }: StatusEvidence) => {
  if (snapshot.services.kind === 'unknown' || snapshot.slices.kind === 'unknown') return null;
  const own = { ...snapshot, services: known(itemsOf(snapshot.services).filter(isManaged)) };
  const { sum, causes } = audit(own, { now });
  return {
    count: sum.services,
    effective: sum.verdicts.Effective,
    /** Effective if the router of every Node is what it is taken to be. */
    assumed: sum.verdicts.Assumed,
    /** Nothing is wrong, and who routes on some Node is not known. */
    unknown: sum.verdicts.Unknown,
    ineffective: sum.verdicts.Ineffective,
    notWanted: sum.verdicts.NotWanted,
    /** First causes, most Services first. */
    causes: causes
      .map(({ reason, services }) => ({ reason, services }))
      .sort((a, b) => b.services - a.services || byText(a.reason, b.reason)),
  };
};

export type ServicesStatus = NonNullable<ReturnType<typeof servicesStatus>>;

/** The first namespace that the webhook serves, rather one with managed Services; empty where none is known, undefined where no webhook is registered. */
export const probedNamespace = ({ snapshot, namespaces }: StatusObjects): string | undefined => {
  const webhooks = registrationsOf(snapshot).filter(({ slices }) => slices);
  if (webhooks.length === 0) return undefined;
  const services = itemsOf(snapshot.services);
  const labelsOf = new Map([
    ...services.map((service) => [serviceRefOf(service).namespace, {}] as const),
    ...namespaces.map((namespace) => [nameOf(namespace), namespace.metadata?.labels ?? {}] as const),
  ]);
  const own = new Set(services.filter(isManaged).map((service) => serviceRefOf(service).namespace));
  const served = [...labelsOf].filter(([name, labels]) =>
    webhooks.some(({ namespaceSelector }) =>
      matchesSelector(namespaceSelector, { ...labels, [LABEL_NAMESPACE_NAME]: name }),
    ),
  );
  const [first] = served.sort(([a], [b]) => Number(own.has(b)) - Number(own.has(a)) || byText(a, b));
  return first?.[0] ?? '';
};
