import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { nodeOf } from './product';

const START_DEADLINE_MS = 120_000;
const COMMAND_DEADLINE_MS = 120_000;
const STOP_DEADLINE_MS = 30_000;
const RESPONSE_DEADLINE_MS = 30_000;
const MAX_OUTPUT_LENGTH = 400_000;

export interface ServiceProcessOptions {
  readonly product: string;
  readonly dataFolder: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** Returns the output of a start that is refused. Synchronous, because test runners need it before their first test. */
export function runRefusedStart(input: ServiceProcessOptions): string {
  const { product, dataFolder, environment } = withDefaults(input);
  mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
  const { stdout, stderr } = spawnSync(
    nodeOf(product),
    ['--no-warnings', join(product, 'dist', 'bundle', 'main.js')],
    {
      cwd: product,
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...environment },
      encoding: 'utf8',
      timeout: START_DEADLINE_MS,
    },
  );
  return stdout + stderr;
}

class ServiceProgram {
  text = '';
  readonly ended: Promise<number | null>;
  readonly child: ChildProcess;

  constructor(
    { product, environment }: Pick<ServiceProcessOptions, 'product' | 'environment'>,
    args: readonly string[],
  ) {
    const [file = '', ...otherArgs] = args;
    this.child = spawn(
      nodeOf(product),
      ['--no-warnings', join(product, 'dist', 'bundle', file), ...otherArgs],
      {
        cwd: product,
        env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...environment },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    for (const stream of [this.child.stdout, this.child.stderr])
      stream
        ?.setEncoding('utf8')
        .on('data', (chunk: string) => (this.text = (this.text + chunk).slice(-MAX_OUTPUT_LENGTH)));
    // The command might end before the process that it started.
    const stop = (): void => void this.child.kill('SIGTERM');
    process.once('exit', stop);
    this.ended = once(this.child, 'close').then(() => {
      process.off('exit', stop);
      return this.child.exitCode;
    });
  }

  async waitForEnd(milliseconds: number): Promise<number | null> {
    const killTimer = setTimeout(() => this.child.kill('SIGKILL'), milliseconds);
    const code = await this.ended;
    clearTimeout(killTimer);
    return code;
  }
}

export interface ServiceResponse {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

const defaultEnvironment = (dataFolder: string): Record<string, string> => ({
  NODE_ENV: 'test',
  PORT: '0',
  METRICS_PORT: '0',
  LOG_LEVEL: 'warn',
  LOG_FORMAT: 'json',
  DATA_FOLDER: dataFolder,
  DATABASE_POOL_SIZE: '5',
  DRAIN_TIMEOUT: '2s',
  SANDBOX: 'off',
  SETTLE_ACK: 'commit',
  SUPPLIER_ALLOW: '127.0.0.0/8',
  SUPPLIER_KEY: 'kit',
  KEY_RATE_LIMIT_RPM: '1000000',
  KEY_FAILURES_PER_MINUTE: '1000000',
});

const kitModel = {
  kind: 'chat',
  context_tokens: 200_000,
  max_output_tokens: 8_000,
  price: { input: 1, output: 2 },
} as const;

/**
 * Catalogue with one model of a supplier that supports only chat: one dollar per million input tokens, two per million
 * output tokens.
 */
const catalogue = (supplier: string): object => ({
  version: 1,
  providers: {
    kit: {
      style: 'openai-style',
      base_url: `${supplier}/v1`,
      regions: ['local'],
      api_key: '${SUPPLIER_KEY}',
      settings: { profile: 'vllm' },
    },
  },
  models: {
    'kit-model': { ...kitModel, lanes: [{ provider: 'kit', model: 'kit-model', region: 'local' }] },
  },
});

/** Keys that the first start of an installation shows, by data folder. */
const firstKeys = new Map<string, string>();
const ownerCookies = new Map<string, string>();

export class ServiceProcess {
  private constructor(
    private readonly options: ServiceProcessOptions,
    private readonly program: ServiceProgram,
    readonly url: string,
  ) {}

  static async start(input: ServiceProcessOptions): Promise<ServiceProcess> {
    const options = withDefaults(input);
    mkdirSync(options.dataFolder, { recursive: true, mode: 0o700 });
    const program = new ServiceProgram(options, ['main.js']);
    const ready = await waitForOutput(program, / is ready at (http:\S+)/);
    if (ready === null) throw new Error(`the service did not start:\n${program.text.slice(-2_000)}`);
    const [, key] = /demo key +(svc_\w+)/.exec(program.text) ?? [];
    if (key !== undefined) firstKeys.set(options.dataFolder, key);
    return new ServiceProcess(options, program, ready[1] ?? '');
  }

  /** Returns the output of a start that must be refused; throws if the service starts. */
  static async startRefused(input: ServiceProcessOptions): Promise<string> {
    const options = withDefaults(input);
    mkdirSync(options.dataFolder, { recursive: true, mode: 0o700 });
    const program = new ServiceProgram(options, ['main.js']);
    const ready = await waitForOutput(program, / is ready at /);
    if (ready === null) return program.text;
    program.child.kill('SIGTERM');
    await program.waitForEnd(STOP_DEADLINE_MS);
    throw new Error('the service started');
  }

  get output(): string {
    return this.program.text;
  }

  get key(): string {
    return firstKeys.get(this.options.dataFolder) ?? '';
  }

