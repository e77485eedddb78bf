// Builds the MutatingWebhookConfiguration by which API servers know the webhook.
import type { MutatingWebhook, MutatingWebhookConfiguration } from '../apis/admission.ts';
import { COMMANDS, EXTENSION_NAME } from '../apis/names.ts';
import { apiVersionOf, MUTATING_WEBHOOK_CONFIGURATIONS } from '../apis/resources.ts';
import { atLeast } from '../routing/version.ts';
import { MAY_FAIL, hintsEntries } from './endpoint-slice-hints.ts';
import type { RegistrationOptions, ServerAddress, WebhookEntry } from './registration-types.ts';
import { settingsEntries } from './routing-settings.ts';
import { evacuationEntry } from './zone-evacuation.ts';

const clientConfigOf = (
  address: ServerAddress,
  path: string,
  caBundle: string | undefined,
): MutatingWebhook['clientConfig'] => {
  const ca = caBundle === undefined ? {} : { caBundle: Buffer.from(caBundle, 'utf8').toString('base64') };
  if (address.kind === 'url') return { url: `${address.url}${path}`, ...ca };
  const { namespace, name, port } = address;
  return { service: { namespace, name, port, path }, ...ca };
};

/** Every field with a default is written out, so that what the API server stores is what is compared later. */
const webhookOf = (entry: WebhookEntry, options: RegistrationOptions): MutatingWebhook => {
  const { path, matchConditions, ...selected } = entry;
  return {
    ...selected,
    clientConfig: clientConfigOf(options.address, path, options.caBundle),
    failurePolicy: MAY_FAIL.has(entry.name) ? (options.failurePolicy ?? 'Ignore') : 'Ignore',
    matchPolicy: 'Equivalent',
    ...(matchConditions !== undefined && atLeast(options.version, 28) ? { matchConditions } : {}),
    sideEffects: 'None',
    timeoutSeconds: options.timeoutSeconds,
    admissionReviewVersions: ['v1'],
    reinvocationPolicy: 'Never',
  };
};

/** What the configuration should be without other writers; see `mergeRegistration` for those. */
export const buildRegistration = (options: RegistrationOptions): MutatingWebhookConfiguration => ({
  apiVersion: apiVersionOf(MUTATING_WEBHOOK_CONFIGURATIONS),
  kind: MUTATING_WEBHOOK_CONFIGURATIONS.kind,
  metadata: {
    name: options.name,
    labels: { 'app.kubernetes.io/name': EXTENSION_NAME, 'app.kubernetes.io/component': COMMANDS.endpointSliceWebhook },
  },
  webhooks: (options.off === true
    ? []
    : [
        ...(options.claimed !== false ? hintsEntries(options) : []),
        ...settingsEntries(options),
        ...(options.evacuating !== undefined && options.claimed !== false ? [evacuationEntry(options.evacuating)] : []),
      ]
  ).map((entry) => webhookOf(entry, options)),
});
