import { Strategy } from 'passport-oauth2';
import type { ProviderReader } from './provider-reader';

/** The library's strategy, with the nonce of OpenID Connect and an exchange that ends in time. */
export class ExchangingStrategy extends Strategy {
  override authorizationParams(options: { state?: { nonce?: string } }) {
    return { nonce: options.state?.nonce ?? '' };
  }

  exchangeAt(reader: ProviderReader, tokenUrl: string, clientId: string, clientSecret: string): void {
    const exchange = async (
      code: string,
      params: Record<string, string>,
    ): Promise<Record<string, unknown>> => {
      const body = new URLSearchParams({ ...params, code, client_id: clientId, client_secret: clientSecret });
      return reader.readObject(tokenUrl, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: body.toString(),
      });
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
