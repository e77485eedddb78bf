// The messages between a bed and the agents that it runs inside its namespaces.

/** An address and port inside the agent's namespace. */
export interface Endpoint {
  readonly address: string;
  readonly port: number;
}

/** What an agent can be asked to do. */
export type AgentTask =
  /** Answer every connection to the endpoint with `answer` and close it. */
  | ({ readonly task: 'listen'; readonly answer: string } & Endpoint)
  /** Stop doing so. */
  | ({ readonly task: 'unlisten' } & Endpoint)
  /** Open `count` connections one after another in each of `parallel` lanes and count the answers. */
  | ({
      readonly task: 'connect';
      readonly count: number;
      readonly parallel: number;
      readonly timeoutMs: number;
    } & Endpoint)
  /** Forward connections to a Unix socket, which is reachable from every network namespace, to the endpoint. */
  | ({ readonly task: 'relay'; readonly socketPath: string } & Endpoint);

/** What a `connect` task counted: answers by their text, and connections without answer by error code. */
export interface ConnectionCounts {
  readonly answers: Readonly<Record<string, number>>;
  readonly errors: Readonly<Record<string, number>>;
}

export interface AgentRequest {
  readonly id: number;
  readonly task: AgentTask;
}

export interface AgentReply {
  readonly id: number;
  readonly counts?: ConnectionCounts;
  readonly error?: string;
}
