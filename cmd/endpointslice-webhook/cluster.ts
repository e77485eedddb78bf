// SPDX-License-Identifier: Apache-2.0
// What the webhook has from a cluster: a client, the version, certificates, registration and the planner's Lease.
import { randomBytes } from 'node:crypto';
import type { EndpointSliceWebhookConfiguration } from '../../pkg/apis/config/endpointslice-webhook.ts';
import { COMMANDS } from '../../pkg/apis/names.ts';
import { createClient } from '../../pkg/kubernetes/client.ts';
import { createClusterLock, soleInstallation } from '../../pkg/installation/cluster-lock.ts';
import type { ClusterLock } from '../../pkg/installation/cluster-lock.ts';
import { watchDeployment } from '../../pkg/installation/deployment-removed.ts';
import type { DeploymentWatch } from '../../pkg/installation/deployment-removed.ts';
import { createInstallationOwner } from '../../pkg/installation/owner.ts';
import type { InstallationOwner } from '../../pkg/installation/owner.ts';
import { loadKubeConfig } from '../../pkg/kubernetes/kubeconfig.ts';
import { createLeaseWatch } from '../../pkg/kubernetes/lease-liveness.ts';
import type { LeaseWatch } from '../../pkg/kubernetes/lease-liveness.ts';
import { sleep } from '../../pkg/kubernetes/sleep.ts';
import type { Client, Clock } from '../../pkg/kubernetes/types.ts';
import type { KubernetesVersion } from '../../pkg/routing/types.ts';
import { formatVersion, parseKubernetesVersion } from '../../pkg/routing/version.ts';
import type { Logger } from '../../pkg/telemetry/types.ts';
import { openSecretCertificates, serviceNames } from '../../pkg/webhook/certificates/secret-store.ts';
import { createCarrierWatch } from '../../pkg/webhook/carrier-watch.ts';
import type { CarrierWatch } from '../../pkg/webhook/carrier-watch.ts';
import type { RefreshingCertificateSource } from '../../pkg/webhook/certificates/types.ts';
import { createRegistrationKeeper, unregister } from '../../pkg/webhook/register.ts';
import type { RegistrationKeeper } from '../../pkg/webhook/register.ts';
import type { ServerAddress } from '../../pkg/webhook/registration-types.ts';
import { excludedNamespacesOf } from '../../pkg/hints/served-namespaces.ts';
import { buildRegistration } from '../../pkg/webhook/registration.ts';

export interface ClusterOptions {
  config: EndpointSliceWebhookConfiguration;
  /** Path of a kubeconfig; undefined: the usual places. */
  kubeconfig: string | undefined;
  /** Own namespace where the environment names it. */
  namespace: string | undefined;
  logger: Logger;
  clock: Clock;
}

export interface Cluster {
  readonly namespace: string;
  /** Reads the version of the API server. */
  version(signal: AbortSignal): Promise<KubernetesVersion>;
  /** Certificates of the built-in authority. */
  certificates(signal: AbortSignal): Promise<RefreshingCertificateSource>;
  plannerLease(): LeaseWatch;
  carrierWatch(): CarrierWatch;
  /** By which one of several installations changes slices. */
  claim(): ClusterLock;
  keeper(options: KeeperOptions): RegistrationKeeper;
  /** Tells the end of the installation from the end of one replica. */
  deployment(): DeploymentWatch;
  /** True if there was a registration to remove. */
  cleanup(signal: AbortSignal): Promise<boolean>;
  close(): Promise<void>;
}

export interface KeeperOptions {
  certificates: Pick<RefreshingCertificateSource, 'current' | 'onChange' | 'refresh'>;
  settingsReconcilerUser: string;
  version: VersionWatch;
  carrier: Pick<CarrierWatch, 'current' | 'onChange'>;
  claim: Pick<ClusterLock, 'held' | 'onChange'>;
}

/** The version of the API server, followed through upgrades. */
export interface VersionWatch {
  current(): KubernetesVersion;
  onChange(callback: () => void): () => void;
}

const addressOf = ({ registration }: EndpointSliceWebhookConfiguration, ownNamespace: string): ServerAddress => {
  const { url, service } = registration.address;
  if (url !== undefined) return { kind: 'url', url };
  const { namespace = ownNamespace, name = COMMANDS.endpointSliceWebhook, port = 443 } = service ?? {};
  return { kind: 'service', namespace, name, port };
};

/** What the certificate must be valid for: the names that API servers check. */
const namesOf = (address: ServerAddress): string[] =>
  address.kind === 'url'
    ? [new URL(address.url).hostname.replace(/^\[|\]$/g, '')]
    : serviceNames(address.name, address.namespace);

