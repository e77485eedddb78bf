// Mutating admission: the webhooks of the stored configurations, called one after another as kube-apiserver does.
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { MutatingWebhook } from '../../pkg/apis/admission.ts';
import { MUTATING_WEBHOOK_CONFIGURATIONS } from '../../pkg/apis/resources.ts';
import { matchesConditions, matchesNamespace, matchesObject, matchesRules } from './admission-match.ts';
import type { Admission, AdmissionInput } from './admission-types.ts';
import { badRequest, internal, statusError, type StatusError } from './errors.ts';
import { asArray, asRecord, asString, isRecord, labelsOf, nameOf, type StoredObject } from './object.ts';
import { applyJsonPatch, decodeJsonPatch, PatchError, type PatchOperation } from './patch-json.ts';
import { resourceKey, type ObjectStore } from './store.ts';
import { WebhookCallError, type WebhookCaller } from './webhook-call.ts';

interface Dependencies {
  readonly store: ObjectStore;
  readonly caller: WebhookCaller;
}

const CONFIGURATIONS = resourceKey(MUTATING_WEBHOOK_CONFIGURATIONS);
const ADMISSION_GROUP = 'admissionregistration.k8s.io';
const BAD_REQUEST = 400;
const MAX_WARNING = 256;

const reviewRequest = (input: AdmissionInput, object: StoredObject | undefined): Record<string, unknown> => {
  const { operation, resource, namespace, name, old, context } = input;
  const { group, version, kind, plural } = resource;
  const gvk = { group, version, kind };
  const gvr = { group, version, resource: plural };
  const sub = context.subresource === undefined ? {} : { subResource: context.subresource };
  const requestSub = context.subresource === undefined ? {} : { requestSubResource: context.subresource };
  const isNamespace = group === '' && plural === 'namespaces';
  return {
    uid: randomUUID(),
    kind: gvk,
    resource: gvr,
    ...sub,
    requestKind: gvk,
    requestResource: gvr,
    ...requestSub,
    ...(name === '' ? {} : { name }),
    ...(namespace === '' && !isNamespace ? {} : { namespace: isNamespace ? name : namespace }),
    operation,
    userInfo: { username: context.actor.username, groups: context.actor.groups },
    object: object ?? null,
    oldObject: old ?? null,
    dryRun: context.dryRun ?? false,
    options: context.options ?? {
      kind: `${operation.charAt(0)}${operation.slice(1).toLowerCase()}Options`,
      apiVersion: 'meta.k8s.io/v1',
    },
  };
};

/** A webhook's no, worded as the real server does. */
const denied = (webhook: string, status: Record<string, unknown>): StatusError => {
  const head = `admission webhook ${JSON.stringify(webhook)} denied the request`;
  const message = asString(status['message']);
  const reason = asString(status['reason']);
  const code = Number(status['code'] ?? 0);
  const text =
    message === '' ? (reason === '' ? `${head} without explanation` : `${head}: ${reason}`) : `${head}: ${message}`;
  return statusError(code < BAD_REQUEST ? BAD_REQUEST : code, reason, text);
};

const decodePatch = (response: Record<string, unknown>): PatchOperation[] => {
  const { patch, patchType } = response;
  const empty = patch === undefined || patch === null || patch === '';
  if (empty && (patchType === undefined || patchType === null || patchType === '')) return [];
  if (empty || patchType !== 'JSONPatch')
    throw new WebhookCallError('webhook returned response.patch but not response.patchType, or the reverse');
  try {
    return decodeJsonPatch(JSON.parse(Buffer.from(asString(patch), 'base64').toString('utf8')));
  } catch (error) {
    throw new WebhookCallError(error instanceof Error ? error.message : String(error));
  }
};

/** Checks the envelope; returns the response. Throws WebhookCallError. */
const openReview = (review: Record<string, unknown>, uid: string): Record<string, unknown> => {
  if (review['apiVersion'] !== 'admission.k8s.io/v1' || review['kind'] !== 'AdmissionReview')
    throw new WebhookCallError(
      `expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got ${String(review['apiVersion'])}, Kind=${String(review['kind'])}`,
    );
  const { response } = review;
  if (!isRecord(response)) throw new WebhookCallError('webhook response was absent');
  if (response['uid'] !== uid)
    throw new WebhookCallError(`expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(response['uid'])}`);
  return response;
};

