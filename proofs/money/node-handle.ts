import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';

/** A request, as any caller would send it. */
export interface MoneyCall {
  readonly requestId: string;
  readonly walletId: number;
  readonly keyId: number;
  /** Id of the key and model, if they have a budget. */
  readonly keyModelId?: number;
  /** User with budgets of the platform and of an organisation. */
  readonly userId?: number;
  /** Nano-dollars as decimal text: the bound that is held. `cost` is the true cost. */
  readonly bound: string;
  readonly cost: string;
  readonly answerMs: number;
  /** No bound: holds what is left, up to `bound`. */
  readonly unbounded?: boolean;
}

export interface MoneyCallOutcome {
  readonly requestId: string;
  /** `ok` for a successful call; otherwise the refusal code. */
  readonly code: string;
  readonly retryAfterSeconds: number | null;
  /** From the request until the hold or its refusal. */
  readonly heldAfterMs: number;
}

/** Interface of a gateway node as the proof needs it. */
export interface MoneyNode {
  call(call: MoneyCall): Promise<MoneyCallOutcome>;
  /** Number of uncommitted records. */
  pending(): Promise<number>;
  kill(): Promise<void>;
  stop(): Promise<void>;
}

export type StartNode = (nodeIndex: {
  readonly url: string;
  readonly dataFolder: string;
}) => Promise<MoneyNode>;

export type ToNode =
  { readonly kind: 'call'; readonly call: MoneyCall } | { readonly kind: 'pending' | 'stop' };
export type FromNode =
  | { readonly kind: 'ready' }
  | { readonly kind: 'answer'; readonly answer: MoneyCallOutcome }
  | { readonly kind: 'pending'; readonly count: number };

/** Outcome for the caller of a node that died before responding. */
export const connectionLost = 'connection lost';

/** Starts a process with the money engine and a fake supplier that responds after a delay. */
export const startEngineNode: StartNode = async ({ url, dataFolder }) => {
  const child = fork(join(__dirname, 'engine-node.js'), [url, dataFolder], {
    execArgv: ['--no-warnings'],
    serialization: 'advanced',
  });
  const node = new EngineNode(child);
  await node.ready;
  return node;
};

class EngineNode implements MoneyNode {
  readonly ready: Promise<void>;
  private readonly exited: Promise<void>;
  private readonly open = new Map<string, (answer: MoneyCallOutcome) => void>();
  private pendingCounts: ((count: number) => void)[] = [];

  constructor(private readonly child: ChildProcess) {
    this.exited = new Promise((resolve) => child.once('exit', () => resolve()));
    this.ready = new Promise((resolve, reject) => {
      child.on('message', (message: FromNode) => {
        if (message.kind === 'ready') resolve();
        else if (message.kind === 'answer') this.handleOutcome(message.answer);
        else for (const count of this.pendingCounts.splice(0)) count(message.count);
      });
      void this.exited.then(() => reject(new Error('the node ended before it was ready')));
    });
    child.on('error', () => undefined);
    void this.exited.then(() => {
      for (const requestId of [...this.open.keys()]) {
        this.handleOutcome({ requestId, code: connectionLost, retryAfterSeconds: null, heldAfterMs: 0 });
      }
    });
  }

  call(call: MoneyCall): Promise<MoneyCallOutcome> {
    return new Promise((resolve) => {
      this.open.set(call.requestId, resolve);
      this.send({ kind: 'call', call });
      if (!this.child.connected) {
        this.handleOutcome({
          requestId: call.requestId,
          code: connectionLost,
          retryAfterSeconds: null,
          heldAfterMs: 0,
        });
      }
    });
  }

  pending(): Promise<number> {
    return new Promise((resolve) => {
      this.pendingCounts.push(resolve);
      this.send({ kind: 'pending' });
    });
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.exited;
  }

  async stop(): Promise<void> {
    this.send({ kind: 'stop' });
    const killTimer = setTimeout(() => this.child.kill('SIGKILL'), 20_000);
    await this.exited;
    clearTimeout(killTimer);
  }

  private send(message: ToNode): void {
    if (this.child.connected) this.child.send(message, () => undefined);
  }

  private handleOutcome(answer: MoneyCallOutcome): void {
    this.open.get(answer.requestId)?.(answer);
    this.open.delete(answer.requestId);
  }
}
