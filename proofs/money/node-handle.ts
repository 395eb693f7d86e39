import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';

/** One request, as any caller would make it. */
export interface Call {
  readonly requestId: string;
  readonly walletId: number;
  readonly keyId: number;
  /** The key and model together, where they have a budget. */
  readonly keyModelId?: number;
  /** A person with budgets of the platform and of their organisation. */
  readonly userId?: number;
  /** Nano-dollars, as decimal text: the bound that is held and what it really costs. */
  readonly bound: string;
  readonly cost: string;
  readonly answerMs: number;
  /** Names no bound: as much is held as is left, `bound` at most. */
  readonly unbounded?: boolean;
}

export interface Answer {
  readonly requestId: string;
  /** `ok` when the caller was told so; else the code of the refusal. */
  readonly code: string;
  readonly retryAfterSeconds: number | null;
  /** From the request to the hold or its refusal. */
  readonly heldAfterMs: number;
}

/** The interface to a gateway node, of any kind, that the proof needs. */
export interface GatewayNode {
  call(call: Call): Promise<Answer>;
  /** Records that are not committed yet. */
  pending(): Promise<number>;
  kill(): Promise<void>;
  stop(): Promise<void>;
}

export type StartNode = (place: {
  readonly url: string;
  readonly dataFolder: string;
}) => Promise<GatewayNode>;

export type ToNode = { readonly kind: 'call'; readonly call: Call } | { readonly kind: 'pending' | 'stop' };
export type FromNode =
  | { readonly kind: 'ready' }
  | { readonly kind: 'answer'; readonly answer: Answer }
  | { readonly kind: 'pending'; readonly count: number };

/** A caller sees this of a node that died before it answered. */
export const lost = 'connection lost';

/** A process with the money engine and a pretend supplier that answers after a while. */
export const startEngineNode: StartNode = async ({ url, dataFolder }) => {
  const child = fork(join(__dirname, 'engine-node.js'), [url, dataFolder], {
    execArgv: ['--no-warnings'],
    serialization: 'advanced',
  });
  const node = new EngineNode(child);
  await node.ready;
  return node;
};

class EngineNode implements GatewayNode {
  readonly ready: Promise<void>;
  private readonly exited: Promise<void>;
  private readonly open = new Map<string, (answer: Answer) => void>();
  private counting: ((count: number) => void)[] = [];

  constructor(private readonly child: ChildProcess) {
    this.exited = new Promise((resolve) => child.once('exit', () => resolve()));
    this.ready = new Promise((resolve, reject) => {
      child.on('message', (message: FromNode) => {
        if (message.kind === 'ready') resolve();
        else if (message.kind === 'answer') this.answered(message.answer);
        else for (const count of this.counting.splice(0)) count(message.count);
      });
      void this.exited.then(() => reject(new Error('the node ended before it was ready')));
    });
    child.on('error', () => undefined);
    void this.exited.then(() => {
      for (const requestId of [...this.open.keys()]) {
        this.answered({ requestId, code: lost, retryAfterSeconds: null, heldAfterMs: 0 });
      }
    });
  }

  call(call: Call): Promise<Answer> {
    return new Promise((resolve) => {
      this.open.set(call.requestId, resolve);
      this.send({ kind: 'call', call });
      if (!this.child.connected) {
        this.answered({ requestId: call.requestId, code: lost, retryAfterSeconds: null, heldAfterMs: 0 });
      }
    });
  }

  pending(): Promise<number> {
    return new Promise((resolve) => {
      this.counting.push(resolve);
      this.send({ kind: 'pending' });
    });
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.exited;
  }

  async stop(): Promise<void> {
    this.send({ kind: 'stop' });
    const giveUp = setTimeout(() => this.child.kill('SIGKILL'), 20_000);
    await this.exited;
    clearTimeout(giveUp);
  }

  private send(message: ToNode): void {
    if (this.child.connected) this.child.send(message, () => undefined);
  }

  private answered(answer: Answer): void {
    this.open.get(answer.requestId)?.(answer);
    this.open.delete(answer.requestId);
  }
}
