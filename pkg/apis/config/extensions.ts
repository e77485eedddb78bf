// SPDX-License-Identifier: Apache-2.0
// Configuration of a Gardener extension's duties: Extension resources and the heartbeat.
import { EXTENSION_TYPE } from '../names.ts';
import { seconds } from './common.ts';
import { object } from './schema.ts';

/** Extension resources: class shoot and seed belong to mode seed, class garden to mode garden. */
export interface ExtensionsConfiguration {
  /** Follow them. Default true. */
  enabled: boolean;
  /** At least so long between two writes of a condition by itself. Default 30. */
  conditionIntervalSeconds: number;
}

/** The Lease by which gardenlet sees that this extension is alive. */
export interface HeartbeatConfiguration {
  /** Unset: with mode seed or garden. */
  enabled?: boolean;
  /** Name of the extension: who the Lease says is alive. Default `topology-aware-routing`. */
  extension: string;
  /** Default 30, as for every extension of Gardener. */
  renewIntervalSeconds: number;
}

export const EXTENSIONS_SCHEMA = object(
  {
    enabled: { type: 'boolean', default: true, description: 'Follow Extension resources of our type.' },
    conditionIntervalSeconds: seconds(30, 'At least so long between two writes of a condition by itself.'),
  },
  {
    default: {},
    description:
      "Gardener's Extension resources: classes shoot and seed with mode seed, class garden with mode garden.",
  },
);

export const HEARTBEAT_SCHEMA = object(
  {
    enabled: { type: 'boolean', description: 'Unset: with mode seed or garden.' },
    extension: {
      type: 'string',
      minLength: 1,
      maxLength: 253,
      default: EXTENSION_TYPE,
      description: 'Name of the extension, who the Lease says is alive.',
    },
    renewIntervalSeconds: seconds(30, 'How often it is renewed.'),
  },
  {
    default: {},
    description:
      'The Lease `gardener-extension-heartbeat` in our namespace, by which gardenlet sees that we are alive.',
  },
);
