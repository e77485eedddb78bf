// SPDX-License-Identifier: Apache-2.0
// Configuration blocks that several commands share: leader election, ports and log.

/** Leader election through one Lease; the durations are client-go's. */
export interface LeaderElectionConfiguration {
  /** False runs without a Lease: only for a single replica. Default true. */
  enabled: boolean;
  /** Namespace of the Lease; default: the Pod's own namespace, else `default`. */
  namespace?: string;
  /** Name of the Lease. */
  name: string;
  /** Seconds after the last renewal until others may take the Lease. Default 15. */
  leaseDurationSeconds: number;
  /** Seconds that the leader tries to renew before it gives up; less than leaseDurationSeconds. Default 10. */
  renewDeadlineSeconds: number;
  /** Seconds between two tries; less than renewDeadlineSeconds. Default 2. */
  retryPeriodSeconds: number;
}

/** A listening port. */
export interface EndpointConfiguration {
  /** Address to bind; default all addresses of both families. */
  bindAddress: string;
  /** TCP port; 0 takes a free one and prints it. */
  port: number;
}

export interface LogConfiguration {
  /** Default info. */
  level: 'debug' | 'info' | 'warn' | 'error';
  /** `json`: one object a line; `console`: for people. Default json. */
  format: 'json' | 'console';
}

/** Schema of a listening port with its default. */
export const endpointSchema = (port: number) => ({
  type: 'object',
  additionalProperties: false,
  default: {},
  description: 'A listening port, plain HTTP.',
  properties: {
    bindAddress: {
      type: 'string',
      minLength: 1,
      default: '::',
      description: 'Address to listen on; `::` takes both address families.',
    },
    port: {
      type: 'integer',
      minimum: 0,
      maximum: 65_535,
      default: port,
      description: 'TCP port; 0 takes a free one and prints it.',
    },
  },
});

/** Schema of the log block. */
export const LOG_SCHEMA = {
  type: 'object',
  additionalProperties: false,
  default: {},
  description: 'Log lines, on standard error.',
  properties: {
    level: {
      type: 'string',
      enum: ['debug', 'info', 'warn', 'error'],
      default: 'info',
      description: 'Least severe level that is written.',
    },
    format: {
      type: 'string',
      enum: ['json', 'console'],
      default: 'json',
      description: '`json` for collectors, `console` for people.',
    },
  },
};

/** Schema of a duration, one second to an hour. */
export const seconds = (value: number, description: string) => ({
  type: 'integer',
  minimum: 1,
  maximum: 3_600,
  default: value,
  description,
});

/** Schema of leader election; `name` is the command's own. */
export const leaderElectionSchema = (name: string) => ({
  type: 'object',
  additionalProperties: false,
  default: {},
  description: 'One of several replicas works at a time; the Lease says which.',
  properties: {
    enabled: { type: 'boolean', default: true, description: 'False runs without a Lease: only for a single replica.' },
    namespace: {
      type: 'string',
      minLength: 1,
      maxLength: 63,
      description: "Namespace of the Lease; default: the Pod's own namespace, else `default`.",
    },
    name: { type: 'string', minLength: 1, maxLength: 253, default: name, description: 'Name of the Lease.' },
    leaseDurationSeconds: seconds(15, 'After this time without renewal others may take the Lease.'),
    renewDeadlineSeconds: seconds(10, 'The leader gives up after failing to renew for this time.'),
    retryPeriodSeconds: seconds(2, 'Pause between two tries to take or renew the Lease.'),
  },
});

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
