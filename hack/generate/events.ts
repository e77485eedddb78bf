// SPDX-License-Identifier: Apache-2.0
// docs/reference/events.md: every event that commands record.
import { EVENT_GROUPS } from '../lib/events.ts';
import type { EventGroup } from '../lib/events.ts';
import type { Generator } from './types.ts';

const INTRODUCTION = [
  'Events are recorded on changes only: an unchanged decision records none, neither after a restart nor after a change of leader (except faults, which a new leader records once more). Repeats of one event raise its count; for one object, 25 may come in a burst, and one per five minutes in the long run. `topology_aware_routing_events_dropped_total` counts the dropped ones.',
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
