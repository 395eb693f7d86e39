import { Strategy } from 'passport-oauth2';
import type { ProviderHttpClient } from './provider-http-client';

/** OAuth 2 strategy of passport, extended by the OpenID Connect nonce and a token exchange with a deadline. */
export class TokenExchangeStrategy extends Strategy {
  override authorizationParams(options: { state?: { nonce?: string } }) {
    return { nonce: options.state?.nonce ?? '' };
  }

  exchangeTokensAt(
    reader: ProviderHttpClient,
    tokenUrl: string,
    clientId: string,
    clientSecret: string,
  ): void {
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
    const getAccessToken = (
      code: string,
      params: Record<string, string>,
      done: (error: unknown, access?: unknown, refresh?: unknown, all?: object) => void,
    ): void => {
      exchange(code, params).then(
        (all) => done(null, all['access_token'], all['refresh_token'], all),
        (error: unknown) => done({ statusCode: 502, data: String(error) }),
      );
    };
    this._oauth2.getOAuthAccessToken = getAccessToken as never;
  }
}
