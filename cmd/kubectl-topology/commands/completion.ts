// SPDX-License-Identifier: Apache-2.0
// `kubectl topology completion`: prints the completion script of a shell.
import { Argument } from 'commander';
import { topologyCommand } from '../command.ts';
import { COMPLETION_SCRIPTS, SHELLS } from '../completion-scripts.ts';
import type { Shell } from '../completion-scripts.ts';

export const completion = topologyCommand<unknown>({
  name: 'completion',
  summary: 'Prints the completion script of a shell, or the one that kubectl asks for its plug-ins',
  examples: [
    ['bash, now', 'completion bash > ~/.topology && . ~/.topology'],
    ['zsh, from the next start on, with ~/.zfunc in fpath', 'completion zsh > ~/.zfunc/_kubectl-topology'],
    ['fish', 'completion fish > ~/.config/fish/completions/kubectl-topology.fish'],
    [
      '`kubectl topology` in every shell that completes kubectl',
      'completion kubectl > ~/.local/bin/kubectl_complete-topology',
    ],
  ],
  define(command) {
    command.addArgument(new Argument('<shell>', 'who asks').choices(SHELLS));
  },
  run(io, _flags, [shell]) {
    io.out.write(COMPLETION_SCRIPTS[shell as Shell]);
    return Promise.resolve(0);
  },
});
