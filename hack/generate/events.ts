// SPDX-License-Identifier: Apache-2.0
// docs/reference/events.md: every event that commands record.
import { EVENT_GROUPS } from '../lib/events.ts';
import type { EventGroup } from '../lib/events.ts';
import type { Generator } from './types.ts';

const INTRODUCTION = [
  'Events are told when something changes, and only then: a decision that stays is no news, neither after a restart nor with another leader (but for faults, which a new leader tells once more). Repeats of one event are counted on it; of one object 25 may come at once, and one in five minutes in the long run. `topology_aware_routing_events_dropped_total` counts what was left out.',
  'Beside these, each [refusal](../operations/README.md#refusals) of the setting is an event of its reason: `Warning`, about the object whose setting it is, once when it begins.',
];

const tableOf = ({ about, rows }: EventGroup): string =>
  [
    `About ${about}:`,
    '',
    '| reason | type | when | what to do |',
    '|---|---|---|---|',
    ...rows.map(({ reason, type, when, todo }) => `| \`${reason}\` | ${type} | ${when} | ${todo} |`),
  ].join('\n');

export const eventsReference: Generator = {
  path: 'docs/reference/events.md',
  render: () => {
    const byCommand = Map.groupBy(EVENT_GROUPS, ({ command }) => command);
    const sections = [...byCommand].map(([command, groups]) => [`## ${command}`, ...groups.map(tableOf)].join('\n\n'));
    return ['# Events', ...INTRODUCTION, ...sections].join('\n\n');
  },
};
