// Takes back what the flow-controller wrote: --cleanup.
import { LEASES } from '../../pkg/apis/resources.ts';
import { type CleanupReport, cleanUpPlans, servedNamespaces } from '../../pkg/controllers/flow/cleanup.ts';
import { cleanUpNodeGroups } from '../../pkg/controllers/node-groups/cleanup.ts';
import type { Lease } from '../../pkg/apis/core.ts';
import { holderOf, installationOf } from '../../pkg/kubernetes/lease.ts';
import { isNotFound } from '../../pkg/kubernetes/errors.ts';
import { workOnceAsLeader } from '../../pkg/kubernetes/leader-election.ts';
import { candidateOf } from '../shared/session.ts';
import type { Session } from './options.ts';

const describe = ({ slices, services, policies }: CleanupReport): string =>
  `hints removed from ${slices} EndpointSlice(s), labels from ${services} Service(s); ${policies} FlowPolicy(s) removed\n`;

/** Without its Lease there is no planner: admission carries no planned hints over any more. */
const removeLease = async ({ client, config, namespace }: Session, signal: AbortSignal): Promise<void> => {
  try {
    await client.delete(LEASES, { namespace, name: config.leaderElection.name }, {}, signal);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
};

/** The installation that plans, if it is another one: what is on the slices is then its work. */
const planningElsewhere = async (session: Session, signal: AbortSignal): Promise<string | undefined> => {
  const { client, config, namespace, ownNamespace } = session;
  try {
    const lease = await client.get<Lease>(LEASES, { namespace, name: config.leaderElection.name }, signal);
    const installation = installationOf(lease);
    return holderOf(lease) === '' || installation === '' || installation === ownNamespace ? undefined : installation;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
};

/** Zones that NodeGroups gave; only where they are switched on, since Nodes are not touched otherwise. */
const cleanUpZones = async ({ config, client, print }: Session, signal: AbortSignal): Promise<void> => {
  if (!config.nodeGroups.enabled) return;
  const { nodes, services, left } = await cleanUpNodeGroups(client, signal);
  print(`zones restored on ${nodes} Node(s), marks removed from ${services} Service(s)\n`);
  for (const sentence of left) print(`left unchanged: ${sentence}\n`);
};

/** Takes everything back, as the one that holds the Lease: no other replica writes meanwhile. The Lease goes last. */
export const runCleanup = async (session: Session, signal: AbortSignal): Promise<void> => {
  const { client, clock, logger } = session;
  const elsewhere = await planningElsewhere(session, signal);
  if (elsewhere !== undefined) {
    session.print(`the flow-controller of namespace ${elsewhere} plans in this cluster: nothing is removed\n`);
    return;
  }
  const serves = await servedNamespaces(client, session.config.namespaceSelector, signal);
  const work = async (workSignal: AbortSignal): Promise<void> => {
    session.print(describe(await cleanUpPlans({ client, logger, serves }, workSignal)));
    await cleanUpZones(session, workSignal);
  };
  await workOnceAsLeader(candidateOf(session), work, signal);
  await removeLease(session, signal);
  // What others wrote in between got its own zone from admission, which took the planner for alive.
  const again = await cleanUpPlans({ client, logger, serves }, signal);
  if (again.slices > 0)
    logger.info('cleaned up again', { slices: again.slices, at: new Date(clock.now()).toISOString() });
};
