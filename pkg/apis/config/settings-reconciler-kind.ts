// SPDX-License-Identifier: Apache-2.0
// The schema of the settings-reconciler's configuration file, with defaults and the checks between fields.
import { COMMANDS, EXTENSION_NAME } from '../names.ts';
import { admissionSchema, FLOW_CONTROLLER_SCHEMA, servedNamespacesProblems } from './admission.ts';
import { LOG_SCHEMA, endpointSchema, leaderElectionProblems, leaderElectionSchema } from './common.ts';
import type { ConfigKind, CrossFieldProblem } from './config-kind.ts';
import { EXTENSIONS_SCHEMA, HEARTBEAT_SCHEMA } from './extensions.ts';
import { SHARING_INSTALLATION_SCHEMA } from './installation.ts';
import { namespaceList, namespaceName, object, objectName, userName } from './schema.ts';
import type { SettingsReconcilerConfiguration } from './settings-reconciler.ts';

const seconds = (minimum: number, maximum: number, value: number, description: string) => ({
  type: 'integer',
  minimum,
  maximum,
  default: value,
  description,
});

const gardener = object(
  {
    version: {
      type: 'string',
      minLength: 1,
      description: 'Version of gardenlet or gardener-operator (chart value `gardener.version`).',
    },
    featureGates: {
      type: 'object',
      additionalProperties: { type: 'boolean' },
      description: 'Gates of gardenlet or gardener-operator; only `IstioTLSTermination` is read.',
    },
    layerSevenDefault: {
      type: 'boolean',
      description: 'Whether kube-apiservers count as L7 load-balanced where nothing tells; unset: they do.',
    },
  },
  { default: {}, description: 'What is known about the Gardener that runs here.' },
);

const zonesAndSetting = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        provider: {
          type: 'object',
          properties: { zones: { type: 'array', items: { type: 'string' }, description: 'Zones of the Seed.' } },
        },
        settings: {
          type: 'object',
          properties: {
            topologyAwareRouting: {
              type: 'object',
              properties: { enabled: { type: 'boolean', description: "The Seed's setting." } },
            },
          },
        },
      },
    },
    status: { type: 'object' },
  },
  description: 'The Seed as a chart renders it (`gardener.seed`); other fields of its spec are allowed and not read.',
};

const modes = object(
  {
    garden: object(
      {
        namespace: {
          ...namespaceName,
          default: 'garden',
          description: "Namespace of the virtual garden's components.",
        },
        gardener,
      },
      { description: 'Watches the Garden; owns the garden namespace and those of runtime extensions.' },
    ),
    seed: object(
      {
        seedName: {
          type: 'string',
          minLength: 1,
          description: 'Name of this Seed; default: environment variable `SEED_NAME`.',
        },
        gardenKubeconfig: {
          type: 'string',
          minLength: 1,
          description: 'Kubeconfig of the virtual garden, to read the Seed live; default: `GARDEN_KUBECONFIG`.',
        },
        seed: zonesAndSetting,
        extensionServices: {
          type: 'boolean',
          default: true,
          description: 'Manage labelled Services in extension namespaces.',
        },
        gardener,
      },
      { description: 'Watches Clusters; owns the shoot namespaces and those of seed extensions.' },
    ),
    cluster: object(
      { namespaces: namespaceList('Only these namespaces; empty: all that no other mode owns.') },
      { description: 'No Gardener: zones from Nodes, Services by label or annotation.' },
    ),
  },
  { minProperties: 1, description: 'At least one; each namespace is owned by exactly one mode.' },
);

const drift = object(
  {
    minIntervalSeconds: seconds(60, 86_400, 60, 'Least time between two writes of the same object.'),
    fightAfterRepairs: {
      type: 'integer',
      minimum: 2,
      maximum: 100,
      default: 3,
      description: 'Repairs of one object within the window that count as a fight.',
    },
    fightWindowSeconds: seconds(60, 86_400, 900, 'Window in which repairs are counted.'),
  },
  { default: {}, description: 'How often an object that others rewrite is repaired.' },
);

const kubernetesVersion = object(
  {
    override: { type: 'string', minLength: 1, description: 'Taken instead of what /version answers.' },
    rereadSeconds: seconds(5, 3_600, 60, 'Time between two reads of /version.'),
    stableSeconds: seconds(
      0,
      86_400,
      300,
      'A newer minor must be answered this long without a break before it counts.',
    ),
  },
  { default: {}, description: "The API server's version, which decides the mechanism." },
);

const hintRepair = object(
  {
    enabled: { type: 'boolean', default: true, description: 'Touch slices that came back unhinted after an outage.' },
    writesPerSecond: {
      type: 'integer',
      minimum: 1,
      maximum: 20,
      default: 20,
      description: 'Most touches a second.',
    },
    backoffSeconds: seconds(10, 3_600, 60, 'Pause after a touch that brought no hints; doubled up to an hour.'),
  },
  { default: {}, description: 'Recovery of slices written while the webhook was away.' },
);

const policies = object(
  {
    name: {
      ...objectName,
      // Room for what follows it.
      maxLength: 200,
      default: EXTENSION_NAME,
      description: 'Begins the names of policies and bindings; tells two installations in one cluster apart.',
    },
    includedNamespaces: namespaceList(
      'Namespaces to serve although they are excluded by default (kube-system, default).',
    ),
    excludedNamespaces: namespaceList('Namespaces never served, beside kube-system, default and our own.'),
    user: {
      ...userName,
      description: 'Our own user name, whose writes are never changed; default: our ServiceAccount in our namespace.',
    },
  },
  { default: {}, description: 'The admission policies, where they are the carrier.' },
);

const check = (config: SettingsReconcilerConfiguration): CrossFieldProblem[] => {
  const { garden } = config.modes;
  const own: CrossFieldProblem[] = [];
  if (garden !== undefined && config.excludedNamespaces.includes(garden.namespace)) {
    const message = `excludes ${JSON.stringify(garden.namespace)}, the namespace that modes.garden manages.`;
    own.push({ path: ['excludedNamespaces'], message });
  }
  return [
    ...own,
    ...servedNamespacesProblems('policies', config.policies),
    ...leaderElectionProblems(config.leaderElection),
  ];
};

/** What `loadConfiguration` needs to read the settings-reconciler's file. */
export const SETTINGS_RECONCILER_CONFIGURATION: ConfigKind<SettingsReconcilerConfiguration> = {
  kind: 'SettingsReconcilerConfiguration',
  schema: {
    type: 'object',
    required: ['modes'],
    properties: {
      modes,
      excludedNamespaces: namespaceList('Namespaces never touched, whatever mode owns them.'),
      keep: {
        type: 'string',
        enum: ['auto', 'on', 'off'],
        default: 'auto',
        description: 'Whether namespaces are labelled for the settings webhook: after a fight, always, never.',
      },
      admission: admissionSchema(
        'What changes slices and keeps settings at admission: the webhook, policies of the API server (Kubernetes 1.36), ' +
          'or policies where they are served and no slice is larger than usual (`auto`).',
      ),
      policies,
      installation: SHARING_INSTALLATION_SCHEMA,
      flowController: FLOW_CONTROLLER_SCHEMA,
      drift,
      kubernetesVersion,
      hintRepair,
      extensions: EXTENSIONS_SCHEMA,
      heartbeat: HEARTBEAT_SCHEMA,
      leaderElection: leaderElectionSchema(COMMANDS.settingsReconciler),
      health: endpointSchema(8081),
      metrics: endpointSchema(8080),
      log: LOG_SCHEMA,
    },
  },
  check,
};
