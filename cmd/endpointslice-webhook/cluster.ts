// What the webhook has from a cluster: a client, the version, certificates, the planner's Lease, and its registration, which it keeps
// while the installation exists and its last replicas remove.
import { randomBytes } from 'node:crypto';
import { type Namespace, isSwitchedOff, isSwitching } from '../../pkg/apis/core.ts';
import { defined } from '../../pkg/apis/values.ts';
import { COMMANDS, SWITCH_NAMESPACE } from '../../pkg/apis/names.ts';
import { NAMESPACES } from '../../pkg/apis/resources.ts';
import { followVersion } from '../../pkg/controllers/settings/version.ts';
import { excludedNamespacesOf } from '../../pkg/hints/readiness.ts';
import { type ClusterLock, createClusterLock, soleInstallation } from '../../pkg/installation/cluster-lock.ts';
import { watchDeployment } from '../../pkg/installation/deployment-removed.ts';
import { createInstallationOwner } from '../../pkg/installation/owner.ts';
import { createCache } from '../../pkg/kubernetes/cache.ts';
import { createClient } from '../../pkg/kubernetes/client.ts';
import { createDeadline, sleep } from '../../pkg/kubernetes/wait.ts';
import { loadKubeConfig } from '../../pkg/kubernetes/kubeconfig.ts';
import { createLeaseWatch } from '../../pkg/kubernetes/lease.ts';
import type { Uses } from '../../pkg/kubernetes/types.ts';
import type { KubernetesVersion } from '../../pkg/routing/types.ts';
import { openFileCertificates } from '../../pkg/webhook/certificates/files.ts';
import { openSecretCertificates, serviceNames } from '../../pkg/webhook/certificates/secrets.ts';
import { buildRegistration, createRegistrationKeeper, unregister } from '../../pkg/webhook/register.ts';
import type { ServerAddress } from '../../pkg/webhook/registration-types.ts';
import { createEvacuationWatch } from '../../pkg/webhook/evacuation-watch.ts';
import { type Surroundings, type SurroundingsOptions, type Task, UNFOLLOWED, usersOf } from './options.ts';

/** How long a replica that ends waits for an answer: it goes on serving meanwhile, and ends in time. */
const GOODBYE_MS = 3_000;
/** How long an abandoned write may take to be stored. */
const LAST_WRITE_MS = 1_000;

export const createRegistering = (
  options: Uses<'clock' | 'logger'> & {
    deployment: ReturnType<typeof watchDeployment>;
    /** Undefined: the registration is managed elsewhere. */
    keeper: ReturnType<typeof createRegistrationKeeper> | undefined;
    claim: ClusterLock;
  },
) => {
  const { deployment, keeper, claim, clock, logger } = options;
  const leaving = new AbortController();
  let running: Promise<unknown> = Promise.resolve();

  const keep = async (signal: AbortSignal): Promise<void> => {
    if (keeper === undefined) return;
    // Otherwise the first registration would be changed a moment later.
    await claim.settled(signal);
    await keeper.run(signal);
  };

  const remove = async (): Promise<void> => {
    using deadline = createDeadline(clock, GOODBYE_MS);
    try {
      if (keeper !== undefined) {
        await keeper.remove(deadline.signal);
        // A write that was given up a moment ago may still take effect.
        await sleep(clock, LAST_WRITE_MS, deadline.signal);
        await keeper.remove(deadline.signal);
      }
      logger.info('installation removed; webhook configuration deleted');
    } catch (error) {
      logger.warn('cannot delete the webhook configuration; garbage collection removes it with its owner', { error });
    }
  };

  const check = () => (keeper?.registered() === true ? undefined : 'the webhooks are not registered yet');
  return {
    readiness: keeper === undefined ? [] : [{ name: 'registration', check }],
    /** Until the signal aborts; rejects never. */
    async run(signal: AbortSignal): Promise<void> {
      const until = AbortSignal.any([signal, leaving.signal]);
      running = Promise.all([claim.run(until), keep(until)]);
      await running;
    },
    /** After the signal that ends this replica: removes registration and lock if the installation is being removed. Rejects never. */
    async goodbye(): Promise<void> {
      if (!(await deployment.removed())) return;
      leaving.abort();
      await running;
      await remove();
      await claim.release();
    },
  };
};

/** How often the version is looked at: an upgrade takes minutes, and what depends on it can wait as long. */
const VERSION_INTERVAL_SECONDS = 300;

const connect = ({ config, kubeconfig, namespace, logger, clock }: SurroundingsOptions) => {
  const source = loadKubeConfig({ ...defined({ kubeconfig }), clock });
  const client = createClient({ config: source, userAgent: COMMANDS.endpointSliceWebhook, clock });
  return { config, client, namespace: namespace ?? source.namespace ?? 'default', clock, random: Math.random, logger };
};

type Connection = ReturnType<typeof connect>;

