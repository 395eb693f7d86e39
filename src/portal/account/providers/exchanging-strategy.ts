import { Strategy } from 'passport-oauth2';
import { parseJsonText } from '../../../kernel';

export const ANSWER_DEADLINE_MS = 8_000;
const LARGEST_ANSWER = 256 * 1_024;

/** The library's strategy, with the nonce of OpenID Connect and an exchange that ends in time. */
export class ExchangingStrategy extends Strategy {
  override authorizationParams(options: { state?: { nonce?: string } }): object {
    return { nonce: options.state?.nonce ?? '' };
  }

  exchangeAt(tokenUrl: string, clientId: string, clientSecret: string): void {
    const exchange = async (
      code: string,
      params: Record<string, string>,
    ): Promise<Record<string, unknown>> => {
      const body = new URLSearchParams({ ...params, code, client_id: clientId, client_secret: clientSecret });
      return readObject(tokenUrl, { method: 'POST', body });
    };
    const answer = (
      code: string,
      params: Record<string, string>,
      done: (error: unknown, access?: unknown, refresh?: unknown, all?: object) => void,
    ): void => {
      exchange(code, params).then(
        (all) => done(null, all['access_token'], all['refresh_token'], all),
        (error: unknown) => done({ statusCode: 502, data: String(error) }),
      );
    };
    this._oauth2.getOAuthAccessToken = answer as never;
  }
}

type Asked = RequestInit & { headers?: Record<string, string> };

export async function readObject(url: string, init: Asked = {}): Promise<Record<string, unknown>> {
  const value = await readJson(url, init);
  if (!isRecord(value)) throw new Error('the answer is no object');
  return value;
}

/** What a provider says: in time, of a size that can be held, and from that very address. */
export async function readJson(url: string, init: Asked = {}): Promise<unknown> {
  const answer = await fetch(url, {
    ...init,
    redirect: 'error',
    headers: { accept: 'application/json', ...init.headers },
    signal: AbortSignal.timeout(ANSWER_DEADLINE_MS),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`answered ${answer.status}`);
  if (text.length > LARGEST_ANSWER) throw new Error('the answer is too large');
  return parseJsonText(text);
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;
