import { setTimeout as delay } from 'node:timers/promises';
import type { CallerOptions } from './caller';
import { catalogueOf, type Layout, type Place } from './catalogue';
import { type ProofGateway, startGateway } from '../../test/system/gateway';
import type { Limits } from './limits';
import { Scene } from './scene';
import { Supplier } from './supplier';

export interface SceneDefinition {
  readonly drill: string;
  readonly name: string;
  readonly layout: Layout;
}

/** The gateway as it ships, before three suppliers. */
export class Testbed {
  private constructor(
    private readonly gateway: ProofGateway,
    private readonly suppliers: Readonly<Record<Place, Supplier>>,
    readonly limits: Limits,
  ) {}

  static async open(scenes: readonly SceneDefinition[], limits: Limits): Promise<Testbed> {
    const [a, b, c] = await Promise.all([Supplier.start('a'), Supplier.start('b'), Supplier.start('c')]);
    const testbed = new Testbed(await startGateway(environmentOf(limits)), { a, b, c }, limits);
    try {
      await testbed.gateway.node.apply(catalogueOf(scenes, testbed.suppliers));
      return testbed;
    } catch (error) {
      await testbed.close();
      throw error;
    }
  }

  scene({ drill, name, layout }: SceneDefinition): Scene {
    return new Scene(drill, name, layout, this.suppliers, this.access, this.limits);
  }

  /** The gateway has this on record of a request. */
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
    await this.gateway.stop();
    await Promise.all(Object.values(this.suppliers).map((supplier) => supplier.stop()));
  }

  private get access(): CallerOptions {
    const { url, keys } = this.gateway.node;
    return { url, key: keys.demo };
  }

  private get(path: string): Promise<Response> {
    return this.gateway.node.get(path, this.access.key);
  }
}

const duration = (milliseconds: number): string => `${milliseconds}ms`;

const environmentOf = (limits: Limits): Record<string, string> => ({
  SUPPLIER_FIRST_TOKEN_TIMEOUT: duration(limits.firstTokenMs),
  SUPPLIER_STREAM_FIRST_BYTE_TIMEOUT: duration(limits.firstByteMs),
  SUPPLIER_FIRST_BYTE_TIMEOUT: duration(limits.firstByteMs),
  SUPPLIER_IDLE_TIMEOUT: duration(limits.idleMs),
  SIMULATOR_KEY: 'sim-failover',
});
