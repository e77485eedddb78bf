// Settings of a configuration file inside a ConfigMap by dotted path: nested maps of plain values, which is all that
// kube-proxy's and Antrea's files need. Lists, anchors and blocks of text are passed over.
import type { StringMap } from '../../apis/meta.ts';

const LINE = /^( *)([\w./-]+):(?:\s+(.*?))?\s*$/;
const PAIR = /([\w./-]+)\s*:\s*([^,}\s]+)/g;
const MAX_LINES = 2_000;

const bare = (value: string): string => value.replace(/\s+#.*$/, '').replace(/^(["'])(.*)\1$/, '$2');

export const flatYaml = (text: string): StringMap => {
  const settings: Record<string, string> = {};
  const stack: { indent: number; key: string }[] = [];
  for (const line of text.split('\n', MAX_LINES)) {
    const [, spaces, key, raw] = LINE.exec(line) ?? [];
    if (spaces === undefined || key === undefined || line.trimStart().startsWith('#')) continue;
    while (stack.length > 0 && (stack.at(-1)?.indent ?? 0) >= spaces.length) stack.pop();
    const path = [...stack.map((step) => step.key), key].join('.');
    const value = bare(raw ?? '');
    if (value.startsWith('{')) {
      for (const [, name = '', own = ''] of value.matchAll(PAIR)) settings[`${path}.${name}`] = bare(own);
    } else if (value === '' || value.startsWith('#')) stack.push({ indent: spaces.length, key });
    else settings[path] = value;
  }
  return settings;
};
