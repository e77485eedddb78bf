// Which webhooks a request concerns: selectors, rules and match conditions, in the order of kube-apiserver.
import type { MutatingWebhook } from '../../pkg/apis/admission.ts';
import type { AdmissionInput } from './admission-types.ts';
import { compileExpression, ExpressionError } from './expression.ts';
import { asRecord, labelsOf, type StoredObject } from './object.ts';
import { compileLabelSelector } from './selectors.ts';

/** A rule of a webhook. */
type Rule = NonNullable<MutatingWebhook['rules']>[number];

const includes = (list: readonly string[], value: string): boolean => list.includes('*') || list.includes(value);

const matchesResource = (resources: readonly string[], plural: string, subresource: string): boolean =>
  resources.some((wanted) => {
    const [main = '', sub = ''] = wanted.split('/');
    if (wanted === '*/*') return true;
    const mainMatches = main === '*' || main === plural;
    return mainMatches && (sub === subresource || (sub === '*' && wanted.includes('/')));
  });

const matchesScope = (scope: string | undefined, namespaced: boolean): boolean =>
  scope === undefined || scope === '*' || (scope === 'Namespaced') === namespaced;

/** True when one of the rules asks for this kind of request. */
export const matchesRules = (
  rules: readonly Rule[] | undefined,
  { operation, resource, context }: AdmissionInput,
): boolean =>
  (rules ?? []).some(
    (rule) =>
      includes(rule.operations, operation) &&
      includes(rule.apiGroups, resource.group) &&
      includes(rule.apiVersions, resource.version) &&
      matchesResource(rule.resources, resource.plural, context.subresource ?? '') &&
      matchesScope(rule.scope, resource.namespaced),
  );

/** The namespace selector; objects outside namespaces always pass, a Namespace is judged by its own labels. */
export const matchesNamespace = (
  webhook: MutatingWebhook,
  input: AdmissionInput,
  namespaceLabels: Record<string, string>,
): boolean => {
  const { resource, object, old } = input;
  const isNamespace = resource.group === '' && resource.plural === 'namespaces';
  if (!resource.namespaced && !isNamespace) return true;
  return compileLabelSelector(webhook.namespaceSelector)(isNamespace ? labelsOf(object ?? old) : namespaceLabels);
};

/** The object selector: old or new is enough. */
export const matchesObject = (
  webhook: MutatingWebhook,
  object: StoredObject | undefined,
  old: StoredObject | undefined,
): boolean => {
  const matches = compileLabelSelector(webhook.objectSelector);
  return (object !== undefined && matches(labelsOf(object))) || (old !== undefined && matches(labelsOf(old)));
};

/** What the match conditions say: call, skip, or an error that the failure policy judges. */
export type Verdict = { kind: 'call' } | { kind: 'skip' } | { kind: 'error'; message: string };

/** Any false condition skips, even when another one fails. */
export const matchesConditions = (webhook: MutatingWebhook, request: Record<string, unknown>): Verdict => {
  const variables = {
    object: request['object'] ?? null,
    oldObject: request['oldObject'] ?? null,
    request: asRecord(request),
  };
  const errors: string[] = [];
  for (const { name, expression } of webhook.matchConditions ?? []) {
    try {
      if (!compileExpression(expression)(variables)) return { kind: 'skip' };
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error;
      errors.push(`${name}: ${error.message}`);
    }
  }
  return errors.length === 0 ? { kind: 'call' } : { kind: 'error', message: errors.join(', ') };
};
