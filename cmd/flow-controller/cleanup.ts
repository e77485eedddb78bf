// Takes back what the flow-controller wrote: --cleanup.
import { LEASES } from '../../pkg/apis/resources.ts';
import { cleanUpPlans, servedNamespaces } from '../../pkg/controllers/flow/cleanup.ts';
import { cleanUpNodeGroups } from '../../pkg/controllers/node-groups/cleanup.ts';
import type { Lease } from '../../pkg/apis/core.ts';
import { holderOf, installationOf } from '../../pkg/kubernetes/lease.ts';
import { ifFound } from '../../pkg/kubernetes/errors.ts';
import { workOnceAsLeader } from '../../pkg/kubernetes/leader-election.ts';
import { candidateOf } from '../shared/session.ts';
import type { Session } from './options.ts';

/** The installation that plans, if it is another one: what is on the slices is then its work. */
const planningElsewhere = async (session: Session, signal: AbortSignal): Promise<string | undefined> => {
  const { client, config, namespace, ownNamespace } = session;
  const lease = await ifFound(client.get<Lease>(LEASES, { namespace, name: config.leaderElection.name }, signal));
  if (lease === undefined || holderOf(lease) === '') return undefined;
  const installation = installationOf(lease);
  return installation === '' || installation === ownNamespace ? undefined : installation;
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
  const { client, clock, config, logger, namespace } = session;
  const elsewhere = await planningElsewhere(session, signal);
  if (elsewhere !== undefined) {
    session.print(`the flow-controller of namespace ${elsewhere} plans in this cluster: nothing is removed\n`);
    return;
  }
  const serves = await servedNamespaces(client, config.namespaceSelector, signal);
  const work = async (workSignal: AbortSignal): Promise<void> => {
    const { slices, services, policies } = await cleanUpPlans({ client, logger, serves }, workSignal);
    session.print(
      `hints removed from ${slices} EndpointSlice(s), labels from ${services} Service(s); ${policies} FlowPolicy(s) removed\n`,
    );
    await cleanUpZones(session, workSignal);
  };
  await workOnceAsLeader(candidateOf(session), work, signal);
  // Without its Lease there is no planner: admission carries no planned hints over any more.
  await ifFound(client.delete(LEASES, { namespace, name: config.leaderElection.name }, {}, signal));
  // What others wrote in between got its own zone from admission, which took the planner for alive.
  const again = await cleanUpPlans({ client, logger, serves }, signal);
  if (again.slices > 0)
    logger.info('cleaned up again', { slices: again.slices, at: new Date(clock.now()).toISOString() });
};
