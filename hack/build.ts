// `npm run build`: JavaScript, declarations and source maps of cmd/ and pkg/ below dist/, for importers and `npm pack`.
import { spawnSync } from 'node:child_process';
import { chmodSync, readdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
for (const folder of ['cmd', 'pkg']) rmSync(join(root, 'dist', folder), { recursive: true, force: true });

const { status } = spawnSync(
  process.execPath,
  [join(root, 'node_modules/typescript/bin/tsc'), '-p', join(root, 'hack/tsconfig.build.json')],
  { cwd: root, stdio: 'inherit' },
);
if (status !== 0) process.exit(status ?? 1);

// Commands carry a shebang; npm links them as they are.
for (const command of readdirSync(join(root, 'dist/cmd'), { withFileTypes: true })) {
  if (command.isDirectory()) chmodSync(join(root, 'dist/cmd', command.name, 'main.js'), 0o755);
}
