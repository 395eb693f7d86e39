import { type ProofGateway, startGateway } from '../../test/system/gateway';
import { type SpawnedSimulator, spawnSimulator } from '../../test/support/simulator';
import { type VendorLane } from './lanes';

const DEADLINE_MS = 30_000;

/** The simulator was asked this, as a vendor. */
export interface VendorCall {
  readonly id: number;
  readonly model: string;
  readonly path: string;
  readonly status: number | null;
  /** The rule of the vendor that the call broke. */
  readonly rule: string | null;
  /** The vendor said this to it. */
  readonly words: string | null;
}

export interface Heard {
  readonly status: number;
  readonly body: unknown;
  readonly text: string;
}

export type CallerName = 'chat' | 'messages' | 'responses';

export const paths: Readonly<Record<CallerName, string>> = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
};

/** The gateway as it ships, and the simulator that stands in for every vendor. */
export class Testbed {
  private constructor(
    private readonly gateway: ProofGateway,
    private readonly simulator: SpawnedSimulator,
  ) {}

  static async open(lanes: readonly VendorLane[]): Promise<Testbed> {
    const simulator = await spawnSimulator(['--ring', '400']);
    const gateway = await startGateway({ OTHER_KEY: 'sim-elsewhere' });
    const testbed = new Testbed(gateway, simulator);
    try {
      await testbed.stock(lanes);
      return testbed;
    } catch (error) {
      await testbed.close();
      throw error;
    }
  }

  async ask(caller: CallerName, body: object): Promise<Heard> {
    const { url, keys } = this.gateway.node;
    const response = await fetch(url + paths[caller], {
      method: 'POST',
      headers: {
        authorization: `Bearer ${keys.demo}`,
        'content-type': 'application/json',
        ...(caller === 'messages' ? { 'anthropic-version': '2023-06-01' } : {}),
      },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(DEADLINE_MS),
    });
    const text = await response.text();
    return { status: response.status, text, body: parsed(text) };
  }

  /** The vendors were asked these after a call. */
  callsAfter(id: number): Promise<readonly VendorCall[]> {
    return this.simulator.requests(id);
  }

  async close(): Promise<void> {
    await this.gateway.stop();
    await this.simulator.stop();
  }

  private async stock(lanes: readonly VendorLane[]): Promise<void> {
    const providers: Record<string, object> = {};
    const models: Record<string, object> = {};
    for (const { model, upstream, style, profile, account = 'SUPPLIER_KEY' } of lanes) {
      providers[model] = {
        style,
        base_url: this.simulator.url,
        regions: ['local'],
        api_key: `\${${account}}`,
        ...(profile === undefined ? {} : { settings: { profile } }),
      };
      models[model] = {
        price: { input: 0.001, output: 0.001 },
        lanes: [{ provider: model, model: upstream, region: 'local' }],
      };
    }
    await this.gateway.node.apply({ providers, models });
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
