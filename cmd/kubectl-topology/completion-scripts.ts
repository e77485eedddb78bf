// SPDX-License-Identifier: Apache-2.0
// Scripts by which shells, and kubectl itself, ask `kubectl-topology __complete` what may come next.

export const SHELLS = ['bash', 'zsh', 'fish', 'kubectl'] as const;
export type Shell = (typeof SHELLS)[number];

// What __complete prints: one candidate a line, with a tab before its description, then a line with a colon: `:0` leaves the
// word to the shell, which completes files, and `:4` does not.
const BASH = `# bash completion of kubectl-topology
_kubectl_topology() {
  local line candidates=()
  while IFS= read -r line; do
    [[ $line != :4 ]] || compopt +o default
    [[ $line == :* ]] || candidates+=("\${line%%$'\\t'*}")
  done < <(kubectl-topology __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  COMPREPLY=($(compgen -W "\${candidates[*]}" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _kubectl_topology kubectl-topology
`;

const ZSH = `#compdef kubectl-topology
_kubectl_topology() {
  local line files=
  local -a candidates
  for line in "\${(@f)$(kubectl-topology __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ $line != :0 ]] || files=yes
    [[ $line == :* || -z $line ]] || candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  if (( \${#candidates} )); then _describe 'kubectl-topology' candidates; elif [[ -n $files ]]; then _files; fi
}
if [ "$funcstack[1]" = "_kubectl_topology" ]; then _kubectl_topology; else compdef _kubectl_topology kubectl-topology; fi
`;

const FISH = `# fish completion of kubectl-topology
function __kubectl_topology
  set -l words (commandline -opc) (commandline -ct)
  set -l lines (kubectl-topology __complete $words[2..-1] 2>/dev/null)
  if test "$lines[-1]" = ':0'
    __fish_complete_path (commandline -ct)
  else
    string match -v ':*' -- $lines
  end
end
complete -c kubectl-topology -f -a '(__kubectl_topology)'
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