/** A version that is given is taken, whatever the server answers. Rejects where the first answer does not come. */
const openVersion = async ({ config, client, clock, logger }: Connection, signal: AbortSignal) => {
  const override = defined({ override: config.kubernetesVersion });
  const kubernetesVersion = { rereadSeconds: VERSION_INTERVAL_SECONDS, stableSeconds: 0, ...override };
  const followed = followVersion({ client, config: { kubernetesVersion }, clock, logger });
  await followed.read(signal);
  const current = (): KubernetesVersion => {
    if (followed.current === undefined) throw new Error('the version of the API server cannot be read, see the log');
    return followed.current;
  };
  current();
  return { current, onChange: followed.onChange, run: followed.run };
};

const addressOf = ({ config: { registration }, namespace: own }: Connection): ServerAddress => {
  const { url, service } = registration.address;
  if (url !== undefined) return { kind: 'url', url };
  const { namespace = own, name = COMMANDS.endpointSliceWebhook, port = 443 } = service ?? {};
  return { kind: 'service', namespace, name, port };
};

/** Of mounted files where a directory is given, else of the built-in authority, for the names that API servers check. */
const openCertificates = (connection: Connection, address: ServerAddress, signal: AbortSignal) => {
  const { directory } = connection.config.certificates;
  if (directory !== undefined) return openFileCertificates({ ...connection, directory });
  const names =
    address.kind === 'url'
      ? [new URL(address.url).hostname.replace(/^\[|\]$/g, '')]
      : serviceNames(address.name, address.namespace);
  return openSecretCertificates({ ...connection, name: COMMANDS.endpointSliceWebhook, names, randomBytes }, signal);
};

/** Rejects with what reading version or certificates rejects with. */
export const openInCluster = async (options: SurroundingsOptions, signal: AbortSignal): Promise<Surroundings> => {
  const connection = connect(options);
  const { config, client, namespace, clock, logger } = connection;
  const { installation, registration, flowController } = config;
  const close = () => client.close();
  try {
    const version = await openVersion(connection, signal);
    const address = addressOf(connection);
    const certificates = await openCertificates(connection, address, signal);
    const lease = { namespace: flowController.lease.namespace ?? namespace, name: flowController.lease.name };
    const planner = createLeaseWatch({ ...connection, lease });
    const users = usersOf(config, namespace, planner.installation);

    const owner = createInstallationOwner({ client, namespace, clusterRole: installation.clusterRole, logger });
    const claim =
      installation.claim === undefined
        ? soleInstallation()
        : createClusterLock({ ...connection, lease: installation.claim, installation: namespace, owner });
    const namespaces = createCache<Namespace>({
      ...connection,
      resource: NAMESPACES,
      selection: { fieldSelector: `metadata.name=${SWITCH_NAMESPACE}` },
    });
    const off = (): boolean => isSwitchedOff(namespaces);
    namespaces.onChange((changed, previous) => {
      if (isSwitching(changed, previous)) logger.warn(off() ? 'hints are switched off' : 'hints are switched on');
    });
    // The replica that registers the entry for evacuated slices follows the evacuations, and needs the right to read them.
    const evacuations = registration.mode === 'self' ? createEvacuationWatch(connection) : undefined;
    const { includedNamespaces: included, excludedNamespaces: excluded, ...rest } = registration;
    const excludedNamespaces = excludedNamespacesOf(namespace, { included, excluded });
    const keeper =
      evacuations &&
      createRegistrationKeeper({
        ...connection,
        name: registration.name,
        owner,
        keepFailurePolicy: registration.failurePolicy === undefined,
        wanted: () =>
          buildRegistration({
            ...rest,
            version: version.current(),
            claimed: claim.held(),
            off: off(),
            evacuating: evacuations.joined(),
            routingLabel: installation.routingLabel,
            address,
            caBundle: certificates.current().caBundle,
            excludedNamespaces,
            settingsReconcilerUser: users.settingsReconcilerUser,
          }),
        onWantedChange(callback) {
          for (const source of [certificates, version, claim, evacuations, namespaces]) source.onChange(callback);
        },
        async refresh(until) {
          // Rejects only when aborted.
          await namespaces.settled(until).catch(() => undefined);
          await certificates.refresh?.(until);
        },
      });
    const deployment =
      registration.deployment === undefined
        ? { removed: () => Promise.resolve(false) }
        : watchDeployment({
            ...connection,
            deployment: { namespace, name: registration.deployment },
            timeoutMs: GOODBYE_MS,
          });
    const registering = createRegistering({ deployment, keeper, claim, clock, logger });
    const parts = [certificates, planner, registering, version, namespaces, evacuations];
    const tasks: Task[] = parts.flatMap((part) => (part === undefined ? [] : [(until) => part.run(until)]));
    return {
      ...users,
      certificates,
      version: version.current,
      plannerAlive: planner.alive,
      evacuations: evacuations ?? UNFOLLOWED,
      off,
      readiness: registering.readiness,
      tasks,
      goodbye: registering.goodbye,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
};

export const removeRegistration = async (options: SurroundingsOptions, signal: AbortSignal): Promise<boolean> => {
  const { client, config } = connect(options);
  try {
    return await unregister(client, config.registration.name, signal);
  } finally {
    await client.close();
  }
};
