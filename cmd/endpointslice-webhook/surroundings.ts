// What the server needs from around it, and how it has that without a cluster: from files and flags.
import type { EndpointSliceWebhookConfiguration } from '../../pkg/apis/config/endpointslice-webhook.ts';
import { COMMANDS } from '../../pkg/apis/names.ts';
import { plannerUsersOf } from '../../pkg/hints/planner-users.ts';
import { serviceAccountUser } from '../../pkg/installation/service-account.ts';
import type { Clock } from '../../pkg/kubernetes/types.ts';
import { parseKubernetesVersion } from '../../pkg/routing/version.ts';
import type { HealthCheck, Logger } from '../../pkg/telemetry/types.ts';
import { openFileCertificates } from '../../pkg/webhook/certificates/files.ts';
import type { RefreshingCertificateSource } from '../../pkg/webhook/certificates/types.ts';
import type { RoutesOptions } from '../../pkg/webhook/routes.ts';

export interface SurroundingsOptions {
  config: EndpointSliceWebhookConfiguration;
  /** Path of a kubeconfig; undefined: the usual places. */
  kubeconfig: string | undefined;
  /** Own namespace where the environment names it. */
  namespace: string | undefined;
  logger: Logger;
  clock: Clock;
}

/** Something that runs beside the server until the signal aborts. */
export type Task = (signal: AbortSignal) => Promise<void>;

export interface Surroundings extends RoutesOptions {
  readonly certificates: RefreshingCertificateSource;
  readonly readiness: readonly HealthCheck[];
  readonly tasks: readonly Task[];
  /** Removes what is registered if the installation is being removed; while the server still serves. Rejects never. */
  goodbye(): Promise<void>;
  close(): Promise<void>;
}

/** Where evacuations are not known: what is marked stays so, and nothing else is. */
export const UNFOLLOWED: Surroundings['evacuations'] = { isLeft: () => true, joiningOf: () => undefined };

type Users = Pick<Surroundings, 'plannerUsers' | 'settingsReconcilerUser'>;

/** Who plans may be another installation: `planning` is its namespace, empty where none says so. */
export const usersOf = (
  { flowController, settingsReconciler }: EndpointSliceWebhookConfiguration,
  ownNamespace: string,
  planning: () => string,
): Users => ({
  plannerUsers: {
    has: (user) =>
      plannerUsersOf({ configured: flowController.users, ownNamespace, planning: planning() }).includes(user),
  },
  settingsReconcilerUser: settingsReconciler.user ?? serviceAccountUser(ownNamespace, COMMANDS.settingsReconciler),
});

/** With version and certificates given, nothing of a cluster is needed. Rejects with what reading them rejects with. */
export const openFromFiles = async (options: SurroundingsOptions): Promise<Surroundings> => {
  const { config, clock, logger } = options;
  const version = parseKubernetesVersion(config.kubernetesVersion);
  const certificates = await openFileCertificates({ directory: config.certificates.directory ?? '', clock, logger });
  return {
    ...usersOf(config, options.namespace ?? 'default', () => ''),
    certificates,
    version: () => version,
    plannerAlive: () => true,
    evacuations: UNFOLLOWED,
    readiness: [],
    tasks: [(signal) => certificates.run(signal)],
    goodbye: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
};