const createKeeper = (
  client: Client,
  { config, clock, logger }: ClusterOptions,
  namespace: string,
  owner: InstallationOwner,
  { certificates, settingsReconcilerUser, version, carrier, claim }: KeeperOptions,
): RegistrationKeeper => {
  const { registration, installation } = config;
  const { includedNamespaces, excludedNamespaces, ...rest } = registration;
  const excluded = excludedNamespacesOf(namespace, { included: includedNamespaces, excluded: excludedNamespaces });
  return createRegistrationKeeper({
    client,
    name: registration.name,
    owner,
    keepFailurePolicy: registration.failurePolicy === undefined,
    wanted: () =>
      buildRegistration({
        ...rest,
        version: version.current(),
        carrier: carrier.current(),
        claimed: claim.held(),
        routingLabel: installation.routingLabel,
        address: addressOf(config, namespace),
        caBundle: certificates.current().caBundle,
        excludedNamespaces: excluded,
        settingsReconcilerUser,
      }),
    onWantedChange(callback) {
      const sources = [certificates, version, carrier, claim];
      const subscriptions = sources.map((source) => source.onChange(callback));
      return () => subscriptions.forEach((unsubscribe) => unsubscribe());
    },
    refresh: certificates.refresh?.bind(certificates),
    clock,
    random: Math.random,
    logger,
  });
};

/** How long a replica that ends waits for an answer: it shall go on serving meanwhile, and end in time. */
const GOODBYE_MS = 3_000;

/** Opens the cluster; nothing is asked of it yet. */
export const openCluster = (options: ClusterOptions): Cluster => {
  const { config, kubeconfig, logger, clock } = options;
  const source = loadKubeConfig({ ...(kubeconfig === undefined ? {} : { kubeconfig }), clock });
  const client = createClient({ config: source, userAgent: COMMANDS.endpointSliceWebhook, clock });
  const namespace = options.namespace ?? source.namespace ?? 'default';
  const { clusterRole, claim } = config.installation;
  const { deployment } = config.registration;
  const owner = createInstallationOwner({ client, namespace, clusterRole, logger });
  return {
    namespace,
    version: async (signal) => parseKubernetesVersion(await client.raw('/version', signal)),
    certificates: (signal) =>
      openSecretCertificates(
        {
          client,
          namespace,
          name: COMMANDS.endpointSliceWebhook,
          names: namesOf(addressOf(config, namespace)),
          clock,
          randomBytes,
          logger,
        },
        signal,
      ),
    plannerLease: () => {
      const { lease } = config.flowController;
      const ref = { namespace: lease.namespace ?? namespace, name: lease.name };
      return createLeaseWatch({ client, lease: ref, clock, random: Math.random, logger });
    },
    carrierWatch: () => createCarrierWatch({ client, namespace, clock, random: Math.random, logger }),
    claim: () =>
      claim === undefined
        ? soleInstallation()
        : createClusterLock({
            client,
            lease: claim,
            installation: namespace,
            owner,
            clock,
            random: Math.random,
            logger,
          }),
    keeper: (keeperOptions) => createKeeper(client, options, namespace, owner, keeperOptions),
    deployment: () =>
      deployment === undefined
        ? { removed: () => Promise.resolve(false) }
        : watchDeployment({
            client,
            deployment: { namespace, name: deployment },
            clock,
            timeoutMs: GOODBYE_MS,
            logger,
          }),
    cleanup: (signal) => unregister(client, config.registration.name, signal),
    close: () => client.close(),
  };
};

/** How often the version is looked at: an upgrade takes minutes, and what depends on it can wait as long. */
const VERSION_INTERVAL_MS = 300_000;

export interface VersionFollower extends VersionWatch {
  run(signal: AbortSignal): Promise<void>;
}

/** Follows the version of the API server; a failed look changes nothing. */
export const followVersion = (
  first: KubernetesVersion,
  cluster: Cluster,
  clock: Clock,
  logger: Logger,
): VersionFollower => {
  let version = first;
  const callbacks = new Set<() => void>();
  const look = async (signal: AbortSignal): Promise<void> => {
    try {
      const next = await cluster.version(signal);
      if (formatVersion(next) === formatVersion(version)) return;
      logger.info('the API server has another version now', {
        before: formatVersion(version),
        after: formatVersion(next),
      });
      version = next;
      for (const callback of callbacks) callback();
    } catch (error) {
      if (!signal.aborted) logger.warn('cannot read the version of the API server', { error });
    }
  };
  return {
    current: () => version,
    onChange(callback) {
      const entry = (): void => callback();
      callbacks.add(entry);
      return () => void callbacks.delete(entry);
    },
    async run(signal) {
      while (!signal.aborted) {
        // Rejects only when aborted, which ends the loop.
        await sleep(clock, VERSION_INTERVAL_MS, signal).catch(() => undefined);
        if (!signal.aborted) await look(signal);
      }
    },
  };
};
