// The settings-reconciler's configuration file: its schema and type, with defaults and the checks between fields.
import * as Type from '@sinclair/typebox';
import type { Static } from '@sinclair/typebox';
import type { Seed } from '../gardener.ts';
import { COMMANDS, EXTENSION_TYPE } from '../names.ts';
import { flag, mapOf, object, oneOf, optional, text, whole } from '../schema.ts';
import {
  LOG_SCHEMA,
  PLANNER_LEASE_SCHEMA,
  SERVED_NAMESPACES,
  SHARING_INSTALLATION_SCHEMA,
  endpointSchema,
  leaderElectionProblems,
  leaderElectionSchema,
  namespaceList,
  namespaceName,
  seconds,
  servedNamespacesProblems,
} from './schema.ts';
import type { ConfigHeader, ConfigKind, CrossFieldProblem } from './load.ts';

const EXTENSIONS_SCHEMA = object(
  {
    enabled: flag('Follow Extension resources of type `topology-aware-routing`.', { default: true }),
    conditionIntervalSeconds: seconds(30, 'Least time between two writes of a condition that changed alone.'),
  },
  {
    default: {},
    description:
      "Gardener's Extension resources: classes shoot and seed with mode seed, class garden with mode garden.",
  },
);

const HEARTBEAT_SCHEMA = object(
  {
    enabled: Type.Optional(flag('Unset: with mode seed or garden.')),
    extension: text('Name of the extension: the holder of the heartbeat Lease.', {
      maxLength: 253,
      default: EXTENSION_TYPE,
    }),
    // As for every extension of Gardener.
    renewIntervalSeconds: seconds(30, 'How often it is renewed.'),
  },
  {
    default: {},
    description:
      'The Lease `gardener-extension-heartbeat` in the own namespace, by which gardenlet sees that the extension is alive.',
  },
);

const secondsWithin = (minimum: number, maximum: number, value: number, description: string) =>
  whole(minimum, maximum, description, { default: value });

const gardener = object(
  optional({
    version: text('Version of gardenlet or gardener-operator (chart value `gardener.version`).'),
    featureGates: mapOf<boolean>(
      { type: 'boolean' },
      { description: 'Gates of gardenlet or gardener-operator; only `IstioTLSTermination` is read.' },
    ),
    layerSevenDefault: flag(
      'Whether kube-apiservers count as L7 load-balanced where that cannot be determined; unset: they do.',
    ),
  }),
  { default: {}, description: 'About the Gardener of this cluster.' },
);

const zonesAndSetting = Type.Unsafe<Pick<Seed, 'spec' | 'status'>>({
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
});

const gardenMode = object(
  { namespace: namespaceName("Namespace of the virtual garden's components.", { default: 'garden' }), gardener },
  { description: 'Watches the Garden; owns the garden namespace and those of runtime extensions.' },
);

export type GardenModeConfiguration = Static<typeof gardenMode>;

const seedMode = object(
  {
    seedName: Type.Optional(text('Name of this Seed; default: environment variable `SEED_NAME`.')),
    gardenKubeconfig: Type.Optional(
      text('Kubeconfig of the virtual garden, to read the Seed live; default: `GARDEN_KUBECONFIG`.'),
    ),
    seed: Type.Optional(zonesAndSetting),
    extensionServices: flag('Manage labelled Services in extension namespaces.', { default: true }),
    gardener,
  },
  { description: 'Watches Clusters; owns the shoot namespaces and those of seed extensions.' },
);

export type SeedModeConfiguration = Static<typeof seedMode>;

const modes = object(
  optional({
    garden: gardenMode,
    seed: seedMode,
    cluster: object(
      { namespaces: namespaceList('Only these namespaces; empty: all that no other mode owns.') },
      { description: 'No Gardener: zones from Nodes, Services by label or annotation.' },
    ),
  }),
  { minProperties: 1, description: 'At least one; each namespace is owned by exactly one mode.' },
);

const drift = object(
  {
    minIntervalSeconds: secondsWithin(60, 86_400, 60, 'Least time between two writes of the same object.'),
    fightAfterRepairs: whole(2, 100, 'Repairs of one object within the window that count as a fight.', { default: 3 }),
    fightWindowSeconds: secondsWithin(60, 86_400, 900, 'Window in which repairs are counted.'),
  },
  { default: {}, description: 'How often an object that another writer overwrites is repaired.' },
);

const kubernetesVersion = object(
  {
    override: Type.Optional(text('Replaces what /version answers.')),
    rereadSeconds: secondsWithin(5, 3_600, 60, 'Time between two reads of /version.'),
    // A rolling upgrade answers with both.
    stableSeconds: secondsWithin(
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
    enabled: flag('Resync slices that came back without hints after an outage.', { default: true }),
    writesPerSecond: whole(1, 20, 'Most resyncs per second.', { default: 20 }),
    backoffSeconds: secondsWithin(10, 3_600, 60, 'Pause after a resync that brought no hints; doubled up to an hour.'),
    ...SERVED_NAMESPACES,
  },
  { default: {}, description: 'Recovery of slices written while the webhook was unavailable.' },
);

const schema = Type.Object({
  modes,
  excludedNamespaces: namespaceList('Namespaces never changed, whatever mode owns them.'),
  keep: oneOf(['auto', 'on', 'off'], {
    default: 'auto',
    description: 'Whether namespaces are labelled for the settings webhook: after a fight, always, never.',
  }),
  installation: SHARING_INSTALLATION_SCHEMA,
  flowController: object({ lease: PLANNER_LEASE_SCHEMA }, { default: {}, description: 'About the flow-controller.' }),
  drift,
  kubernetesVersion,
  hintRepair,
  extensions: EXTENSIONS_SCHEMA,
  heartbeat: HEARTBEAT_SCHEMA,
  leaderElection: leaderElectionSchema(COMMANDS.settingsReconciler),
  health: endpointSchema(8081),
  metrics: endpointSchema(8080),
  log: LOG_SCHEMA,
});

/** SettingsReconcilerConfiguration after defaulting. */
export type SettingsReconcilerConfiguration = ConfigHeader & Static<typeof schema>;

const check = (config: SettingsReconcilerConfiguration): CrossFieldProblem[] => {
  const { garden } = config.modes;
  const own: CrossFieldProblem[] = [];
  if (garden !== undefined && config.excludedNamespaces.includes(garden.namespace)) {
    const message = `excludes ${JSON.stringify(garden.namespace)}, the namespace that modes.garden manages.`;
    own.push({ path: ['excludedNamespaces'], message });
  }
  return [
    ...own,
    ...servedNamespacesProblems('hintRepair', config.hintRepair),
    ...leaderElectionProblems(config.leaderElection),
  ];
};

/** What `loadConfiguration` needs to read the settings-reconciler's file. */
export const SETTINGS_RECONCILER_CONFIGURATION: ConfigKind<SettingsReconcilerConfiguration> = {
  kind: 'SettingsReconcilerConfiguration',
  schema,
  check,
};
