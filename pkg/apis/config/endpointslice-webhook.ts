// SPDX-License-Identifier: Apache-2.0
// Type and schema of the endpointslice-webhook's configuration file.
import { COMMANDS } from '../names.ts';
import type { EndpointConfiguration, LogConfiguration } from './common.ts';
import { endpointSchema, LOG_SCHEMA } from './common.ts';
import type { ConfigHeader, ConfigKind, CrossFieldProblem } from './config-kind.ts';

/** Where API servers reach the webhook: a Service, or a URL for one that runs outside the cluster. */
export interface WebhookAddress {
  service?: {
    /** Default: the Pod's own namespace. */
    namespace?: string;
    /** Default `endpointslice-webhook`. */
    name: string;
    /** Default 443. */
    port: number;
  };
  /** `https://host:port` without path; the paths are appended. */
  url?: string;
}

/** How the webhook announces itself. */
export interface RegistrationConfiguration {
  /** `self`: writes its MutatingWebhookConfiguration; `external`: a chart or a person does. Default self. */
  mode: 'self' | 'external';
  /** Name of the MutatingWebhookConfiguration. Default `gardener-extension-topology-aware-routing`. */
  name: string;
  /** Where API servers reach the webhook. Default: the Service `endpointslice-webhook` in the Pod's namespace. */
  address: WebhookAddress;
  /**
   * What API servers do with slices while the webhook is away; settings are always `Ignore`. Unset: what the
   * configuration in the cluster says, `Ignore` where there is none yet.
   */
  failurePolicy?: 'Ignore' | 'Fail';
  /** Seconds that API servers wait for an answer, at most 5. Default 5. */
  timeoutSeconds: number;
  /** Turns the domain-prefixed annotation into the label at admission. Default true. */
  strategyAnnotation: boolean;
  /** Puts settings back that their owner's write dropped, in namespaces labelled for it. Default true. */
  keepSettings: boolean;
  /** Of the namespaces that are excluded (kube-system and default), those to include after all. */
  includedNamespaces: string[];
  /** Namespaces excluded beside kube-system, default and our own. */
  excludedNamespaces: string[];
}

/** EndpointSliceWebhookConfiguration after defaulting. */
export interface EndpointSliceWebhookConfiguration extends ConfigHeader {
  /** Version of the API server that asks; default: what its /version answers. */
  kubernetesVersion?: string;
  /** Where reviews are served. */
  server: EndpointConfiguration & {
    /** Seconds between "not ready" and the end of listening. Default 5. */
    drainSeconds: number;
    /** Requests beyond this are answered with 503. Default 256. */
    maxInFlightRequests: number;
  };
  certificates: {
    /** Directory with `tls.crt` and `tls.key` (and `ca.crt`); unset: a built-in authority that lives in Secrets. */
    directory?: string;
  };
  flowController: {
    /** User names whose planned hints pass untouched; default: its ServiceAccount in the own namespace. */
    users: string[];
    /** The Lease that tells whether it is alive. */
    lease: {
      /** Default: the own namespace. */
      namespace?: string;
      /** Default `flow-controller`. */
      name: string;
    };
  };
  settingsReconciler: {
    /** User name whose writes are never changed; default: its ServiceAccount in the own namespace. */
    user?: string;
  };
  registration: RegistrationConfiguration;
  /** /healthz and /readyz. Default port 8081. */
  health: EndpointConfiguration;
  /** /metrics. Default port 8080. */
  metrics: EndpointConfiguration;
  log: LogConfiguration;
}

const object = (properties: Record<string, object>, more: object = {}) => ({
  type: 'object',
  additionalProperties: false,
  properties,
  ...more,
});

