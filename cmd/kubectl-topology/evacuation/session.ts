// What the commands of evacuations share: a connection, one line of progress, and what it means that the kind is not there.
import type { Client } from '../../../pkg/kubernetes/types.ts';
import type { ExitCode } from '../command.ts';
import type { Io } from '../io.ts';
import { connect } from '../session.ts';
import type { ClusterFlags } from './flags.ts';
import { NotInstalledError } from './objects.ts';

const NOT_INSTALLED: ExitCode = 3;

/** The kind is not served: as for `status`, nothing is installed. */
export const saysNotInstalled = (error: unknown, io: Io): ExitCode => {
  if (!(error instanceof NotInstalledError)) throw error;
  io.err.write(`error: ${error.message}: install the chart, whose settings-reconciler evacuates\n`);
  return NOT_INSTALLED;
};

/** Connects, and closes in the end. */
export const withClient = async <T>(flags: ClusterFlags, use: (client: Client) => Promise<T>): Promise<T> => {
  const { client } = await connect(flags);
  try {
    return await use(client);
  } finally {
    await client.close();
  }
};

/** One line that is replaced on a terminal; elsewhere a line for each change. */
export const createProgress = ({ err }: Io): { show(text: string): void; clear(): void } => {
  let shown = '';
  return {
    show(text) {
      if (text === shown) return;
      shown = text;
      if (err.terminal) err.control('clear line');
      err.write(err.terminal ? text : `${text}\n`);
    },
    clear() {
      if (err.terminal && shown !== '') err.control('clear line');
    },
  };
};
