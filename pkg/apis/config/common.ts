// Configuration blocks that several commands share: leader election, ports and log.
import type { Static } from '@sinclair/typebox';
import * as Type from '@sinclair/typebox';
import { flag, object, oneOf, text, whole } from './schema.ts';

/** Fields of a listening port with its default. */
export const endpointFields = (port: number) => ({
  bindAddress: text('Address to listen on; `::` accepts both address families.', { default: '::' }),
  port: whole(0, 65_535, 'TCP port; 0 picks a free one and prints it.', { default: port }),
});

/** Schema of a listening port with its default. */
export const endpointSchema = (port: number) =>
  object(endpointFields(port), { default: {}, description: 'A listening port, plain HTTP.' });

/** A listening port. */
export type EndpointConfiguration = Static<ReturnType<typeof endpointSchema>>;

/** Schema of the log block. */
export const LOG_SCHEMA = object(
  {
    level: oneOf(['debug', 'info', 'warn', 'error'], {
      default: 'info',
      description: 'Least severe level that is written.',
    }),
    format: oneOf(['json', 'console'], {
      default: 'json',
      description: '`json` for collectors, `console` for people.',
    }),
  },
  { default: {}, description: 'Log lines, on standard error.' },
);

export type LogConfiguration = Static<typeof LOG_SCHEMA>;

/** Schema of a duration, one second to an hour. */
export const seconds = (value: number, description: string) => whole(1, 3_600, description, { default: value });

/** Schema of leader election; `name` is the command's own. */
export const leaderElectionSchema = (name: string) =>
  object(
    {
      enabled: flag('False runs without a Lease: only for a single replica.', { default: true }),
      namespace: Type.Optional(
        text("Namespace of the Lease; default: the Pod's own namespace, else `default`.", { maxLength: 63 }),
      ),
      name: text('Name of the Lease.', { maxLength: 253, default: name }),
      leaseDurationSeconds: seconds(15, 'After this time without renewal another replica may take the Lease.'),
      renewDeadlineSeconds: seconds(10, 'The leader gives up after failing to renew for this time.'),
      retryPeriodSeconds: seconds(2, 'Pause between two tries to take or renew the Lease.'),
    },
    { default: {}, description: 'One of several replicas is active at a time; the Lease decides which.' },
  );

/** Leader election through one Lease; the durations are client-go's. */
export type LeaderElectionConfiguration = Static<ReturnType<typeof leaderElectionSchema>>;

/** The order that keeps two leaders apart: 1.2 × retry < renew deadline < lease duration. */
export const leaderElectionProblems = (config: LeaderElectionConfiguration) => {
  const path = (field: string) => ['leaderElection', field];
  if (config.renewDeadlineSeconds >= config.leaseDurationSeconds) {
    const message = `must be less than leaseDurationSeconds (${config.leaseDurationSeconds}).`;
    return [{ path: path('renewDeadlineSeconds'), message }];
  }
  // Candidates add up to 1.2 times the period at random; a renewal must still fit into the deadline.
  if (config.retryPeriodSeconds * 1.2 >= config.renewDeadlineSeconds) {
    const message = `times 1.2 must be less than renewDeadlineSeconds (${config.renewDeadlineSeconds}).`;
    return [{ path: path('retryPeriodSeconds'), message }];
  }
  return [];
};
