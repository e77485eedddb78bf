// The endpointslice-webhook's configuration file: its schema and type, with defaults and the checks between fields.
import * as Type from '@sinclair/typebox';
import { COMMANDS } from '../names.ts';
import { block, flag, object, oneOf, optional, text, whole } from '../schema.ts';
import {
  OBSERVED_FIELDS,
  PLANNER_LEASE_SCHEMA,
  SERVED_NAMESPACES,
  SHARING_INSTALLATION_SCHEMA,
  endpointFields,
  namespaceName,
  objectName,
  servedNamespacesProblems,
  userName,
} from './schema.ts';
import type { ConfigKind } from './load.ts';

const address = block(
  'Where API servers reach the webhook; default: the Service `endpointslice-webhook`.',
  optional({
    service: object(
      {
        namespace: Type.Optional(namespaceName("Default: the Pod's own namespace.")),
        name: objectName('Name of the Service.', { default: COMMANDS.endpointSliceWebhook }),
        port: whole(1, 65_535, 'Port of the Service.', 443),
      },
      { description: 'Service in the cluster of the API server.' },
    ),
    url: Type.String({
      pattern: '^https://[^/?#@]+$',
      description: '`https://host:port` without path; for a webhook outside the cluster.',
    }),
  }),
);

const registration = block('How the webhook registers with the API server.', {
  mode: oneOf(['self', 'external'], {
    default: 'self',
    description: '`self`: the webhook writes its MutatingWebhookConfiguration; `external`: a chart does.',
  }),
  name: objectName('Name of the MutatingWebhookConfiguration.', {
    default: 'gardener-extension-topology-aware-routing',
  }),
  deployment: Type.Optional(
    objectName(
      "The webhook's Deployment: a replica that stops while it is deleted or scaled to zero removes the configuration. Unset: none does.",
    ),
  ),
  address,
  failurePolicy: Type.Optional(
    oneOf(['Ignore', 'Fail'], {
      description:
        'What API servers do with EndpointSlices while the webhook is unavailable; for settings it is always `Ignore`. ' +
        'Unset: an existing registration keeps its value; a new one gets `Ignore`.',
    }),
  ),
  timeoutSeconds: whole(1, 5, 'Seconds that API servers wait for an answer.', 5),
  strategyAnnotation: flag(
    'Turn the domain-prefixed topology-mode annotation into the strategy label at admission.',
    true,
  ),
  keepSettings: flag('Restore settings that their owner dropped, in namespaces labelled for it.', true),
  ...SERVED_NAMESPACES,
});

const server = block('The server for admission reviews.', {
  ...endpointFields(10_250),
  drainSeconds: whole(0, 300, 'Seconds between "not ready" and the end of listening.', 5),
  maxInFlightRequests: whole(1, 100_000, 'Requests beyond this are answered with 503.', 256),
});

const schema = Type.Object({
  kubernetesVersion: Type.Optional(text('Version of the API server; default: from its /version.')),
  server,
  certificates: block('Where the serving certificate comes from.', {
    directory: Type.Optional(
      text('Directory with `tls.crt` and `tls.key`; unset: a built-in authority, stored in Secrets.'),
    ),
  }),
  flowController: block('About the flow-controller.', {
    users: Type.Array(userName(), {
      uniqueItems: true,
      default: [],
      description:
        'User names whose planned hints are left unchanged; default: its ServiceAccount in the own namespace.',
    }),
    lease: PLANNER_LEASE_SCHEMA,
  }),
  settingsReconciler: block('About the settings-reconciler.', {
    user: Type.Optional(
      userName({
        description: 'User name whose writes are never changed; default: its ServiceAccount in the own namespace.',
      }),
    ),
  }),
  registration,
  installation: SHARING_INSTALLATION_SCHEMA,
  ...OBSERVED_FIELDS,
});

export type EndpointSliceWebhookConfiguration = Type.Static<typeof schema>;

export const ENDPOINTSLICE_WEBHOOK_CONFIGURATION: ConfigKind<EndpointSliceWebhookConfiguration> = {
  kind: 'EndpointSliceWebhookConfiguration',
  schema,
  check({ registration: configured }) {
    const { service, url } = configured.address;
    const message = 'excludes registration.address.service.';
    return [
      ...(service && url !== undefined ? [{ path: ['registration', 'address', 'url'], message }] : []),
      ...servedNamespacesProblems('registration', configured),
    ];
  },
};
