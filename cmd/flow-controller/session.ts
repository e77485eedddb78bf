// What every way of running the command shares: what controllers have, and the sources of load.
import type { FlowControllerConfiguration } from '../../pkg/apis/config/flow-controller.ts';
import type { LoadSource } from '../../pkg/metrics/types.ts';
import type { ControllerSession } from '../shared/session.ts';

export interface Session extends ControllerSession<FlowControllerConfiguration> {
  /** Where load comes from, by name, the default first. */
  sources: ReadonlyMap<string, LoadSource>;
  /** The file that the thread for planning is started from; absent: plans are made in the main thread. */
  planner?: URL;
}
