import { parseJsonText } from '../../../kernel';
import type { OutgoingBounds, OutgoingClient } from '../../../platform';

/** Documents, keys, tokens and claims are small. */
const BOUNDS: OutgoingBounds = { mostBytes: 256 * 1_024, deadlineMs: 8_000 };

interface ProviderRequest {
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Answers of identity providers have to come in time, in a size that can be held, and from that very address. */
export class ProviderReader {
  constructor(private readonly client: OutgoingClient) {}

  /** It reads the keys that tokens are signed with. */
  get fetch(): typeof fetch {
    return this.client.fetchWithin(BOUNDS);
  }

  async readObject(url: string, asked: ProviderRequest = {}): Promise<Record<string, unknown>> {
    const value = await this.readJson(url, asked);
    if (!isRecord(value)) throw new Error('the answer is no object');
    return value;
  }

  async readJson(url: string, { headers, ...asked }: ProviderRequest = {}): Promise<unknown> {
    const answer = await this.client.read(
      { url, ...asked, headers: { accept: 'application/json', ...headers } },
      BOUNDS,
    );
    if (answer.status < 200 || answer.status > 299) throw new Error(`answered ${answer.status}`);
    return parseJsonText(answer.body.toString('utf8'));
  }
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;