const namespaceName = { type: 'string', minLength: 1, maxLength: 63, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$' };
const objectName = { type: 'string', minLength: 1, maxLength: 253, pattern: '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$' };
const userName = { type: 'string', minLength: 1, maxLength: 512 };
const namespaceList = (description: string) => ({
  type: 'array',
  items: namespaceName,
  uniqueItems: true,
  default: [],
  description,
});

const server = endpointSchema(10_250);

const address = object(
  {
    service: object(
      {
        namespace: { ...namespaceName, description: "Default: the Pod's own namespace." },
        name: { ...objectName, default: COMMANDS.endpointSliceWebhook, description: 'Name of the Service.' },
        port: { type: 'integer', minimum: 1, maximum: 65_535, default: 443, description: 'Port of the Service.' },
      },
      { description: 'Service in the cluster of the API server.' },
    ),
    url: {
      type: 'string',
      pattern: '^https://[^/?#@]+$',
      description: '`https://host:port` without path; for a webhook outside the cluster.',
    },
  },
  { default: {}, description: 'Where API servers reach the webhook; default: the Service `endpointslice-webhook`.' },
);

const registration = object(
  {
    mode: {
      type: 'string',
      enum: ['self', 'external'],
      default: 'self',
      description: '`self`: the webhook writes its MutatingWebhookConfiguration; `external`: a chart does.',
    },
    name: {
      ...objectName,
      default: 'gardener-extension-topology-aware-routing',
      description: 'Name of the MutatingWebhookConfiguration.',
    },
    address,
    failurePolicy: {
      type: 'string',
      enum: ['Ignore', 'Fail'],
      description:
        'What API servers do with EndpointSlices while the webhook is away; settings are always `Ignore`. ' +
        'Unset: what is registered already stays, `Ignore` where nothing is.',
    },
    timeoutSeconds: {
      type: 'integer',
      minimum: 1,
      maximum: 5,
      default: 5,
      description: 'Seconds that API servers wait for an answer.',
    },
    strategyAnnotation: {
      type: 'boolean',
      default: true,
      description: 'Turn the domain-prefixed topology-mode annotation into the strategy label at admission.',
    },
    keepSettings: {
      type: 'boolean',
      default: true,
      description: 'Put settings back that their owner dropped, in namespaces labelled for it.',
    },
    includedNamespaces: namespaceList(
      'Namespaces to serve although they are excluded by default (kube-system, default).',
    ),
    excludedNamespaces: namespaceList('Namespaces never served, beside kube-system, default and our own.'),
  },
  { default: {}, description: 'How the webhook announces itself to the API server.' },
);

const check = ({
  registration: { address: to, includedNamespaces, excludedNamespaces },
}: EndpointSliceWebhookConfiguration) => {
  const problems: CrossFieldProblem[] = [];
  if (to.service !== undefined && to.url !== undefined) {
    problems.push({ path: ['registration', 'address', 'url'], message: 'excludes registration.address.service.' });
  }
  const both = includedNamespaces.find((namespace) => excludedNamespaces.includes(namespace));
  if (both !== undefined) {
    const message = `includes ${JSON.stringify(both)}, which registration.excludedNamespaces excludes.`;
    problems.push({ path: ['registration', 'includedNamespaces'], message });
  }
  return problems;
};

/** What `loadConfiguration` needs to read the endpointslice-webhook's file. */
export const ENDPOINTSLICE_WEBHOOK_CONFIGURATION: ConfigKind<EndpointSliceWebhookConfiguration> = {
  kind: 'EndpointSliceWebhookConfiguration',
  schema: {
    type: 'object',
    properties: {
      kubernetesVersion: {
        type: 'string',
        minLength: 1,
        description: 'Version of the API server that asks; default: what its /version answers.',
      },
      server: {
        ...server,
        description: 'Where reviews are served.',
        properties: {
          ...server.properties,
          drainSeconds: {
            type: 'integer',
            minimum: 0,
            maximum: 300,
            default: 5,
            description: 'Seconds between "not ready" and the end of listening.',
          },
          maxInFlightRequests: {
            type: 'integer',
            minimum: 1,
            maximum: 100_000,
            default: 256,
            description: 'Requests beyond this are answered with 503.',
          },
        },
      },
      certificates: object(
        {
          directory: {
            type: 'string',
            minLength: 1,
            description: 'Directory with `tls.crt` and `tls.key`; unset: a built-in authority that lives in Secrets.',
          },
        },
        { default: {}, description: 'Where the serving certificate comes from.' },
      ),
      flowController: object(
        {
          users: {
            type: 'array',
            items: userName,
            uniqueItems: true,
            default: [],
            description: 'User names whose planned hints pass untouched; default: its ServiceAccount in our namespace.',
          },
          lease: object(
            {
              namespace: { ...namespaceName, description: "Default: the Pod's own namespace." },
              name: { ...objectName, default: COMMANDS.flowController, description: 'Name of the Lease.' },
            },
            { default: {}, description: 'The Lease that tells whether the flow controller is alive.' },
          ),
        },
        { default: {}, description: 'What is known about the flow controller.' },
      ),
      settingsReconciler: object(
        {
          user: {
            ...userName,
            description: 'User name whose writes are never changed; default: its ServiceAccount in our namespace.',
          },
        },
        { default: {}, description: 'What is known about the settings reconciler.' },
      ),
      registration,
      health: endpointSchema(8081),
      metrics: endpointSchema(8080),
      log: LOG_SCHEMA,
    },
  },
  check,
};
