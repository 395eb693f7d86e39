import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { CallerOptions } from './caller';
import { catalogueOf, type Layout, type Place } from './catalogue';
import { Program } from '../../test/system/program';
import type { Limits } from './limits';
import { Scene } from './scene';
import { Supplier } from './supplier';

export interface SceneDefinition {
  readonly drill: string;
  readonly name: string;
  readonly layout: Layout;
}

/** The gateway as it ships, in a process and a data folder of its own, before three suppliers. */
export class Testbed {
  private constructor(
    private readonly folder: string,
    private readonly gateway: Program,
    private readonly suppliers: Readonly<Record<Place, Supplier>>,
    private readonly access: CallerOptions,
    readonly limits: Limits,
  ) {}

  static async open(scenes: readonly SceneDefinition[], limits: Limits): Promise<Testbed> {
    const folder = mkdtempSync(join(tmpdir(), 'switchboard-failover-'));
    chmodSync(folder, 0o711);
    const environment = environmentOf(folder, limits);
    const [a, b, c] = await Promise.all([Supplier.start('a'), Supplier.start('b'), Supplier.start('c')]);
    const gateway = Program.node('bundle/main.js', [], environment);
    try {
      const testbed = new Testbed(folder, gateway, { a, b, c }, await accessOf(gateway), limits);
      await testbed.stock(scenes, environment);
      return testbed;
    } catch (error) {
      await stopAll(folder, gateway, [a, b, c]);
      throw error;
    }
  }

  scene({ drill, name, layout }: SceneDefinition): Scene {
    return new Scene(drill, name, layout, this.suppliers, this.access, this.limits);
  }

  /** What the gateway has on record of a request. */
  async generation(requestId: string): Promise<unknown> {
    // The record is committed soon after the answer.
    for (let waited = 0; waited < 5_000; waited += 50) {
      const response = await this.get(`/v1/generations/${requestId}`);
      if (response.status === 200) return response.json();
      await delay(50);
    }
    return null;
  }

  /** Measures the cheapest request meanwhile, to know the noise of the machine. Returns the sorted times. */
  sampleLatency(): () => Promise<number[]> {
    const times: number[] = [];
    let isOver = false;
    const beating = (async () => {
      while (!isOver) {
        const startedAt = performance.now();
        await (await this.get('/health')).arrayBuffer();
        times.push(performance.now() - startedAt);
        await delay(50);
      }
    })();
    return async () => {
      isOver = true;
      await beating;
      return times.toSorted((one, other) => one - other);
    };
  }

  async close(): Promise<void> {
    await stopAll(this.folder, this.gateway, Object.values(this.suppliers));
  }

  private get(path: string): Promise<Response> {
    return fetch(this.access.url + path, {
      headers: { authorization: `Bearer ${this.access.key}` },
      signal: AbortSignal.timeout(10_000),
    });
  }

  /** Applies the catalogue beside the running service, which follows by itself. */
  private async stock(
    scenes: readonly SceneDefinition[],
    environment: Record<string, string>,
  ): Promise<void> {
    const file = join(this.folder, 'gateway.yaml');
    writeFileSync(file, catalogueOf(scenes, this.suppliers));
    const { code, text } = await Program.node(
      'bundle/cli.js',
      ['apply', file, '--yes'],
      environment,
    ).finish();
    if (code !== 0) throw new Error(`the catalogue was refused: ${text}`);
    const last = scenes.at(-1);
    if (last === undefined) return;
    for (let waited = 0; waited < 10_000; waited += 100) {
      const { status } = await this.get(`/v1/models/${this.scene(last).model}`);
      if (status === 200) return;
      await delay(100);
    }
    throw new Error('the gateway did not take up the catalogue');
  }
}

const duration = (milliseconds: number): string => `${milliseconds}ms`;

const environmentOf = (folder: string, limits: Limits): Record<string, string> => ({
  NODE_ENV: 'test',
  PORT: '0',
  METRICS_PORT: '0',
  DATA_FOLDER: join(folder, 'data'),
  SANDBOX: 'off',
  LOG_LEVEL: 'error',
  KEY_RATE_LIMIT_RPM: '1000000',
  SUPPLIER_ALLOW: '127.0.0.1',
  SUPPLIER_FIRST_TOKEN_TIMEOUT: duration(limits.firstTokenMs),
  SUPPLIER_STREAM_FIRST_BYTE_TIMEOUT: duration(limits.firstByteMs),
  SUPPLIER_FIRST_BYTE_TIMEOUT: duration(limits.firstByteMs),
  SUPPLIER_IDLE_TIMEOUT: duration(limits.idleMs),
  SIMULATOR_KEY: 'sim-failover',
});

async function stopAll(folder: string, gateway: Program, suppliers: readonly Supplier[]): Promise<void> {
  await gateway.stop();
  await Promise.all(suppliers.map((supplier) => supplier.stop()));
  rmSync(folder, { recursive: true, force: true });
}

/** What the first start of a service tells its operator. */
async function accessOf(gateway: Program): Promise<CallerOptions> {
  const [, url = ''] = await gateway.find(/ is ready at (\S+)/);
  const [, key = ''] = await gateway.find(/demo key +(\S+)/);
  return { url, key };
}
