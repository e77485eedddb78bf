// What every controller does as a command, whatever it controls: a missing flag, help, ports, and a dry run that only reads.
import { expect } from 'chai';
import { it } from 'mocha';
import { CONFIG_API_VERSION } from '../../pkg/apis/config/load.ts';
import type { CommandProcess, Ended } from '../fixtures/command-process.ts';
import { type TemporaryFolder, temporaryFolder } from '../fixtures/temporary-folder.ts';
import { type ControllerBed, eventually } from './controller-bed.ts';

/** Runs the command to its end, in this process. */
type Run = (...args: string[]) => Promise<Ended>;

/** Its process ends with code 2 and a sentence on standard error, without a stack and without output. */
export const refusesWrongArguments = (start: (...args: string[]) => CommandProcess): void => {
  it('ends its process with 2 where its configuration is missing', async () => {
    const { code, stderr, stdout } = await start().ended;
    expect(stderr).to.match(/--config/);
    expect(stderr).not.to.match(/\n\s+at /);
    expect(stdout).to.equal('');
    expect(code).to.equal(2);
  });
};

/** `words`: what its help says beside what every help says. */
export const explainsItself = (run: Run, ...words: string[]): void => {
  it('explains itself with examples', async () => {
    const { code, stdout } = await run('--help');
    expect(code).to.equal(0);
    for (const part of ['Examples:', 'Exit codes:', ...words]) expect(stdout).to.contain(part);
  });
};

/** The folder of a test's configuration files. */
export interface CommandFolder extends Pick<TemporaryFolder, 'at'> {
  /** By which the command takes `config.yaml` and is `user` on the sandbox. */
  readonly flags: readonly string[];
}

/** `configurations`: what stands in each file below its first line, `config.yaml` among them. */
export const openCommandFolder = (
  { sandbox }: Pick<ControllerBed, 'sandbox'>,
  user: string,
  configurations: Readonly<Record<string, string>>,
): CommandFolder => {
  const folder = temporaryFolder();
  for (const [name, text] of Object.entries(configurations))
    folder.write(name, `apiVersion: ${CONFIG_API_VERSION}\n${text}\n`);
  const kubeconfig = folder.write('kubeconfig', sandbox.kubeconfig(user));
  return { ...folder, flags: ['--config', folder.at('config.yaml'), '--kubeconfig', kubeconfig] };
};

/** Of health and metrics, once it has printed them. */
export const urlsOf = async (child: CommandProcess): Promise<{ health: string; metrics: string }> => {
  const printed = /health on port (\d+), metrics on port (\d+)/;
  await eventually(() => expect(child.output()).to.match(printed));
  const [, health, metrics] = printed.exec(child.output()) ?? [];
  return { health: `http://127.0.0.1:${health}`, metrics: `http://127.0.0.1:${metrics}/metrics` };
};

/** Fails while the process is not ready or not alive. */
export const expectWell = async (health: string): Promise<void> => {
  await eventually(async () => expect((await fetch(`${health}/readyz`)).status).to.equal(200));
  expect((await fetch(`${health}/healthz`)).status).to.equal(200);
};

/** Fails where `user` sent anything but reads since the log was cleared. */
export const expectOnlyReads = ({ sandbox }: Pick<ControllerBed, 'sandbox'>, user: string): void => {
  const methods = new Set(sandbox.requests.filter((request) => request.user === user).map(({ method }) => method));
  expect([...methods], 'methods of all requests').to.deep.equal(['GET']);
};
