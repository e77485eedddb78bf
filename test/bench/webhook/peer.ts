// Builds the Go program that the webhook is compared with, once per version of its sources, into the cache folder.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const SOURCES = join(import.meta.dirname, '../peer-go');
const FILES = ['go.mod', 'go.sum', 'main.go', 'defaulter.go'];

/** The program, or why there is none: without Go the benchmark runs on without it. */
export type Peer =
  | { readonly kind: 'built'; readonly binary: string; readonly versions: string }
  | { readonly kind: 'missing'; readonly message: string };

const cacheFolder = (): string =>
  join(
    process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'),
    'gardener-extension-topology-aware-routing',
    'bench',
  );

const versionOf = (module: string): string =>
  new RegExp(`^\\s+${module.replaceAll('.', '\\.')} (v\\S+)`, 'm').exec(
    readFileSync(join(SOURCES, 'go.mod'), 'utf8'),
  )?.[1] ?? '?';

/** Builds the peer unless it is there already; `report` hears that a build begins, because it takes a minute. */
export const buildPeer = (report: (line: string) => void): Peer => {
  const go = spawnSync('go', ['env', 'GOVERSION'], { cwd: SOURCES, encoding: 'utf8' });
  if (go.status !== 0) {
    const message =
      'Go is not on PATH: the peer in test/bench/peer-go is left out, and with it every ratio (https://go.dev/dl/)';
    return { kind: 'missing', message };
  }
  const versions = `${go.stdout.trim().replace('go', 'Go ')}, controller-runtime ${versionOf('sigs.k8s.io/controller-runtime')}`;
  const checksum = createHash('sha256').update(versions);
  for (const file of FILES) checksum.update(readFileSync(join(SOURCES, file)));
  const binary = join(cacheFolder(), `peer-go-${checksum.digest('hex').slice(0, 12)}`);
  if (existsSync(binary)) return { kind: 'built', binary, versions };
  report(`building the Go peer (${versions}), about a minute …`);
  mkdirSync(cacheFolder(), { recursive: true });
  const build = spawnSync('go', ['build', '-trimpath', '-buildvcs=false', '-ldflags', '-s -w', '-o', binary, '.'], {
    cwd: SOURCES,
    env: { ...process.env, CGO_ENABLED: '0' },
    encoding: 'utf8',
  });
  if (build.status !== 0) return { kind: 'missing', message: `the Go peer does not build:\n${build.stderr}` };
  return { kind: 'built', binary, versions };
};
