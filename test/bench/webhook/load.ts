// A load generator. Closed loop: every connection sends its next request when the answer to the last one is complete.
import { once } from 'node:events';
import { connect, type TLSSocket } from 'node:tls';
import { createResponseReader, type ResponseFrame } from './http-framing.ts';

/** What one connection sends again and again, and what it must get each time. */
export interface Shot {
  /** Head and body, as they go over the wire. */
  readonly request: Buffer;
  /** Length of the verified answer's body; any other length ends the run. Left out: not checked. */
  readonly answerBytes?: number | undefined;
}

export interface Target {
  readonly port: number;
  /** PEM of the authority that signed the server's certificate. */
  readonly ca: string;
}

export interface LoadOptions {
  readonly target: Target;
  /** One connection each. */
  readonly shots: readonly Shot[];
  /** Answers within this time are discarded: just-in-time compilers and heaps need to settle. */
  readonly warmUpMs: number;
  readonly measureMs: number;
  /** Called when the measured part begins and when it ends, to read counters of the server. */
  readonly onMeasure?: (phase: 'begin' | 'end') => void;
}

export interface LoadResult {
  /** Answers that arrived within the measured time. */
  readonly answers: number;
  readonly seconds: number;
  /** Milliseconds from writing a request to the last byte of its answer, one per answer. */
  readonly latencies: Float64Array;
  /** How much of one core the generator itself used while measuring; near 1 it would be the bottleneck. */
  readonly loadCpuShare: number;
}

/** The cipher suites of TLS 1.3 in the order in which kube-apiserver, a Go program, offers them. */
const CIPHERS = 'TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256';

/** Opens one connection as kube-apiserver does and waits for the end of the handshake. */
export const openConnection = async ({ port, ca }: Target): Promise<TLSSocket> => {
  const socket = connect({
    host: '127.0.0.1',
    port,
    ca,
    servername: 'localhost',
    ALPNProtocols: ['http/1.1'],
    ciphers: CIPHERS,
    minVersion: 'TLSv1.3',
  });
  socket.setNoDelay(true);
  await once(socket, 'secureConnect');
  return socket;
};

/** Gives the reader what arrives; rejects where the connection ends. */
const follow = (
  socket: TLSSocket,
  reader: ReturnType<typeof createResponseReader>,
  reject: (error: unknown) => void,
  closed: string,
): void => {
  socket.on('data', (chunk: Buffer) => {
    try {
      reader.push(chunk);
    } catch (error) {
      reject(error);
    }
  });
  socket.on('error', reject);
  socket.on('close', () => reject(new Error(closed)));
};

/** Sends one request on a connection of its own and returns the whole answer. */
export const askOnce = async (target: Target, request: Buffer): Promise<ResponseFrame> => {
  const socket = await openConnection(target);
  try {
    return await new Promise<ResponseFrame>((resolve, reject) => {
      const reader = createResponseReader({ keepBody: true, onResponse: resolve });
      follow(socket, reader, reject, 'the server closed the connection before its answer was complete');
      socket.write(request);
    });
  } finally {
    socket.destroy();
  }
};

interface Recorder {
  /** Takes the latency of one answer; false when the run is over and the connection should send no more. */
  record(milliseconds: number): boolean;
}

const problemOf = (frame: ResponseFrame, shot: Shot): string | undefined => {
  if (frame.status !== 200) return `status ${frame.status}`;
  if (shot.answerBytes !== undefined && frame.bodyBytes !== shot.answerBytes)
    return `a body of ${frame.bodyBytes} bytes where the verified answer had ${shot.answerBytes}`;
  return frame.close ? 'the server closes a keep-alive connection' : undefined;
};

/** Fires until the recorder says stop; rejects on the first answer that is not as verified. */
const fire = (socket: TLSSocket, shot: Shot, recorder: Recorder): Promise<void> =>
  new Promise((resolve, reject) => {
    let sentAt = 0;
    const send = (): void => {
      sentAt = performance.now();
      socket.write(shot.request);
    };
    const reader = createResponseReader({
      onResponse: (frame) => {
        const problem = problemOf(frame, shot);
        if (problem !== undefined) reject(new Error(`wrong answer under load: ${problem}`));
        else if (recorder.record(performance.now() - sentAt)) send();
        else resolve();
      },
    });
    follow(socket, reader, reject, 'the server closed a connection under load');
    send();
  });

/** Splits the run into warm-up, measurement and drain by the time at which answers arrive. */
const createRecorder = (options: LoadOptions): Recorder & { result(): LoadResult } => {
  const begin = performance.now() + options.warmUpMs;
  const end = begin + options.measureMs;
  const latencies: number[] = [];
  let phase: 'warm-up' | 'measure' | 'drain' = 'warm-up';
  let beganAt = 0;
  let seconds = 0;
  let cpu = process.cpuUsage();
  let loadCpuShare = 0;
  return {
    record: (milliseconds) => {
      const now = performance.now();
      if (phase === 'measure') latencies.push(milliseconds);
      if (phase === 'warm-up' && now >= begin) {
        phase = 'measure';
        options.onMeasure?.('begin');
        cpu = process.cpuUsage();
        beganAt = performance.now();
      } else if (phase === 'measure' && now >= end) {
        phase = 'drain';
        seconds = (now - beganAt) / 1000;
        const used = process.cpuUsage(cpu);
        loadCpuShare = (used.user + used.system) / 1e6 / seconds;
        options.onMeasure?.('end');
      }
      return phase !== 'drain';
    },
    result: () => ({ answers: latencies.length, seconds, latencies: Float64Array.from(latencies), loadCpuShare }),
  };
};

/** Runs the load once. Rejects if any answer differs from what was verified or a connection is lost. */
export const runLoad = async (options: LoadOptions): Promise<LoadResult> => {
  const sockets = await Promise.all(options.shots.map(() => openConnection(options.target)));
  try {
    const recorder = createRecorder(options);
    await Promise.all(
      options.shots.map((shot, index) => {
        const socket = sockets[index];
        if (socket === undefined) throw new Error('a connection for every shot');
        return fire(socket, shot, recorder);
      }),
    );
    return recorder.result();
  } finally {
    for (const socket of sockets) {
      socket.removeAllListeners('close');
      socket.on('error', () => {});
      socket.destroy();
    }
  }
};