const patched = (object: StoredObject, operations: readonly PatchOperation[]): StoredObject => {
  let result: unknown;
  try {
    result = applyJsonPatch(object, operations);
  } catch (error) {
    if (error instanceof PatchError) throw internal(error.message);
    throw error;
  }
  if (!isRecord(result) || !isRecord(result['metadata'])) throw internal('the patched object cannot be decoded');
  for (const map of ['labels', 'annotations'] as const) {
    const values = Object.values(asRecord(result['metadata'][map]));
    if (values.some((value) => typeof value !== 'string'))
      throw internal(`json: cannot unmarshal into Go struct field ObjectMeta.metadata.${map} of type string`);
  }
  return { ...result, metadata: result['metadata'] };
};

export const createAdmission = ({ store, caller }: Dependencies): Admission => {
  const webhooks = (): MutatingWebhook[] =>
    store.list(CONFIGURATIONS).flatMap((configuration) => asArray(configuration['webhooks']) as MutatingWebhook[]);

  const concerns = (webhook: MutatingWebhook, input: AdmissionInput, object: StoredObject | undefined): boolean => {
    if (!matchesRules(webhook.rules, input)) return false;
    const labels = labelsOf(store.get('/namespaces', '', input.namespace));
    return matchesNamespace(webhook, input, labels) && matchesObject(webhook, object, input.old);
  };

  /** Calls one webhook; returns the object after it. */
  const invoke = async (
    webhook: MutatingWebhook,
    input: AdmissionInput,
    object: StoredObject | undefined,
  ): Promise<StoredObject | undefined> => {
    const request = reviewRequest(input, object);
    const verdict = matchesConditions(webhook, request);
    if (verdict.kind === 'skip') return object;
    if (verdict.kind === 'error') throw new WebhookCallError(verdict.message);
    const { context } = input;
    if (context.dryRun === true && !['None', 'NoneOnDryRun'].includes(webhook.sideEffects))
      throw badRequest(`admission webhook ${JSON.stringify(webhook.name)} does not support dry run`);
    const review = { kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v1', request };
    const response = openReview(await caller.call(webhook, review), asString(request['uid']));
    const operations = decodePatch(response);
    for (const warning of asArray(response['warnings'])) context.warn?.(asString(warning).slice(0, MAX_WARNING));
    if (response['allowed'] !== true) throw denied(webhook.name, asRecord(response['status']));
    return object === undefined || operations.length === 0 ? object : patched(object, operations);
  };

  /** The failure policy around a call. */
  const guarded = async (
    webhook: MutatingWebhook,
    input: AdmissionInput,
    object: StoredObject | undefined,
  ): Promise<StoredObject | undefined> => {
    try {
      return await invoke(webhook, input, object);
    } catch (error) {
      if (!(error instanceof WebhookCallError)) throw error;
      if (webhook.failurePolicy === 'Ignore') return object;
      throw internal(`failed calling webhook ${JSON.stringify(webhook.name)}: ${error.message}`);
    }
  };

  /** Webhooks in order, then once more those that asked for it and saw an older object. */
  const run = async (input: AdmissionInput): Promise<StoredObject | undefined> => {
    let object = input.object;
    const called: { webhook: MutatingWebhook; after: StoredObject | undefined }[] = [];
    for (const webhook of webhooks()) {
      if (!concerns(webhook, input, object)) continue;
      object = await guarded(webhook, input, object);
      called.push({ webhook, after: object });
    }
    const changedSince = (after: StoredObject | undefined): boolean => !isDeepStrictEqual(after, object);
    for (const { webhook, after } of called) {
      if (webhook.reinvocationPolicy !== 'IfNeeded' || !changedSince(after) || !concerns(webhook, input, object))
        continue;
      object = await guarded(webhook, input, object);
    }
    return object;
  };

  return {
    async admit(input) {
      // Webhooks are never asked about the configurations of webhooks and policies.
      if (input.resource.group === ADMISSION_GROUP) return input.object ?? { metadata: {} };
      const admitted = (await run(input)) ?? { metadata: {} };
      if (input.object !== undefined && nameOf(admitted) !== nameOf(input.object))
        throw badRequest('a webhook must not change metadata.name');
      return admitted;
    },
    close: () => caller.close(),
  };
};
