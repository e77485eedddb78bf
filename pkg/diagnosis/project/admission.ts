// Webhook configurations and events, reduced to what shows whether hints are written and used.
import type { LabelSelector } from '../../apis/admission.ts';
import { defined } from '../../apis/defined.ts';
import type { EventSummary, WebhookSummary } from '../snapshot.ts';
import { asFields, asText, fieldsAt, listAt, objectAt, stringsAt, textAt } from './fields.ts';
import { DEFAULT_NAMESPACE, metadataOf } from './metadata.ts';
import type { Fields } from '../../apis/fields.ts';

const OPERATORS: ReadonlySet<string> = new Set(['In', 'NotIn', 'Exists', 'DoesNotExist']);

export const selectorOf = (fields: Fields): LabelSelector => ({
  matchLabels: stringsAt(fields, 'matchLabels') ?? {},
  matchExpressions: (listAt(fields, 'matchExpressions', asFields) ?? []).flatMap((inner) => {
    const operator = textAt(inner, 'operator') ?? '';
    if (!OPERATORS.has(operator)) return [];
    return [
      {
        key: textAt(inner, 'key') ?? '',
        operator: operator as 'In',
        values: listAt(inner, 'values', asText) ?? [],
      },
    ];
  }),
});

const covers = (values: readonly string[] | undefined, wanted: string): boolean =>
  (values ?? []).some((value) => value === wanted || value === '*');

const servesSlices = (rule: unknown): boolean => {
  const fields = asFields(rule);
  return (
    covers(listAt(fields, 'apiGroups', asText), 'discovery.k8s.io') &&
    covers(listAt(fields, 'resources', asText), 'endpointslices') &&
    covers(listAt(fields, 'operations', asText), 'UPDATE')
  );
};

/** The webhooks of one MutatingWebhookConfiguration; `caNotAfter` is filled in where certificates can be read. */
export const webhooksOf = (object: Fields): WebhookSummary[] => {
  const { name: configuration } = metadataOf(object, false);
  const read = (item: unknown): WebhookSummary => {
    const fields = asFields(item);
    const client = objectAt(fields, 'clientConfig', (inner) =>
      defined({
        service: objectAt(inner, 'service', (service) => ({
          namespace: textAt(service, 'namespace') ?? '',
          name: textAt(service, 'name') ?? '',
        })),
        caBundle: textAt(inner, 'caBundle'),
      }),
    );
    return {
      configuration,
      name: textAt(fields, 'name') ?? '',
      slices: (listAt(fields, 'rules', servesSlices) ?? []).some(Boolean),
      objectSelector: objectAt(fields, 'objectSelector', selectorOf) ?? {},
      namespaceSelector: objectAt(fields, 'namespaceSelector', selectorOf) ?? {},
      failurePolicy: textAt(fields, 'failurePolicy') ?? 'Fail',
      ...client,
    };
  };
  return listAt(object, 'webhooks', read) ?? [];
};

/** An event about a Service; undefined for any other. Reads core/v1 and events.k8s.io/v1. */
export const eventOf = (object: Fields): EventSummary | undefined => {
  const { namespace = DEFAULT_NAMESPACE } = metadataOf(object, true);
  const regarding = objectAt(object, 'involvedObject', (inner) => inner) ?? fieldsAt(object, 'regarding');
  if (regarding['kind'] !== 'Service') return undefined;
  const series = objectAt(object, 'series', (inner) => textAt(inner, 'lastObservedTime'));
  const lastSeen = textAt(object, 'lastTimestamp') ?? series ?? textAt(object, 'eventTime') ?? '';
  return {
    namespace: textAt(regarding, 'namespace') ?? namespace,
    service: textAt(regarding, 'name') ?? '',
    type: textAt(object, 'type') ?? '',
    reason: textAt(object, 'reason') ?? '',
    message: textAt(object, 'message') ?? textAt(object, 'note') ?? '',
    lastSeen,
  };
};
