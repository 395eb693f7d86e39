import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type ProgramOptions, type ProgramOutcome, Program } from './program';

const COMMAND_DEADLINE_MS = 300_000;
const FOLLOW_DEADLINE_MS = 10_000;

/** Session secret of every proof, so that a session can be written as a row. */
export const SESSION_SECRET = 'the same on every node of a proof, and long enough';

/** Settings that the gateways of all proofs share. */
const defaultEnvironment = {
  NODE_ENV: 'test',
  PORT: '0',
  METRICS_PORT: '0',
  LOG_LEVEL: 'error',
  LOG_FORMAT: 'json',
  DRAIN_TIMEOUT: '5s',
  SANDBOX: 'off',
  SUPPLIER_ALLOW: '127.0.0.0/8',
  KEY_RATE_LIMIT_RPM: '1000000',
  SUPPLIER_KEY: 'sim-proof',
  SESSION_SECRET,
};

/** Gateway file of the product; its secrets are references to the environment. */
export interface GatewayFile {
  readonly providers: Readonly<Record<string, object>>;
  readonly models: Readonly<Record<string, object>>;
  readonly aliases?: Readonly<Record<string, string>>;
}

/** A gateway as shipped: the bundle in a separate process. */
export class ProofNode {
  private constructor(
    readonly program: Program,
    readonly url: string,
    /** Environment with which the node was started. */
    readonly environment: Readonly<Record<string, string>>,
  ) {}

  static async start(
    dataFolder: string,
    more: Readonly<Record<string, string>>,
    circumstances: ProgramOptions = {},
  ): Promise<ProofNode> {
    mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
    const environment = { ...defaultEnvironment, DATA_FOLDER: dataFolder, ...more };
    const program = Program.node('bundle/main.js', [], environment, circumstances);
    const [, url = ''] = await program.find(/ is ready at (http:\S+)/);
    return new ProofNode(program, url, environment);
  }

  /** Keys that the first start of an installation displays. */
  get keys(): { readonly root: string; readonly demo: string } {
    const displayedKey = (name: string): string => {
      const [, text] = new RegExp(`${name} key +(svc_\\w+)`).exec(this.program.text) ?? [];
      if (text === undefined) throw new Error(`no ${name} key was shown: this was not the first start`);
      return text;
    };
    return { root: displayedKey('root admin'), demo: displayedKey('demo') };
  }

  /** Runs a command of the product's CLI on the same installation to its end. */
  command(...words: string[]): Promise<ProgramOutcome> {
    return Program.node('bundle/cli.js', words, this.environment, { isKept: true }).finish(
      COMMAND_DEADLINE_MS,
    );
  }

  /** Applies a gateway file and waits until the service serves the last of its models. */
  async apply(file: GatewayFile): Promise<string> {
    const path = join(this.environment['DATA_FOLDER'] ?? '', 'gateway.yaml');
    writeFileSync(path, JSON.stringify({ version: 1, ...file }));
    const { code, text, output } = await this.command('apply', path, '--yes');
    if (code !== 0) throw new Error(`the catalogue was refused: ${text}`);
    const lastModel = Object.keys(file.models).at(-1) ?? '';
    for (let elapsedMs = 0; elapsedMs < FOLLOW_DEADLINE_MS; elapsedMs += 50) {
      if ((await this.get(`/v1/models/${lastModel}`, this.keys.demo)).ok) return output;
      await delay(50);
    }
    throw new Error(`the model ${lastModel} did not appear`);
  }

  /** Returns the number of discrepancies that the product's own command reports; a failed check throws. */
  async discrepancies(): Promise<number> {
    const { code, text } = await this.command('money:verify', '--full');
    if (!/^money:verify: \d+ of [1-9]\d* hold$/m.test(text))
      throw new Error(`the books were not read: ${text}`);
    const discrepancyCount = text.match(/^ {8}\{/gm)?.length ?? 0;
    return code === 0 ? discrepancyCount : Math.max(discrepancyCount, 1);
  }

  addKey(body: object): Promise<IssuedKey> {
    return addKey(this.url, this.keys.root, body);
  }

  get(path: string, key: string): Promise<Response> {
    return fetch(this.url + path, {
      headers: { authorization: `Bearer ${key}` },
      signal: AbortSignal.timeout(30_000),
    });
  }

  stop(): Promise<void> {
    return this.program.stop();
  }
}

export interface IssuedKey {
  readonly publicId: string;
  readonly text: string;
}

/** Creates a key with the root key of a running service. */
export async function addKey(url: string, root: string, body: object): Promise<IssuedKey> {
  const response = await fetch(`${url}/v1/manage/keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${root}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'proof', ...body }),
    signal: AbortSignal.timeout(30_000),
  });
  const issuedKey = (await response.json()) as { id: string; key: string };
  if (!response.ok) throw new Error(`no key was made: ${JSON.stringify(issuedKey)}`);
  return { publicId: issuedKey.id, text: issuedKey.key };
}
