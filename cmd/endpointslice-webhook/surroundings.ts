// SPDX-License-Identifier: Apache-2.0
// Everything around the server that depends on whether there is a cluster: certificates, version, planner, registration.
import type { EndpointSliceWebhookConfiguration } from '../../pkg/apis/config/endpointslice-webhook.ts';
import { COMMANDS } from '../../pkg/apis/names.ts';
import type { Carrier } from '../../pkg/hints/policy/index.ts';
import { plannerUsersOf } from '../../pkg/hints/planner-users.ts';
import type { Clock } from '../../pkg/kubernetes/types.ts';
import type { KubernetesVersion } from '../../pkg/routing/types.ts';
import { parseKubernetesVersion } from '../../pkg/routing/version.ts';
import type { HealthCheck, Logger } from '../../pkg/telemetry/types.ts';
import type { CarrierWatch } from '../../pkg/webhook/carrier-watch.ts';
import { openFileCertificates } from '../../pkg/webhook/certificates/files.ts';
import type { RefreshingCertificateSource } from '../../pkg/webhook/certificates/types.ts';
import { serviceAccountUser } from '../../pkg/installation/service-account.ts';
import type { Cluster } from './cluster.ts';
import { createRegistering } from './registering.ts';

export interface SurroundingsOptions {
  config: EndpointSliceWebhookConfiguration;
  /** Undefined: version and certificates were given, and nothing else needs a cluster. */
  cluster: Cluster | undefined;
  /** Own namespace where there is no cluster to ask. */
  namespace: string;
  logger: Logger;
  clock: Clock;
  signal: AbortSignal;
}

/** Something that runs beside the server until the signal aborts. */
export type Task = (signal: AbortSignal) => Promise<void>;

export interface Surroundings {
  readonly certificates: RefreshingCertificateSource;
  readonly version: () => KubernetesVersion;
  readonly plannerAlive: () => boolean;
  /** Users whose planned hints pass untouched. */
  readonly plannerUsers: Pick<ReadonlySet<string>, 'has'>;
  /** The user whose writes of settings are never changed. */
  readonly settingsReconcilerUser: string;
  readonly readiness: readonly HealthCheck[];
  readonly tasks: readonly Task[];
  /** Takes back what is registered, if this is the end of the installation; while the server still serves. Rejects never. */
  goodbye(): Promise<void>;
}

const settingsUserOf = ({ config, namespace }: SurroundingsOptions): string =>
  config.settingsReconciler.user ?? serviceAccountUser(namespace, COMMANDS.settingsReconciler);

/** Follows who plans: of several installations it need not be this one. */
const plannerUsers = (
  { config, namespace }: SurroundingsOptions,
  planning: () => string,
): Surroundings['plannerUsers'] => {
  const { users: configured } = config.flowController;
  return {
    has: (user) => plannerUsersOf({ configured, ownNamespace: namespace, planning: planning() }).includes(user),
  };
};

const withoutCluster = async (options: SurroundingsOptions): Promise<Surroundings> => {
  const { config, clock, logger } = options;
  const version = parseKubernetesVersion(config.kubernetesVersion);
  const certificates = await openFileCertificates({ directory: config.certificates.directory ?? '', clock, logger });
  return {
    certificates,
    version: () => version,
    plannerAlive: () => true,
    plannerUsers: plannerUsers(options, () => ''),
    settingsReconcilerUser: settingsUserOf(options),
    readiness: [],
    tasks: [(signal) => certificates.run(signal)],
    goodbye: () => Promise.resolve(),
  };
};

/** Who carries admission where that was configured rather than left to the settings reconciler. */
const fixedCarrier = (carrier: Carrier): Pick<CarrierWatch, 'current' | 'onChange'> => ({
  current: () => carrier,
  onChange: () => () => undefined,
});

const withCluster = async (cluster: Cluster, options: SurroundingsOptions): Promise<Surroundings> => {
  const { config, clock, logger, signal } = options;
  const { followVersion } = await import('./cluster.ts');
  const { kubernetesVersion } = config;
  const given = kubernetesVersion === undefined ? undefined : parseKubernetesVersion(kubernetesVersion);
  const version = followVersion(given ?? (await cluster.version(signal)), cluster, clock, logger);
  const { directory } = config.certificates;
  const certificates =
    directory === undefined
      ? await cluster.certificates(signal)
      : await openFileCertificates({ directory, clock, logger });
  const lease = cluster.plannerLease();
  const settingsReconcilerUser = settingsUserOf(options);
  const watch = config.admission === 'auto' ? cluster.carrierWatch() : undefined;
  const carrier = watch ?? fixedCarrier(config.admission === 'policy' ? 'policy' : 'webhook');
  const claim = cluster.claim();
  const deployment = cluster.deployment();
  const keeper =
    config.registration.mode === 'self'
      ? cluster.keeper({ certificates, settingsReconcilerUser, version, carrier, claim })
      : undefined;
  const registering = createRegistering({ cluster, deployment, keeper, watch, claim, clock, logger });
  const tasks: Task[] = [
    (until) => certificates.run(until),
    (until) => lease.run(until),
    (until) => registering.run(until),
  ];
  // A version that was given is believed, whatever the server says.
  if (given === undefined) tasks.push((until) => version.run(until));
  return {
    certificates,
    version: () => version.current(),
    plannerAlive: () => lease.alive(),
    plannerUsers: plannerUsers(options, () => lease.installation()),
    settingsReconcilerUser,
    readiness: registering.readiness,
    tasks,
    goodbye: () => registering.goodbye(),
  };
};

/** Rejects with what reading version or certificates rejects with. */
export const openSurroundings = (options: SurroundingsOptions): Promise<Surroundings> =>
  options.cluster === undefined ? withoutCluster(options) : withCluster(options.cluster, options);
