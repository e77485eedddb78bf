// SPDX-License-Identifier: Apache-2.0
// Every command of kubectl-topology, in the order in which help shows them.
import type { TopologyCommand } from '../command.ts';
import { audit } from './audit.ts';
import { check } from './check.ts';
import { createComplete } from './complete.ts';
import { completion } from './completion.ts';
import { evacuate } from './evacuate.ts';
import { evacuations } from './evacuations.ts';
import { explain } from './explain.ts';
import { hints } from './hints.ts';
import { plan } from './plan.ts';
import { replay } from './replay.ts';
import { returnZone } from './return.ts';
import { route } from './route.ts';
import { simulate } from './simulate.ts';
import { snapshot } from './snapshot.ts';
import { status } from './status.ts';
import { traffic } from './traffic.ts';
import { watch } from './watch.ts';

export const COMMANDS: readonly TopologyCommand[] = [
  explain,
  watch,
  simulate,
  audit,
  check,
  traffic,
  status,
  evacuate,
  evacuations,
  returnZone,
  snapshot,
  hints,
  route,
  plan,
  replay,
  completion,
  createComplete(() => COMMANDS),
];
