import { setTimeout as delay } from 'node:timers/promises';
import type { CallerOptions } from './caller';
import { catalogueOf, type SceneLayout, type SupplierId } from './catalogue';
import { type ProofGateway, startGateway } from '../../test/system/gateway';
import type { DrillLimits } from './limits';
import { Scene } from './scene';
import { Supplier } from './supplier';

export interface SceneDefinition {
  readonly drill: string;
  readonly name: string;
  readonly layout: SceneLayout;
}

/** The gateway as shipped, with three suppliers behind it. */
export class FailoverTestbed {
  private constructor(
    private readonly gateway: ProofGateway,
    private readonly suppliers: Readonly<Record<SupplierId, Supplier>>,
    readonly limits: DrillLimits,
  ) {}

  static async open(scenes: readonly SceneDefinition[], limits: DrillLimits): Promise<FailoverTestbed> {
    const [a, b, c] = await Promise.all([Supplier.start('a'), Supplier.start('b'), Supplier.start('c')]);
    const testbed = new FailoverTestbed(await startGateway(environmentOf(limits)), { a, b, c }, limits);
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

  /** Returns the gateway's record of a request. */
  async generation(requestId: string): Promise<unknown> {
    // The record is committed shortly after the response.
    for (let waitedMs = 0; waitedMs < 5_000; waitedMs += 50) {
      const response = await this.get(`/v1/generations/${requestId}`);
      if (response.status === 200) return response.json();
      await delay(50);
    }
    return null;
  }

  /** Measures the cheapest request in the background, to know the machine's noise. Returns the sorted times. */
  sampleLatency(): () => Promise<number[]> {
    const times: number[] = [];
    let isOver = false;
    const sampler = (async () => {
      while (!isOver) {
        const startedAt = performance.now();
        await (await this.get('/health')).arrayBuffer();
        times.push(performance.now() - startedAt);
        await delay(50);
      }
    })();
    return async () => {
      isOver = true;
      await sampler;
      return times.toSorted((left, right) => left - right);
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

const environmentOf = (limits: DrillLimits): Record<string, string> => ({
  SUPPLIER_FIRST_TOKEN_TIMEOUT: duration(limits.firstTokenMs),
  SUPPLIER_STREAM_FIRST_BYTE_TIMEOUT: duration(limits.firstByteMs),
  SUPPLIER_FIRST_BYTE_TIMEOUT: duration(limits.firstByteMs),
  SUPPLIER_IDLE_TIMEOUT: duration(limits.idleMs),
  SIMULATOR_KEY: 'sim-failover',
});