  async addKitModel(supplier: string): Promise<void> {
    const file = join(this.options.dataFolder, 'gateway.yaml');
    writeFileSync(file, JSON.stringify(catalogue(supplier)));
    await this.command('apply', file, '--yes');
    await this.waitForModel('kit-model');
  }

  async addModel(name: string, provider: object): Promise<void> {
    const file = join(this.options.dataFolder, `${name}.yaml`);
    const model = { ...kitModel, lanes: [{ provider: name, model: name, region: 'local' }] };
    writeFileSync(
      file,
      JSON.stringify({ version: 1, providers: { [name]: provider }, models: { [name]: model } }),
    );
    await this.command('apply', file, '--yes');
    await this.waitForModel(name);
  }

  private async waitForModel(name: string): Promise<void> {
    for (let waited = 0; waited < RESPONSE_DEADLINE_MS; waited += 50) {
      if ((await this.get(`/v1/models/${name}`)).status === 200) return;
      await delay(50);
    }
    throw new Error(`the model ${name} did not appear`);
  }

  async command(...args: string[]): Promise<string> {
    const program = new ServiceProgram(this.options, ['cli.js', ...args]);
    const code = await program.waitForEnd(COMMAND_DEADLINE_MS);
    if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${program.text.slice(-2_000)}`);
    return program.text;
  }

  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<ServiceResponse> {
    return fetchResponse(this.url + path, { headers: { authorization: `Bearer ${this.key}`, ...headers } });
  }

  /** Submits a form or JSON as a browser does from a page of the service. */
  submit(
    path: string,
    cookie: string,
    body: Readonly<Record<string, string>> | string,
  ): Promise<ServiceResponse> {
    const isJson = typeof body === 'string';
    return fetchResponse(this.url + path, {
      method: 'POST',
      redirect: 'manual',
      headers: {
        ...(cookie === '' ? {} : { cookie }),
        accept: isJson ? 'application/json' : 'text/html',
        origin: this.url,
        'content-type': isJson ? 'application/json' : 'application/x-www-form-urlencoded',
      },
      body: isJson ? body : new URLSearchParams(body).toString(),
    });
  }

  post(path: string, body: object): Promise<ServiceResponse> {
    return fetchResponse(this.url + path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${this.key}`,
        'content-type': 'application/json',
        'anthropic-version': '2023-06-01',
      },
      body: JSON.stringify(body),
    });
  }

  chat(prompt: string, tags: readonly string[] = []): Promise<ServiceResponse> {
    const messages = [{ role: 'user', content: prompt }];
    return this.post('/v1/chat/completions', { model: 'kit-model', messages, metadata: { tags } });
  }

  /** Returns the owner's session, started with the link that the first start shows. */
  async ownerCookie(): Promise<string> {
    const [, token] = /sign-in-link\?token=(\S+)/.exec(this.program.text) ?? [];
    if (token === undefined) return ownerCookies.get(this.options.dataFolder) ?? '';
    const existing = ownerCookies.get(this.options.dataFolder);
    if (existing !== undefined) return existing;
    const response = await fetchResponse(`${this.url}/sign-in-link`, {
      method: 'POST',
      redirect: 'manual',
      headers: { accept: 'text/html', origin: this.url, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ token }).toString(),
    });
    const [cookie = ''] = response.headers.getSetCookie().map((each) => each.split(';')[0] ?? '');
    if (cookie === '')
      throw new Error(`the owner could not sign in: ${response.status} ${response.text.slice(0, 500)}`);
    ownerCookies.set(this.options.dataFolder, cookie);
    return cookie;
  }

  /** Loads a page without a key, as a browser does. */
  page(path: string, headers: Readonly<Record<string, string>> = {}): Promise<ServiceResponse> {
    return fetchResponse(this.url + path, {
      redirect: 'manual',
      headers: { accept: 'text/html', ...headers },
    });
  }

  /** Throws unless the service is ready, and serves and charges a request. */
  async mustServe(prompt: string): Promise<void> {
    const health = await this.get('/health/ready');
    if (health.status !== 200) throw new Error(`it is not ready: ${health.status} ${health.text}`);
    const { status, text, headers } = await this.chat(prompt);
    if (status !== 200 || headers.get('x-svc-cost-usd') === null)
      throw new Error(`a plain request was answered ${status}: ${text}`);
  }

  async stop(mode: 'asked' | 'killed'): Promise<void> {
    if (this.program.child.exitCode !== null) return;
    this.program.child.kill(mode === 'asked' ? 'SIGTERM' : 'SIGKILL');
    await this.program.waitForEnd(STOP_DEADLINE_MS);
  }
}

const withDefaults = (options: ServiceProcessOptions): ServiceProcessOptions => ({
  ...options,
  environment: { ...defaultEnvironment(options.dataFolder), ...options.environment },
});

/** Waits for output that matches the pattern; null if the process ends before. */
async function waitForOutput(program: ServiceProgram, pattern: RegExp): Promise<RegExpExecArray | null> {
  let isOver = false;
  void program.ended.then(() => (isOver = true));
  for (let waited = 0; waited < START_DEADLINE_MS; waited += 20) {
    const match = pattern.exec(program.text);
    if (match !== null || isOver) return match;
    await delay(20);
  }
  program.child.kill('SIGKILL');
  return null;
}

async function fetchResponse(url: string, init: RequestInit): Promise<ServiceResponse> {
  const response = await fetch(url, { ...init, signal: AbortSignal.timeout(RESPONSE_DEADLINE_MS) });
  return { status: response.status, text: await response.text(), headers: response.headers };
}
