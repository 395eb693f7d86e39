import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { nodeOf } from './product';

const START_DEADLINE_MS = 120_000;
const COMMAND_DEADLINE_MS = 120_000;
const STOP_DEADLINE_MS = 30_000;
const ANSWER_DEADLINE_MS = 30_000;
const KEPT = 400_000;

export interface HouseOptions {
  readonly product: string;
  readonly dataFolder: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** The output of a start that is refused. Runners of tests need it before their first test, so nothing waits. */
export function refusedStart(given: HouseOptions): string {
  const { product, dataFolder, environment } = withUsual(given);
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

/** A process of the service, or of its command line, with what it said. */
class Spoken {
  text = '';
  readonly ended: Promise<number | null>;
  readonly child: ChildProcess;

  constructor(
    { product, environment }: Pick<HouseOptions, 'product' | 'environment'>,
    words: readonly string[],
  ) {
    const [file = '', ...others] = words;
    this.child = spawn(nodeOf(product), ['--no-warnings', join(product, 'dist', 'bundle', file), ...others], {
      cwd: product,
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.child.stdout, this.child.stderr])
      stream?.setEncoding('utf8').on('data', (said: string) => (this.text = (this.text + said).slice(-KEPT)));
    // The command may end before it, where its reader has seen enough.
    const stop = (): void => void this.child.kill('SIGTERM');
    process.once('exit', stop);
    this.ended = once(this.child, 'close').then(() => {
      process.off('exit', stop);
      return this.child.exitCode;
    });
  }

  async endedWithin(milliseconds: number): Promise<number | null> {
    const insist = setTimeout(() => this.child.kill('SIGKILL'), milliseconds);
    const code = await this.ended;
    clearTimeout(insist);
    return code;
  }
}

/** What a request of the gateway came to. */
export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

const usual = (dataFolder: string): Record<string, string> => ({
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

/** One model of a supplier that speaks chat alone: a million tokens cost a dollar in and two dollars out. */
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

/** The keys that the first start of an installation shows, by its data folder. */
const firstKeys = new Map<string, string>();
const owners = new Map<string, string>();

/** The service in a process of its own, with the database that comes with it. */
export class House {
  private constructor(
    private readonly options: HouseOptions,
    private readonly program: Spoken,
    readonly url: string,
  ) {}

  static async start(given: HouseOptions): Promise<House> {
    const options = withUsual(given);
    mkdirSync(options.dataFolder, { recursive: true, mode: 0o700 });
    const program = new Spoken(options, ['main.js']);
    const ready = await seen(program, / is ready at (http:\S+)/);
    if (ready === null) throw new Error(`the service did not start:\n${program.text.slice(-2_000)}`);
    const [, key] = /demo key +(svc_\w+)/.exec(program.text) ?? [];
    if (key !== undefined) firstKeys.set(options.dataFolder, key);
    return new House(options, program, ready[1] ?? '');
  }

  /** A start that is to be refused, as what it said; one that was not refused is a failure. */
  static async refused(given: HouseOptions): Promise<string> {
    const options = withUsual(given);
    mkdirSync(options.dataFolder, { recursive: true, mode: 0o700 });
    const program = new Spoken(options, ['main.js']);
    const ready = await seen(program, / is ready at /);
    if (ready === null) return program.text;
    program.child.kill('SIGTERM');
    await program.endedWithin(STOP_DEADLINE_MS);
    throw new Error('the service started');
  }

  get said(): string {
    return this.program.text;
  }

  get key(): string {
    return firstKeys.get(this.options.dataFolder) ?? '';
  }

  /** Gives it the model of the stand-in. */
  async furnish(supplier: string): Promise<void> {
    const file = join(this.options.dataFolder, 'gateway.yaml');
    writeFileSync(file, JSON.stringify(catalogue(supplier)));
    await this.command('apply', file, '--yes');
    await this.modelAppears('kit-model');
  }

  /** Gives it another model, from a provider of its own. */
  async addModel(name: string, provider: object): Promise<void> {
    const file = join(this.options.dataFolder, `${name}.yaml`);
    const model = { ...kitModel, lanes: [{ provider: name, model: name, region: 'local' }] };
    writeFileSync(
      file,
      JSON.stringify({ version: 1, providers: { [name]: provider }, models: { [name]: model } }),
    );
    await this.command('apply', file, '--yes');
    await this.modelAppears(name);
  }

  private async modelAppears(name: string): Promise<void> {
    for (let waited = 0; waited < ANSWER_DEADLINE_MS; waited += 50) {
      if ((await this.get(`/v1/models/${name}`)).status === 200) return;
      await delay(50);
    }
    throw new Error(`the model ${name} did not appear`);
  }

  async command(...words: string[]): Promise<string> {
    const program = new Spoken(this.options, ['cli.js', ...words]);
    const code = await program.endedWithin(COMMAND_DEADLINE_MS);
    if (code !== 0) throw new Error(`${words.join(' ')} ended with ${code}: ${program.text.slice(-2_000)}`);
    return program.text;
  }

  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return answerOf(this.url + path, { headers: { authorization: `Bearer ${this.key}`, ...headers } });
  }

  /** Sends a form or JSON as a browser does from a page of the service. */
  submit(path: string, cookie: string, body: Readonly<Record<string, string>> | string): Promise<Answer> {
    const isJson = typeof body === 'string';
    return answerOf(this.url + path, {
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

  post(path: string, body: object): Promise<Answer> {
    return answerOf(this.url + path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${this.key}`,
        'content-type': 'application/json',
        'anthropic-version': '2023-06-01',
      },
      body: JSON.stringify(body),
    });
  }

  chat(prompt: string, tags: readonly string[] = []): Promise<Answer> {
    const messages = [{ role: 'user', content: prompt }];
    return this.post('/v1/chat/completions', { model: 'kit-model', messages, metadata: { tags } });
  }

  /** The owner's session, begun with the link that the first start shows. */
  async ownerCookie(): Promise<string> {
    const [, token] = /sign-in-link\?token=(\S+)/.exec(this.program.text) ?? [];
    if (token === undefined) return owners.get(this.options.dataFolder) ?? '';
    const known = owners.get(this.options.dataFolder);
    if (known !== undefined) return known;
    const answer = await answerOf(`${this.url}/sign-in-link`, {
      method: 'POST',
      redirect: 'manual',
      headers: { accept: 'text/html', origin: this.url, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ token }).toString(),
    });
    const [cookie = ''] = answer.headers.getSetCookie().map((each) => each.split(';')[0] ?? '');
    if (cookie === '')
      throw new Error(`the owner could not sign in: ${answer.status} ${answer.text.slice(0, 500)}`);
    owners.set(this.options.dataFolder, cookie);
    return cookie;
  }

  /** A page without a key: it is read as a browser reads it. */
  page(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return answerOf(this.url + path, { redirect: 'manual', headers: { accept: 'text/html', ...headers } });
  }

  /** It serves: its health is good, and a request is answered and paid for. */
  async serves(prompt: string): Promise<void> {
    const health = await this.get('/health/ready');
    if (health.status !== 200) throw new Error(`it is not ready: ${health.status} ${health.text}`);
    const { status, text, headers } = await this.chat(prompt);
    if (status !== 200 || headers.get('x-svc-cost-usd') === null)
      throw new Error(`a plain request was answered ${status}: ${text}`);
  }

  async stop(how: 'asked' | 'killed'): Promise<void> {
    if (this.program.child.exitCode !== null) return;
    this.program.child.kill(how === 'asked' ? 'SIGTERM' : 'SIGKILL');
    await this.program.endedWithin(STOP_DEADLINE_MS);
  }
}

const withUsual = (options: HouseOptions): HouseOptions => ({
  ...options,
  environment: { ...usual(options.dataFolder), ...options.environment },
});

/** What was said, as soon as it was; null where the process ended before. */
async function seen(program: Spoken, pattern: RegExp): Promise<RegExpExecArray | null> {
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

async function answerOf(url: string, init: RequestInit): Promise<Answer> {
  const answer = await fetch(url, { ...init, signal: AbortSignal.timeout(ANSWER_DEADLINE_MS) });
  return { status: answer.status, text: await answer.text(), headers: answer.headers };
}
