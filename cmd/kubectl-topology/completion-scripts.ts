// SPDX-License-Identifier: Apache-2.0
// Scripts by which shells, and kubectl itself, ask `kubectl-topology __complete` what may come next.

export const SHELLS = ['bash', 'zsh', 'fish', 'kubectl'] as const;
export type Shell = (typeof SHELLS)[number];

// What __complete prints: one candidate a line, with a tab before its description, then a line with a colon: `:0` leaves the
// word to the shell, which completes files, and `:4` does not.
//
// Candidates are names that others wrote. bash expands what `compgen -W` is given, `$(…)` included, so each is compared here and
// handed over as it is; every script drops a candidate with a character outside the set, whatever __complete prints.
const BASH = `# bash completion of kubectl-topology
_kubectl_topology() {
  local line word="\${COMP_WORDS[COMP_CWORD]}"
  COMPREPLY=()
  while IFS= read -r line; do
    line="\${line%%$'\\t'*}"
    case "$line" in
      :4) compopt +o default ;;
      '' | :* | *[!A-Za-z0-9./:_=-]*) ;;
      "$word"*) COMPREPLY+=("$line") ;;
    esac
  done < <(kubectl-topology __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _kubectl_topology kubectl-topology
`;

const ZSH = `#compdef kubectl-topology
_kubectl_topology() {
  local line files=
  local -a candidates
  for line in "\${(@f)$(kubectl-topology __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ $line != :0 ]] || files=yes
    [[ $line == :* || -z $line || \${line%%$'\\t'*} == *[^A-Za-z0-9./:_=-]* ]] ||
      candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
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
    string match --regex '^[A-Za-z0-9./_=-][A-Za-z0-9./:_=-]*(?:\\t[^\\t]*)?$' -- $lines
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
