// SPDX-License-Identifier: Apache-2.0
// Configuration of a Gardener extension's duties: Extension resources and the heartbeat.
import type { Static } from '@sinclair/typebox';
import * as Type from '@sinclair/typebox';
import { EXTENSION_TYPE } from '../names.ts';
import { seconds } from './common.ts';
import { flag, object, text } from './schema.ts';

export const EXTENSIONS_SCHEMA = object(
  {
    enabled: flag('Follow Extension resources of our type.', { default: true }),
    conditionIntervalSeconds: seconds(30, 'At least so long between two writes of a condition by itself.'),
  },
  {
    default: {},
    description:
      "Gardener's Extension resources: classes shoot and seed with mode seed, class garden with mode garden.",
  },
);

/** Extension resources: class shoot and seed belong to mode seed, class garden to mode garden. */
export type ExtensionsConfiguration = Static<typeof EXTENSIONS_SCHEMA>;

export const HEARTBEAT_SCHEMA = object(
  {
    enabled: Type.Optional(flag('Unset: with mode seed or garden.')),
    extension: text('Name of the extension: the holder of the heartbeat Lease.', {
      maxLength: 253,
      default: EXTENSION_TYPE,
    }),
    // As for every extension of Gardener.
    renewIntervalSeconds: seconds(30, 'How often it is renewed.'),
  },
  {
    default: {},
    description:
      'The Lease `gardener-extension-heartbeat` in our namespace, by which gardenlet sees that we are alive.',
  },
);

/** The Lease by which gardenlet sees that this extension is alive. */
export type HeartbeatConfiguration = Static<typeof HEARTBEAT_SCHEMA>;
