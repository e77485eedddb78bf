// Why a webhook that should write hints has not: missing, not selecting, without endpoint, expired, or away.
import type { LabelSelector } from '../../apis/admission.ts';
import type { StringMap } from '../../apis/meta.ts';
import { LABEL_NAMESPACE_NAME } from '../../apis/names.ts';
import { nameOf } from '../../apis/object.ts';
import { serviceKeyOfRef, serviceRefOf } from '../models/lookup.ts';
import { itemsOf } from '../snapshot.ts';
import type { WebhookSummary } from '../snapshot.ts';
import { cause, listed } from './cause.ts';
import { readyEndpoints } from './facts.ts';
import type { Cause, Facts, ReadyEndpoint } from './types.ts';

type Requirement = NonNullable<LabelSelector['matchExpressions']>[number];

const holds = ({ key, operator, values = [] }: Requirement, labels: StringMap): boolean => {
  const value = labels[key];
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
  }
};

export const selects = ({ matchLabels = {}, matchExpressions = [] }: LabelSelector, labels: StringMap): boolean =>
  Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
  matchExpressions.every((requirement) => holds(requirement, labels));

/** Of a namespace only the name is known: what selectors say about other labels is taken to hold. */
const selectsNamespace = ({ matchLabels = {}, matchExpressions = [] }: LabelSelector, namespace: string): boolean =>
  selects(
    {
      matchLabels: Object.fromEntries(Object.entries(matchLabels).filter(([key]) => key === LABEL_NAMESPACE_NAME)),
      matchExpressions: matchExpressions.filter(({ key }) => key === LABEL_NAMESPACE_NAME),
    },
    { [LABEL_NAMESPACE_NAME]: namespace },
  );

const named = ({ configuration, name }: WebhookSummary): string => `webhook ${name} of ${configuration}`;

/** Why a webhook that selects the slices cannot answer; undefined where nothing is against it. */
const whyDead = (facts: Facts, webhook: WebhookSummary): Cause | undefined => {
  const { snapshot, index, options } = facts;
  const { service, caNotAfter } = webhook;
  if (service !== undefined) {
    const key = serviceKeyOfRef(service);
    const slices = index.slices.get(key);
    const listedService = itemsOf(snapshot.services).some((each) => serviceKeyOfRef(serviceRefOf(each)) === key);
    const ready = [...readyEndpoints(slices ?? [], 'IPv4'), ...readyEndpoints(slices ?? [], 'IPv6')];
    // Files may leave out the webhook's own Service; a cluster was asked for its slices.
    const judged = slices !== undefined || listedService || snapshot.version !== undefined;
    if (judged && ready.length === 0) {
      return cause('given', 'WebhookWithoutEndpoint', `Service ${key} behind ${named(webhook)} has no ready endpoint.`);
    }
  }
  if (caNotAfter !== undefined && caNotAfter <= options.now) {
    const end = new Date(caNotAfter).toISOString();
    return cause('given', 'WebhookCertificateExpired', `The caBundle of ${named(webhook)} was valid until ${end}.`);
  }
  return undefined;
};

/** `unhinted`: ready endpoints in slices that a strategy label asks hints for. */
export const webhookCauses = (facts: Facts, unhinted: readonly ReadyEndpoint[]): Cause[] => {
  const { snapshot, ref, service } = facts;
  if (unhinted.length === 0) return [];
  const slices = [...new Set(unhinted.map(({ slice }) => slice))];
  const what = `slice ${listed(slices.map(nameOf))} stored without hints`;
  if (snapshot.webhooks.kind === 'unknown') {
    const evidence = `${what}; whether a webhook serves it could not be seen (${snapshot.webhooks.why}).`;
    return [cause('given', 'WebhookSkipped', evidence)];
  }
  const serving = snapshot.webhooks.items.filter((webhook) => webhook.slices);
  if (serving.length === 0) {
    return [cause('given', 'WebhookMissing', `${what}; no MutatingWebhookConfiguration serves EndpointSlices.`)];
  }
  const selecting = serving.filter(
    ({ objectSelector, namespaceSelector }) =>
      slices.some(({ metadata }) => selects(objectSelector, { ...service.metadata?.labels, ...metadata?.labels })) &&
      selectsNamespace(namespaceSelector, ref.namespace),
  );
  if (selecting.length === 0) {
    const evidence = `${what}; ${listed(serving.map(named))} does not select it in namespace ${ref.namespace}.`;
    return [cause('given', 'WebhookDoesNotSelect', evidence)];
  }
  const dead = selecting.map((webhook) => whyDead(facts, webhook)).filter((found) => found !== undefined);
  if (dead.length > 0) return dead;
  return [cause('given', 'WebhookSkipped', `${what}, although ${listed(selecting.map(named))} serves it.`)];
};
