// Flags of the flow-controller, and how they and the configuration file become one configuration.
import { Command } from 'commander';
import { FLOW_CONTROLLER_CONFIGURATION } from '../../pkg/apis/config/flow-controller.ts';
import type { FlowControllerConfiguration } from '../../pkg/apis/config/flow-controller.ts';
import { loadConfiguration } from '../../pkg/apis/config/load.ts';
import { COMMANDS } from '../../pkg/apis/names.ts';
import type { createFlowController } from '../../pkg/controllers/flow/controller.ts';
import { type ControllerFlags, withControllerFlags, withRunning, withServing } from '../shared/run-controller.ts';
import { type ParsedFlags, parseWith } from '../shared/flags.ts';
import type { ControllerSession } from '../shared/session.ts';

export type Flags = ControllerFlags;

const EXAMPLES = `
Examples:
  # In the cluster, as its Pod does
  ${COMMANDS.flowController} --config /etc/flow-controller/config.yaml

  # Before uninstalling: remove the hints, marks, labels and FlowPolicies that it wrote, and nothing else
  ${COMMANDS.flowController} --config config.yaml --cleanup`;

const createCommand = (): Command => {
  const command = new Command(COMMANDS.flowController).description(
    'Plans hints for Services with the strategy load-aware or proportional, and writes them.',
  );
  withRunning(command, { kind: FLOW_CONTROLLER_CONFIGURATION.kind, cleanup: 'remove what was written and exit' });
  const unelected = 'write without holding the Lease: admission then considers the planner dead';
  return withServing(command, unelected).addHelpText('after', EXAMPLES);
};

export const parseFlags = (args: readonly string[]): ParsedFlags<Flags> => parseWith<Flags>(createCommand, args);

/**
 * The configuration file's text with the flags on top.
 * @throws ConfigError when the file is not valid.
 */
export const configurationOf = (flags: Flags, text: string): FlowControllerConfiguration => {
  const config = loadConfiguration(FLOW_CONTROLLER_CONFIGURATION, text, flags.config);
  return { ...config, ...withControllerFlags(flags, config) };
};

export type Session = ControllerSession<FlowControllerConfiguration> &
  Pick<Parameters<typeof createFlowController>[0], 'sources' | 'openThread'>;
