import { parseJsonText } from '../../../kernel';
import type { OutgoingBounds, OutgoingClient } from '../../../platform';

/** Documents, keys, tokens and claims are small. */
const LIMITS: OutgoingBounds = { mostBytes: 256 * 1_024, deadlineMs: 8_000 };

interface ProviderRequest {
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Fetches from identity providers with a deadline, a size limit and no redirects. */
export class ProviderHttpClient {
  constructor(private readonly client: OutgoingClient) {}

  /** A `fetch` for reading the signing keys. */
  get fetch(): typeof fetch {
    return this.client.fetchWithin(LIMITS);
  }

  async readObject(url: string, request: ProviderRequest = {}): Promise<Record<string, unknown>> {
    const value = await this.readJson(url, request);
    if (!isRecord(value)) throw new Error('the answer is no object');
    return value;
  }

  async readJson(url: string, { headers, ...request }: ProviderRequest = {}): Promise<unknown> {
    const response = await this.client.read(
      { url, ...request, headers: { accept: 'application/json', ...headers } },
      LIMITS,
    );
    if (response.status < 200 || response.status > 299) throw new Error(`answered ${response.status}`);
    return parseJsonText(response.body.toString('utf8'));
  }
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;
