import type { Contributions, Extension, Host, Need } from '../../index';

/** A hook of the extension, and the arguments that it is called with. */
export interface HookCall {
  /** Path from the contributions on, such as `['gates', 0, 'request']`. */
  readonly path: readonly (string | number)[];
  /** JSON values; `$signal`, `$aborted`, `$context` and `{ $bytes }` stand for what JSON cannot hold. */
  readonly values: readonly unknown[];
  /** Lets everything that the hook sends elsewhere fail: no connection, or a response with status 500. */
  readonly sink?: 'away' | 'refusing';
}

/** Effect of a hook. A bigint is a string that ends with `n`. */
export interface HookOutcome {
  readonly kind: 'returned' | 'threw' | 'late';
  readonly value?: unknown;
  /** Name and message of the error. */
  readonly error?: string;
  /** How often the hook tried to send something while its sink was failing. */
  readonly attempts: number;
  /** Output of a command. */
  readonly written: string;
}

/**
 * Wraps the extension with a server on the loopback interface through which the kit calls its hooks. The text of this
 * function runs in the service's process, so it uses nothing from outside.
 */
export function withAgent(
  extension: Extension<unknown, Need>,
  addressFile: string,
): Extension<unknown, Need> {
  // Commands load extensions as well.
  if (!(process.argv[1] ?? '').endsWith('main.js')) return extension;
  const { writeFileSync } = process.getBuiltinModule('node:fs');
  const { createServer } = process.getBuiltinModule('node:http');
  const { Socket } = process.getBuiltinModule('node:net');
  const { AsyncLocalStorage } = process.getBuiltinModule('node:async_hooks');
  const MAX_CALL_MS = 20_000;

  interface FailingSink {
    readonly mode: 'away' | 'refusing';
    attempts: number;
  }
  const sinks = new AsyncLocalStorage<FailingSink>();
  const unreachable = (): Error =>
    Object.assign(new Error('connect ECONNREFUSED (the kit took the sink away)'), { code: 'ECONNREFUSED' });
  const recordAttempt = (): FailingSink | undefined => {
    const sink = sinks.getStore();
    if (sink !== undefined) sink.attempts += 1;
    return sink;
  };

  let isPatched = false;
  const patchNetwork = (): void => {
    if (isPatched) return;
    isPatched = true;
    const { fetch } = globalThis;
    globalThis.fetch = (...args) => {
      const sink = recordAttempt();
      if (sink === undefined) return fetch(...args);
      return sink.mode === 'away'
        ? Promise.reject(new TypeError('fetch failed', { cause: unreachable() }))
        : Promise.resolve(new Response('', { status: 500 }));
    };
    const intercept = (name: 'connect' | 'write', result: (socket: object) => unknown): void => {
      const original = Reflect.get(Socket.prototype, name) as (...given: unknown[]) => unknown;
      Object.assign(Socket.prototype, {
        [name](this: InstanceType<typeof Socket>, ...args: unknown[]): unknown {
          const isOutput = (this as unknown) === process.stdout || (this as unknown) === process.stderr;
          if (isOutput || recordAttempt() === undefined) return original.apply(this, args);
          process.nextTick(() => this.destroy(unreachable()));
          return result(this);
        },
      });
    };
    intercept('connect', (socket) => socket);
    intercept('write', () => false);
  };

  const withFailure = (name: string | symbol, method: unknown, port: object): unknown => {
    if (typeof method !== 'function') return method;
    return (...args: unknown[]): unknown => {
      const callPort = (): unknown => Reflect.apply(method, port, args);
      // Reading records and keys does not leave the host, so it never fails.
      if (name === 'records.read' || name === 'keys.read') return sinks.exit(callPort);
      const sink = recordAttempt();
      if (sink === undefined) return callPort();
      return name === 'http.out' && sink.mode === 'refusing'
        ? Promise.resolve({ status: 500, headers: {}, body: new Uint8Array() })
        : Promise.reject(unreachable());
    };
  };
  const withFailingPorts = (host: Host<unknown>): Host<unknown> => ({
    ...host,
    ports: new Proxy(host.ports, {
      get(ports, name): unknown {
        const port: unknown = Reflect.get(ports, name);
        if (typeof port !== 'object' || port === null) return port;
        return new Proxy(port, {
          get: (target, method) => withFailure(name, Reflect.get(target, method), target),
        });
      },
    }),
  });

  const describeError = (error: unknown): string =>
    error instanceof Error
      ? `${error.name}: ${error.message}`
      : `Error: ${JSON.stringify(error) ?? 'unprintable'}`;
  const deepFreeze = <T>(value: T): T => {
    if (typeof value !== 'object' || value === null) return value;
    for (const inner of Object.values(value)) deepFreeze(inner);
    return Object.freeze(value);
  };

  const call = async (
    contributions: Contributions,
    { path, values, sink: mode }: HookCall,
  ): Promise<HookOutcome> => {
    const sink: FailingSink | undefined = mode && { mode, attempts: 0 };
    if (sink !== undefined) patchNetwork();
    const timer = new AbortController();
    let written = '';
    const write = (text: string): void => void (written += text);
    const special: Readonly<Record<string, unknown>> = {
      $signal: timer.signal,
      $aborted: AbortSignal.abort(),
      $context: { write, writeError: write },
    };
    const args = values.map((value) => {
      if (typeof value === 'string' && value in special) return special[value];
      const bytes: unknown = typeof value === 'object' && value !== null && Reflect.get(value, '$bytes');
      return typeof bytes === 'string' ? new TextEncoder().encode(bytes) : deepFreeze(value);
    });
    let owner: object = contributions;
    for (const step of path.slice(0, -1)) {
      const next: unknown = Reflect.get(owner, step);
      // A part that creates another one, such as an unframer.
      owner = (typeof next === 'function' ? Reflect.apply(next, owner, []) : next) as object;
    }
    const hook = Reflect.get(owner, path.at(-1) ?? '') as (...given: readonly unknown[]) => unknown;
    let deadline: NodeJS.Timeout | undefined;
    const timeout = new Promise<'late'>(
      (resolve) => (deadline = setTimeout(() => resolve('late'), MAX_CALL_MS)),
    );
    // eslint-disable-next-line @typescript-eslint/require-await -- A synchronous throw becomes a rejection.
    const invoke = async (): Promise<unknown> => Reflect.apply(hook, owner, args);
    const work = sink === undefined ? invoke() : sinks.run(sink, invoke);
    try {
      const value = await Promise.race([work.then((settled) => ({ settled })), timeout]);
      const attempts = sink?.attempts ?? 0;
      if (value === 'late') return { kind: 'late', attempts, written };
      const { settled } = value;
      const printable = settled instanceof Uint8Array ? new TextDecoder().decode(settled) : settled;
      return { kind: 'returned', value: printable, attempts, written };
    } catch (error) {
      return { kind: 'threw', error: describeError(error), attempts: sink?.attempts ?? 0, written };
    } finally {
      clearTimeout(deadline);
      timer.abort();
    }
  };

  const serve = (contributions: Contributions): void => {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        void call(contributions, JSON.parse(Buffer.concat(chunks).toString()) as HookCall).then((outcome) => {
          const text = JSON.stringify(outcome, (_name, value: unknown) =>
            typeof value === 'bigint' ? `${value}n` : value,
          );
          response.setHeader('connection', 'close').end(text);
        });
      });
    });
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { readonly port: number };
      writeFileSync(addressFile, `http://127.0.0.1:${port}`);
    });
    server.unref();
  };

  return {
    ...extension,
    async setup(host) {
      const contributions = await extension.setup(withFailingPorts(host));
      serve(contributions);
      return contributions;
    },
  };
}
