// SPDX-License-Identifier: Apache-2.0
// Type and schema of the endpointslice-webhook's configuration file.
import { COMMANDS } from '../names.ts';
import type { AdmissionCarrier, FlowControllerInformation, ServedNamespaces } from './admission.ts';
import { admissionSchema, FLOW_CONTROLLER_SCHEMA, servedNamespacesProblems } from './admission.ts';
import type { EndpointConfiguration, LogConfiguration } from './common.ts';
import { endpointSchema, LOG_SCHEMA } from './common.ts';
import type { ConfigHeader, ConfigKind, CrossFieldProblem } from './config-kind.ts';
import { SHARING_INSTALLATION_SCHEMA } from './installation.ts';
import type { SharingInstallationConfiguration } from './installation.ts';
import { namespaceList, namespaceName, object, objectName, userName } from './schema.ts';

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
export interface RegistrationConfiguration extends ServedNamespaces {
  /** `self`: writes its MutatingWebhookConfiguration; `external`: a chart or a person does. Default self. */
  mode: 'self' | 'external';
  /** Name of the MutatingWebhookConfiguration. Default `gardener-extension-topology-aware-routing`. */
  name: string;
  /**
   * Our own Deployment, in the own namespace: a replica that ends while it is gone or scaled to nothing takes the
   * configuration back. Unset: none does.
   */
  deployment?: string;
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
}

/** EndpointSliceWebhookConfiguration after defaulting. */
export interface EndpointSliceWebhookConfiguration extends ConfigHeader {
  /** Version of the API server that asks; default: what its /version answers. */
  kubernetesVersion?: string;
  /**
   * Whether slices and kept settings are registered: `webhook` always, `policy` never, `auto` unless the settings
   * reconciler says in the cluster that policies carry them. Default auto.
   */
  admission: AdmissionCarrier;
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
  flowController: FlowControllerInformation;
  settingsReconciler: {
    /** User name whose writes are never changed; default: its ServiceAccount in the own namespace. */
    user?: string;
  };
  registration: RegistrationConfiguration;
  installation: SharingInstallationConfiguration;
  /** /healthz and /readyz. Default port 8081. */
  health: EndpointConfiguration;
  /** /metrics. Default port 8080. */
  metrics: EndpointConfiguration;
  log: LogConfiguration;
}

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
    deployment: {
      ...objectName,
      description:
        'Our own Deployment: a replica that ends while it is gone or scaled to nothing takes the configuration back. Unset: none does.',
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

const check = ({ registration: configured }: EndpointSliceWebhookConfiguration): CrossFieldProblem[] => {
  const { address: to } = configured;
  const twice = to.service !== undefined && to.url !== undefined;
  const message = 'excludes registration.address.service.';
  return [
    ...(twice ? [{ path: ['registration', 'address', 'url'], message }] : []),
    ...servedNamespacesProblems('registration', configured),
  ];
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
      admission: admissionSchema(
        'Whether slices and kept settings are registered: always (`webhook`), never (`policy`), or unless the settings ' +
          'reconciler has said in the cluster that policies carry them (`auto`).',
      ),
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
      flowController: FLOW_CONTROLLER_SCHEMA,
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
      installation: SHARING_INSTALLATION_SCHEMA,
      health: endpointSchema(8081),
      metrics: endpointSchema(8080),
      log: LOG_SCHEMA,
    },
  },
  check,
};
