// The settings-reconciler's configuration file: its schema and type, with defaults and the checks between fields.
import * as Type from '@sinclair/typebox';
import type { Seed } from '../gardener.ts';
import { COMMANDS, EXTENSION_TYPE } from '../names.ts';
import { block, flag, mapOf, object, oneOf, optional, text, whole } from '../schema.ts';
import {
  OBSERVED_FIELDS,
  PLANNER_LEASE_SCHEMA,
  SERVED_NAMESPACES,
  SHARING_INSTALLATION_SCHEMA,
  leaderElectionProblems,
  leaderElectionSchema,
  namespaceList,
  namespaceName,
  seconds,
  servedNamespacesProblems,
} from './schema.ts';
import type { ConfigKind } from './load.ts';

const EXTENSIONS_SCHEMA = block(
  "Gardener's Extension resources: classes shoot and seed with mode seed, class garden with mode garden.",
  {
    enabled: flag('Follow Extension resources of type `topology-aware-routing`.', true),
    conditionIntervalSeconds: seconds(30, 'Least time between two writes of a condition that changed alone.'),
  },
);

const HEARTBEAT_SCHEMA = block(
  'The Lease `gardener-extension-heartbeat` in the own namespace, by which gardenlet sees that the extension is alive.',
  {
    enabled: Type.Optional(flag('Unset: with mode seed or garden.')),
    extension: text('Name of the extension: the holder of the heartbeat Lease.', {
      maxLength: 253,
      default: EXTENSION_TYPE,
    }),
    // As for every extension of Gardener.
    renewIntervalSeconds: seconds(30, 'How often it is renewed.'),
  },
);

const gardener = block(
  'About the Gardener of this cluster.',
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
);

/** Other fields may be there as well. */
const having = (properties: Readonly<Record<string, object>>) => ({ type: 'object', properties });

const zonesAndSetting = Type.Unsafe<Pick<Seed, 'spec' | 'status'>>({
  ...having({
    spec: having({
      provider: having({ zones: { type: 'array', items: { type: 'string' }, description: 'Zones of the Seed.' } }),
      settings: having({
        topologyAwareRouting: having({ enabled: { type: 'boolean', description: "The Seed's setting." } }),
      }),
    }),
    status: { type: 'object' },
  }),
  description: 'The Seed as a chart renders it (`gardener.seed`); other fields of its spec are allowed and not read.',
});

const gardenMode = object(
  { namespace: namespaceName("Namespace of the virtual garden's components.", { default: 'garden' }), gardener },
  { description: 'Watches the Garden; owns the garden namespace and those of runtime extensions.' },
);

const seedMode = object(
  {
    seedName: Type.Optional(text('Name of this Seed; default: environment variable `SEED_NAME`.')),
    gardenKubeconfig: Type.Optional(
      text('Kubeconfig of the virtual garden, to read the Seed live; default: `GARDEN_KUBECONFIG`.'),
    ),
    seed: Type.Optional(zonesAndSetting),
    extensionServices: flag('Manage labelled Services in extension namespaces.', true),
    gardener,
  },
  { description: 'Watches Clusters; owns the shoot namespaces and those of seed extensions.' },
);

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

const drift = block('How often an object that another writer overwrites is repaired.', {
  minIntervalSeconds: whole(60, 86_400, 'Least time between two writes of the same object.', 60),
  fightAfterRepairs: whole(2, 100, 'Repairs of one object within the window that count as a fight.', 3),
  fightWindowSeconds: whole(60, 86_400, 'Window in which repairs are counted.', 900),
});

const kubernetesVersion = block("The API server's version, which decides the mechanism.", {
  override: Type.Optional(text('Replaces what /version answers.')),
  rereadSeconds: whole(5, 3_600, 'Time between two reads of /version.', 60),
  // A rolling upgrade answers with both.
  stableSeconds: whole(0, 86_400, 'A newer minor must be answered this long without a break before it counts.', 300),
});

const hintRepair = block('Recovery of slices written while the webhook was unavailable.', {
  enabled: flag('Resync slices that came back without hints after an outage.', true),
  writesPerSecond: whole(1, 20, 'Most resyncs per second.', 20),
  backoffSeconds: whole(10, 3_600, 'Pause after a resync that brought no hints; doubled up to an hour.', 60),
  ...SERVED_NAMESPACES,
});

const schema = Type.Object({
  modes,
  excludedNamespaces: namespaceList('Namespaces never changed, whatever mode owns them.'),
  keep: oneOf(['auto', 'on', 'off'], {
    default: 'auto',
    description: 'Whether namespaces are labelled for the settings webhook: after a fight, always, never.',
  }),
  installation: SHARING_INSTALLATION_SCHEMA,
  flowController: block('About the flow-controller.', { lease: PLANNER_LEASE_SCHEMA }),
  drift,
  kubernetesVersion,
  hintRepair,
  extensions: EXTENSIONS_SCHEMA,
  heartbeat: HEARTBEAT_SCHEMA,
  leaderElection: leaderElectionSchema(COMMANDS.settingsReconciler),
  ...OBSERVED_FIELDS,
});

export type SettingsReconcilerConfiguration = Type.Static<typeof schema>;

export const SETTINGS_RECONCILER_CONFIGURATION: ConfigKind<SettingsReconcilerConfiguration> = {
  kind: 'SettingsReconcilerConfiguration',
  schema,
  check(config) {
    const { namespace = '' } = config.modes.garden ?? {};
    const message = `excludes ${JSON.stringify(namespace)}, the namespace that modes.garden manages.`;
    return [
      ...(config.excludedNamespaces.includes(namespace) ? [{ path: ['excludedNamespaces'], message }] : []),
      ...servedNamespacesProblems('hintRepair', config.hintRepair),
      ...leaderElectionProblems(config.leaderElection),
    ];
  },
};
