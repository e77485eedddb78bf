// The controllers that run inside the sandbox, as one thing that can be waited for and stopped.
import { createCrdController } from './crds.ts';
import { createEndpointSliceController } from './endpointslice-controller.ts';
import { createGarbageCollector, createNamespaceController } from './lifecycle.ts';
import type { TaskRunner } from './task-runner.ts';
import type { SandboxParts } from './writer.ts';

interface Options extends SandboxParts {
  readonly minor: () => number;
  /** Run the EndpointSlice controller too. */
  readonly endpointSlices: boolean;
}

export interface Controllers {
  /** Resolves once no controller has anything to do; retries after a failure do not count. */
  settled(): Promise<void>;
  stop(): void;
}

export const createControllers = (options: Options): Controllers => {
  const runners: TaskRunner[] = [
    createCrdController(options),
    createNamespaceController(options),
    createGarbageCollector(options),
    ...(options.endpointSlices ? [createEndpointSliceController(options)] : []),
  ];
  return {
    async settled() {
      // One controller's work can be another's cause.
      while (runners.some(({ idle }) => !idle)) await Promise.all(runners.map((runner) => runner.settled()));
    },
    stop() {
      for (const runner of runners) runner.stop();
    },
  };
};
