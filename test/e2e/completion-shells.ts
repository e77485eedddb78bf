// SPDX-License-Identifier: Apache-2.0
// Types into real interactive shells and reads what the line became and which candidates the shell was given.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './bed/command.ts';

export interface Typed {
  /** The line after the TAB. */
  readonly line: string;
  /** In text order. */
  readonly candidates: readonly string[];
}

/** `line` is what is typed before a TAB. */
export type TypeInto = (line: string) => Promise<Typed>;

export interface ShellOptions {
  /** A folder for files of the shell; the completion script is in it. */
  readonly folder: string;
  /** Name of the script in the folder. */
  readonly script: string;
  readonly environment: Readonly<Record<string, string>>;
}

const ANSWER = 'answer';
/** Ctrl-X r, which both shells leave free for the one that asks what came of the line. */
const ASK = String.raw`$'\C-xr'`;

/**
 * A terminal for another shell, by the module of zsh that has terminals: starts it, sets it up, types the line and a TAB,
 * and asks. The answer is there when the file is; a shell that hangs ends with an error after two minutes.
 */
const DRIVER = `
zmodload zsh/zpty zsh/zselect
answer=$1 line=$2 setup=$3; shift 3
zpty terminal "$@"
zpty -w terminal "source $setup"
zpty -r terminal seen '*READY*' || exit 3
zpty -n -w terminal "$line"$'\\t'
zpty -n -w terminal ${ASK}
for (( round = 0; round < 2400; round++ )); do
  [[ -e $answer ]] && break
  zselect -t 5
done
zpty -d terminal
[[ -e $answer ]]
`;

// bash forgets COMPREPLY once it has read it.
const BASH_SETUP = `
PS1=
cd "$FOLDER"
bind 'set bell-style none'
ask() {
  printf '%s\\n' "$READLINE_LINE" "\${given[@]}" > "$FOLDER/part"
  mv "$FOLDER/part" "$FOLDER/${ANSWER}"
}
bind -x '"\\C-xr": ask'
source "$FOLDER/$SCRIPT"
eval "$(declare -f _kubectl_topology | sed '1s/.*/as_it_is ()/')"
_kubectl_topology() { as_it_is "$@"; given=("\${COMPREPLY[@]}"); }
echo RE''ADY
`;

// compadd is how completion functions hand over candidates; those calls that only ask for matches go through untouched.
const ZSH_SETUP = `
PROMPT=
cd $FOLDER
setopt no_beep
autoload -U compinit
compinit -u -D
typeset -ga given=()
compadd() {
  local -a hits
  if (( ! \${argv[(I)-[OAD]]} )); then
    builtin compadd -O hits "$@"
    given+=($hits)
  fi
  builtin compadd "$@"
}
ask() {
  print -rl -- "$BUFFER" $given > $FOLDER/part
  mv $FOLDER/part $FOLDER/${ANSWER}
}
zle -N ask
bindkey '^Xr' ask
source $FOLDER/$SCRIPT
print RE''ADY
`;

// fish has no list of candidates to look into after a TAB, but it can be asked for that of any line.
const FISH_SETUP = `
cd $FOLDER
function fish_prompt; end
function ask
  begin; commandline; complete --do-complete "$LINE" | string replace --regex '\\t.*' ''; end > $FOLDER/part
  mv $FOLDER/part $FOLDER/${ANSWER}
end
bind \\cxr ask
source $FOLDER/$SCRIPT
echo RE''ADY
`;

const typeInto =
  (name: string, setup: string, command: readonly string[]) =>
  ({ folder, script, environment }: ShellOptions): TypeInto => {
    const files = {
      setup: join(folder, `setup.${name}`),
      driver: join(folder, 'driver.zsh'),
      answer: join(folder, ANSWER),
    };
    writeFileSync(files.setup, setup);
    writeFileSync(files.driver, DRIVER);
    const env = { ...environment, TERM: 'vt100', FOLDER: folder, SCRIPT: script };
    return async (line) => {
      rmSync(files.answer, { force: true });
      await run('zsh', ['-f', files.driver, files.answer, line, files.setup, ...command], { ...env, LINE: line });
      const [typed = '', ...candidates] = readFileSync(files.answer, 'utf8').trimEnd().split('\n');
      return { line: typed, candidates: [...new Set(candidates)].sort() };
    };
  };

export const INTERACTIVE = {
  bash: typeInto('bash', BASH_SETUP, ['bash', '--norc', '--noprofile', '-i']),
  zsh: typeInto('zsh', ZSH_SETUP, ['zsh', '-f', '-i']),
  fish: typeInto('fish', FISH_SETUP, ['fish', '--no-config', '--interactive']),
} as const;
