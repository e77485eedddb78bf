// hack/image/Dockerfile: what it promises of the image, without an engine to build it.
import { existsSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { only, readDockerfile } from '../../../hack/lib/dockerfile.ts';

const folder = new URL('../../../hack/image/', import.meta.url);
const read = (file: string): string => readFileSync(new URL(file, folder), 'utf8');
const text = read('Dockerfile');
const chart = new URL('../../../charts/gardener-extension-topology-aware-routing/', import.meta.url);
const DIGEST = `sha256:${'0'.repeat(64)}`;

describe('hack/image/Dockerfile', () => {
  const instructions = readDockerfile(text);

  it('runs nothing while it is built, so that one build serves every platform', () => {
    const names = new Set(instructions.map(({ name }) => name));
    const allowed = new Set(['ARG', 'FROM', 'LABEL', 'WORKDIR', 'COPY', 'ENV', 'USER', 'ENTRYPOINT', 'CMD']);
    expect([...names].filter((name) => !allowed.has(name))).to.deep.equal([]);
    expect(instructions.filter(({ name }) => name === 'FROM')).to.have.lengthOf(1);
    expect(text).not.to.contain('--platform=');
  });

  it('copies the bundle and nothing else, owned by root', () => {
    expect(only(instructions, 'COPY')).to.equal('dist/bundle/ /app/');
  });

  it('sends the builder nothing but the bundle', () => {
    const rules = read('Dockerfile.dockerignore').split('\n');
    expect(rules.filter((rule) => rule !== '' && !rule.startsWith('#'))).to.deep.equal(['*', '!dist/bundle']);
    expect(existsSync(new URL('../../.dockerignore', folder)), 'a second .dockerignore').to.equal(false);
  });

  it('runs as a user that is not root, by number, the one that the chart names', () => {
    const user = only(instructions, 'USER');
    expect(user).to.match(/^[1-9]\d{4,}:[1-9]\d{4,}$/);
    const [uid, gid] = user.split(':');
    const helpers = readFileSync(new URL('templates/_helpers.tpl', chart), 'utf8');
    expect(helpers).to.contain(`runAsUser: ${uid}\n`).and.to.contain(`runAsGroup: ${gid}\n`);
    const after = instructions.slice(instructions.findIndex(({ name }) => name === 'USER') + 1);
    expect(after.map(({ name }) => name)).to.deep.equal(['ENTRYPOINT', 'CMD']);
  });

  it('starts the launcher, in the form without a shell, with help where no command is named', () => {
    expect(JSON.parse(only(instructions, 'ENTRYPOINT'))).to.deep.equal(['/nodejs/bin/node', '/app/launch.js']);
    expect(JSON.parse(only(instructions, 'CMD'))).to.deep.equal(['--help']);
    expect(only(instructions, 'WORKDIR')).to.equal('/app');
  });

  it('is based on a tag without a shell, for the major version of Node.js that the project needs, or on a digest', () => {
    const base = only(instructions, 'FROM');
    const { engines } = JSON.parse(readFileSync(new URL('../../package.json', folder), 'utf8')) as {
      engines: { node: string };
    };
    const major = engines.node.replace('>=', '');
    expect(base).to.match(new RegExp(String.raw`/distroless/nodejs${major}-debian\d+:nonroot$`));
    expect(only(readDockerfile(text, { BASE_DIGEST: DIGEST }), 'FROM')).to.equal(`${base}@${DIGEST}`);
  });

  it('labels the image with its version', () => {
    const labels = only(readDockerfile(text, { VERSION: '1.2.3' }), 'LABEL');
    expect(labels).to.contain('org.opencontainers.image.version="1.2.3"').and.to.contain('licenses="Apache-2.0"');
  });
});
