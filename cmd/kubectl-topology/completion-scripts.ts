// SPDX-License-Identifier: Apache-2.0
// Scripts by which shells, and kubectl itself, ask `kubectl-topology __complete` what may come next.

export const SHELLS = ['bash', 'zsh', 'fish', 'kubectl'] as const;
export type Shell = (typeof SHELLS)[number];

// What __complete prints: one candidate a line, with a tab before its description, then a line with a colon.
const BASH = `# bash completion of kubectl-topology
_kubectl_topology() {
  local line candidates=()
  while IFS= read -r line; do
    [[ $line == :* ]] || candidates+=("\${line%%$'\\t'*}")
  done < <(kubectl-topology __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  COMPREPLY=($(compgen -W "\${candidates[*]}" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _kubectl_topology kubectl-topology
`;

const ZSH = `#compdef kubectl-topology
_kubectl_topology() {
  local line
  local -a candidates
  for line in "\${(@f)$(kubectl-topology __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ $line == :* || -z $line ]] || candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  if (( \${#candidates} )); then _describe 'kubectl-topology' candidates; else _files; fi
}
if [ "$funcstack[1]" = "_kubectl_topology" ]; then _kubectl_topology; else compdef _kubectl_topology kubectl-topology; fi
`;

const FISH = `# fish completion of kubectl-topology
function __kubectl_topology
  set -l words (commandline -opc) (commandline -ct)
  kubectl-topology __complete $words[2..-1] 2>/dev/null | string match -v ':*'
end
complete -c kubectl-topology -f -a '(__kubectl_topology)'
complete -c kubectl-topology -s f -l filename -r -F
`;

const KUBECTL = `#!/usr/bin/env sh
# Put this on the PATH as kubectl_complete-topology: kubectl asks it to complete \`kubectl topology\`.
exec kubectl-topology __complete "$@"
`;

export const COMPLETION_SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: BASH,
  zsh: ZSH,
  fish: FISH,
  kubectl: KUBECTL,
};
