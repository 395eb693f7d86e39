import { type ProofGateway, startGateway } from '../../test/system/gateway';
import { type SpawnedSimulator, spawnSimulator } from '../../test/support/simulator';
import { type VendorLane } from './lanes';

const DEADLINE_MS = 30_000;

/** A call that the simulator received as a vendor. */
export interface VendorCall {
  readonly id: number;
  readonly model: string;
  readonly path: string;
  readonly status: number | null;
  /** The vendor's rule that the call broke. */
  readonly rule: string | null;
  /** The vendor's error text. */
  readonly words: string | null;
}

export interface VendorResponse {
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

/** The shipped gateway, and the simulator in place of every vendor. */
export class VendorTestbed {
  private constructor(
    private readonly gateway: ProofGateway,
    private readonly simulator: SpawnedSimulator,
  ) {}

  static async open(lanes: readonly VendorLane[]): Promise<VendorTestbed> {
    const simulator = await spawnSimulator(['--ring', '400']);
    const gateway = await startGateway({ OTHER_KEY: 'sim-elsewhere' });
    const testbed = new VendorTestbed(gateway, simulator);
    try {
      await testbed.applyCatalogue(lanes);
      return testbed;
    } catch (error) {
      await testbed.close();
      throw error;
    }
  }

  async send(caller: CallerName, body: object): Promise<VendorResponse> {
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

  /** Calls that vendors received after the given one. */
  callsAfter(id: number): Promise<readonly VendorCall[]> {
    return this.simulator.requests(id);
  }

  async close(): Promise<void> {
    await this.gateway.stop();
    await this.simulator.stop();
  }

  private async applyCatalogue(lanes: readonly VendorLane[]): Promise<void> {
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
