import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Circumstances, type Outcome, Program } from './program';

const COMMAND_DEADLINE_MS = 300_000;
const FOLLOW_DEADLINE_MS = 10_000;

/** The secret of sessions in every proof, so that a session can be written as a row. */
export const SESSION_SECRET = 'the same on every node of a proof, and long enough';

/** Every proof's gateway has these in common. */
const usual = {
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

/** A gateway file of the product; secrets in it are references to the environment. */
export interface GatewayFile {
  readonly providers: Readonly<Record<string, object>>;
  readonly models: Readonly<Record<string, object>>;
  readonly aliases?: Readonly<Record<string, string>>;
}

/** A gateway as it ships: the bundle in a process of its own. */
export class ProofNode {
  private constructor(
    readonly program: Program,
    readonly url: string,
    /** With which it was started. */
    readonly environment: Readonly<Record<string, string>>,
  ) {}

  static async start(
    dataFolder: string,
    more: Readonly<Record<string, string>>,
    circumstances: Circumstances = {},
  ): Promise<ProofNode> {
    mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
    const environment = { ...usual, DATA_FOLDER: dataFolder, ...more };
    const program = Program.node('bundle/main.js', [], environment, circumstances);
    const [, url = ''] = await program.find(/ is ready at (http:\S+)/);
    return new ProofNode(program, url, environment);
  }

  /** The keys that the first start of an installation shows. */
  get keys(): { readonly root: string; readonly demo: string } {
    const shown = (name: string): string => {
      const [, text] = new RegExp(`${name} key +(svc_\\w+)`).exec(this.program.text) ?? [];
      if (text === undefined) throw new Error(`no ${name} key was shown: this was not the first start`);
      return text;
    };
    return { root: shown('root admin'), demo: shown('demo') };
  }

  /** A command line of the product on the same installation, to its end. */
  command(...words: string[]): Promise<Outcome> {
    return Program.node('bundle/cli.js', words, this.environment, { isKept: true }).finish(
      COMMAND_DEADLINE_MS,
    );
  }

  /** Makes the catalogue as this gateway file says, and waits until the service serves the last of its models. */
  async apply(file: GatewayFile): Promise<string> {
    const path = join(this.environment['DATA_FOLDER'] ?? '', 'gateway.yaml');
    writeFileSync(path, JSON.stringify({ version: 1, ...file }));
    const { code, text, output } = await this.command('apply', path, '--yes');
    if (code !== 0) throw new Error(`the catalogue was refused: ${text}`);
    const last = Object.keys(file.models).at(-1) ?? '';
    for (let waited = 0; waited < FOLLOW_DEADLINE_MS; waited += 50) {
      if ((await this.get(`/v1/models/${last}`, this.keys.demo)).ok) return output;
      await delay(50);
    }
    throw new Error(`the model ${last} did not appear`);
  }

  /** So many things in the books do not agree, by the product's own command; one that cannot look has failed. */
  async discrepancies(): Promise<number> {
    const { code, text } = await this.command('money:verify', '--full');
    if (!/^money:verify: \d+ of [1-9]\d* hold$/m.test(text))
      throw new Error(`the books were not read: ${text}`);
    const wrong = text.match(/^ {8}\{/gm)?.length ?? 0;
    return code === 0 ? wrong : Math.max(wrong, 1);
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

/** A key made by the root key of a running service. */
export async function addKey(url: string, root: string, body: object): Promise<IssuedKey> {
  const response = await fetch(`${url}/v1/manage/keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${root}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'proof', ...body }),
    signal: AbortSignal.timeout(30_000),
  });
  const made = (await response.json()) as { id: string; key: string };
  if (!response.ok) throw new Error(`no key was made: ${JSON.stringify(made)}`);
  return { publicId: made.id, text: made.key };
}
