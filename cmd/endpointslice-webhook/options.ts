// Flags of the endpointslice-webhook, how they and its file become one configuration, and what its server needs from around it.
import { Command } from 'commander';
import { CONFIG_API_VERSION, loadConfiguration } from '../../pkg/apis/config/load.ts';
import { ENDPOINTSLICE_WEBHOOK_CONFIGURATION } from '../../pkg/apis/config/endpointslice-webhook.ts';
import type { EndpointSliceWebhookConfiguration } from '../../pkg/apis/config/endpointslice-webhook.ts';
import { defined } from '../../pkg/apis/values.ts';
import { COMMANDS } from '../../pkg/apis/names.ts';
import { plannerUsersOf, serviceAccountUser } from '../../pkg/installation/owner.ts';
import type { Uses } from '../../pkg/kubernetes/types.ts';
import { parseKubernetesVersion } from '../../pkg/routing/version.ts';
import type { HealthCheck } from '../../pkg/telemetry/log.ts';
import { openFileCertificates } from '../../pkg/webhook/certificates/files.ts';
import type { RefreshingCertificateSource } from '../../pkg/webhook/certificates/pair.ts';
import type { AdmissionInputs } from '../../pkg/webhook/review.ts';
import { collect, parsePort, parseWith, withCommonFlags, withLog, withPorts } from '../shared/flags.ts';
import type { CommonFlags, ParsedFlags } from '../shared/flags.ts';

export interface Flags extends CommonFlags {
  config?: string;
  port?: number;
  certDir?: string;
  flowControllerUser?: string[];
  settingsReconcilerUser?: string;
  cleanup?: boolean;
}

const EXAMPLES = `
Examples:
  # In the cluster: version, certificates and registration come from and go to the API server
  ${COMMANDS.endpointSliceWebhook} --config /etc/endpointslice-webhook/config.yaml

  # Without a cluster, with mounted certificates (tls.crt and tls.key)
  ${COMMANDS.endpointSliceWebhook} --kubernetes-version 1.36 --cert-dir /etc/certs

  # Remove the registration before uninstalling the webhook
  ${COMMANDS.endpointSliceWebhook} --cleanup`;

const createCommand = (): Command => {
  const command = new Command(COMMANDS.endpointSliceWebhook)
    .description('Admission webhook that writes the topology hints of EndpointSlices as their Services request.')
    .option('--config <file>', 'configuration file (EndpointSliceWebhookConfiguration); flags take precedence')
    .option('--kubeconfig <file>', "how to reach the cluster; default: $KUBECONFIG, then the Pod's ServiceAccount")
    .option('--kubernetes-version <version>', 'version of the API server; default: from its /version')
    .option('--bind-address <address>', 'address to listen on, for all ports (default: all addresses)')
    .option('--port <port>', 'port for reviews, TLS; 0 picks a free one (default: 10250)', parsePort)
    .option('--cert-dir <directory>', 'directory with tls.crt and tls.key; default: a built-in authority in Secrets');
  withPorts(command)
    .option('--flow-controller-user <name>', 'user whose planned hints are left unchanged; may be repeated', collect)
    .option('--settings-reconciler-user <name>', 'user whose writes of settings are never changed');
  return withLog(command)
    .option('--cleanup', 'remove the MutatingWebhookConfiguration and exit')
    .addHelpText('after', EXAMPLES);
};

export const parseFlags = (args: readonly string[]): ParsedFlags<Flags> => parseWith<Flags>(createCommand, args);

const EMPTY_FILE = `apiVersion: ${CONFIG_API_VERSION}\nkind: ${ENDPOINTSLICE_WEBHOOK_CONFIGURATION.kind}\n`;

/**
 * The configuration file's text (undefined: none given) with the flags on top.
 * @throws ConfigError when the file is not valid.
 */
export const configurationOf = (flags: Flags, text: string | undefined): EndpointSliceWebhookConfiguration => {
  const { config: file = '(defaults)' } = flags;
  const config = loadConfiguration(ENDPOINTSLICE_WEBHOOK_CONFIGURATION, text ?? EMPTY_FILE, file);
  const { bindAddress = config.server.bindAddress, port = config.server.port } = flags;
  return {
    ...config,
    ...withCommonFlags(flags, config),
    ...defined({ kubernetesVersion: flags.kubernetesVersion }),
    server: { ...config.server, bindAddress, port },
    certificates: { ...config.certificates, ...defined({ directory: flags.certDir }) },
    flowController: { ...config.flowController, users: flags.flowControllerUser ?? config.flowController.users },
    settingsReconciler: { ...config.settingsReconciler, ...defined({ user: flags.settingsReconcilerUser }) },
  };
};

export interface SurroundingsOptions extends Uses<'clock' | 'logger'> {
  config: EndpointSliceWebhookConfiguration;
  kubeconfig: string | undefined;
  /** Own namespace where the environment names it. */
  namespace: string | undefined;
}

export type Task = (signal: AbortSignal) => Promise<void>;

export interface Surroundings extends AdmissionInputs {
  readonly certificates: RefreshingCertificateSource;
  readonly readiness: readonly HealthCheck[];
  readonly tasks: readonly Task[];
  /** Removes what is registered if the installation is being removed; while the server still serves. Rejects never. */
  goodbye(): Promise<void>;
  close(): Promise<void>;
}

/** Where evacuations are not known: what is marked stays so, and nothing else is. */
export const UNFOLLOWED: Surroundings['evacuations'] = { isEvacuating: () => true, joiningOf: () => undefined };

/** Who plans may be another installation: `planning` is its namespace, empty where none says so. */
export const usersOf = (
  { flowController, settingsReconciler }: EndpointSliceWebhookConfiguration,
  ownNamespace: string,
  planning: () => string,
) => ({
  plannerUsers: {
    has: (user: string) => plannerUsersOf(flowController.users, { ownNamespace, planning: planning() }).includes(user),
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
