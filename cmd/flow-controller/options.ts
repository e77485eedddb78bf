// SPDX-License-Identifier: Apache-2.0
// Flags of the flow-controller, and how they and the configuration file become one configuration.
import { Command, Option } from 'commander';
import { FLOW_CONTROLLER_CONFIGURATION } from '../../pkg/apis/config/flow-controller.ts';
import type { FlowControllerConfiguration } from '../../pkg/apis/config/flow-controller.ts';
import { loadConfiguration } from '../../pkg/apis/config/load.ts';
import { COMMANDS } from '../../pkg/apis/names.ts';
import { parseWith, withCommonFlags, withLog, withPorts } from '../shared/flags.ts';
import type { CommonFlags, ParsedFlags } from '../shared/flags.ts';

/** Flags as given; what is not given stays undefined, so that the configuration file decides. */
export interface Flags extends CommonFlags {
  config: string;
  dryRun?: boolean;
  output?: 'table' | 'json';
  cleanup?: boolean;
  /** `--no-leader-elect` makes it false. */
  leaderElect?: boolean;
  leaderElectionNamespace?: string;
}

const EXAMPLES = `
Examples:
  # In the cluster, as its Pod does
  ${COMMANDS.flowController} --config /etc/flow-controller/config.yaml

  # What would it plan? Writes nothing
  ${COMMANDS.flowController} --config config.yaml --kubeconfig ~/.kube/config --dry-run
  ${COMMANDS.flowController} --config config.yaml --dry-run -o json

  # Before it is uninstalled: take back hints, marks, labels and FlowPolicies that it wrote, and nothing else
  ${COMMANDS.flowController} --config config.yaml --cleanup

Exit codes: 0 ended as asked, 1 failed while running, 2 wrong flags or configuration.`;

const createCommand = (): Command => {
  const command = new Command(COMMANDS.flowController)
    .description('Plans the hints of Services that ask for load-aware or proportional, and keeps to the plan.')
    .requiredOption('--config <file>', 'configuration file (FlowControllerConfiguration); flags win over it')
    .option('--kubeconfig <file>', 'how to reach the cluster; default: $KUBECONFIG, then the Pod')
    .option('--dry-run', 'print what would be planned and exit; writes nothing')
    .addOption(new Option('-o, --output <format>', 'format of --dry-run').choices(['table', 'json']))
    .addOption(new Option('--cleanup', 'take back everything that was written and exit').conflicts('dryRun'))
    .option('--bind-address <address>', 'address of the health and metrics ports');
  withPorts(command)
    .option('--leader-elect', 'only one replica writes (default)')
    .option('--no-leader-elect', 'write without holding the Lease: admission then takes the planner for dead')
    .option('--leader-election-namespace <namespace>', "namespace of the Lease; default: the Pod's own");
  return withLog(command).addHelpText('after', EXAMPLES);
};

/** Reads the flags (without the program's name); never exits by itself. */
export const parseFlags = (args: readonly string[]): ParsedFlags<Flags> => parseWith<Flags>(createCommand, args);

/**
 * The configuration file's text with the flags on top.
 * @throws ConfigError when the file is not valid.
 */
export const configurationOf = (flags: Flags, text: string): FlowControllerConfiguration => {
  const config = loadConfiguration(FLOW_CONTROLLER_CONFIGURATION, text, flags.config);
  return {
    ...config,
    ...withCommonFlags(flags, config),
    leaderElection: {
      ...config.leaderElection,
      ...(flags.leaderElect === undefined ? {} : { enabled: flags.leaderElect }),
      ...(flags.leaderElectionNamespace === undefined ? {} : { namespace: flags.leaderElectionNamespace }),
    },
  };
};
