import type { PooledToken, TokenCredential } from '../../../catalogue';
import { err, fault, type Fault, ok, type Result, parseJsonText } from '../../../kernel';
import type { EgressTerms, SupplierTransport } from '../../../platform';
import { SupplierExchange } from '../supplier-exchange';

const DEADLINE_MS = 10_000;
const MAX_RESPONSE_BYTES = 64 * 1024;

interface OauthSettings {
  readonly tokenUrl: string;
  readonly clientId: string | undefined;
  readonly scope: string | undefined;
}

export async function renewToken(
  transport: SupplierTransport,
  { token, provider }: PooledToken,
  { now, egress }: { readonly now: number; readonly egress: EgressTerms | undefined },
): Promise<Result<TokenCredential, Fault>> {
  const settings = settingsOf(provider.settings.oauth);
  const { refreshToken, clientSecret } = token;
  if (settings === undefined || refreshToken === undefined) return err(fault('configuration_error'));
  const form = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: refreshToken });
  if (settings.clientId !== undefined) form.set('client_id', settings.clientId);
  if (settings.scope !== undefined) form.set('scope', settings.scope);
  if (clientSecret !== undefined) form.set('client_secret', clientSecret);
  const body = Buffer.from(form.toString());
  const request = {
    url: new URL(settings.tokenUrl),
    method: 'POST' as const,
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': String(body.length),
      accept: 'application/json',
    },
    body,
    firstByteMs: DEADLINE_MS,
    totalMs: DEADLINE_MS,
    egress,
  };
  try {
    const exchange = new SupplierExchange().start((handler) => transport.dispatch(request, handler));
    const { status, body: response } = await exchange.readResponse(MAX_RESPONSE_BYTES);
    // The supplier's message can repeat the token, so only the status is reported.
    if (status !== 200) return err(fault('native_token_error', { details: { status } }));
    return readToken(token, response, now);
  } catch (cause) {
    return err(fault('native_backend_error', { cause }));
  }
}

function readToken(previous: TokenCredential, response: Buffer, now: number): Result<TokenCredential, Fault> {
  const fields = parse(response);
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: seconds } = fields;
  if (typeof accessToken !== 'string' || accessToken === '') {
    return err(fault('native_backend_error', { message: 'The renewal brought no token.' }));
  }
  return ok({
    ...previous,
    accessToken,
    ...(typeof refreshToken === 'string' && refreshToken !== '' ? { refreshToken } : {}),
    expiresAt: typeof seconds === 'number' && seconds > 0 ? Math.trunc(now + seconds * 1_000) : undefined,
  });
}

function parse(response: Buffer): Record<string, unknown> {
  try {
    const value: unknown = parseJsonText(response.toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function settingsOf(value: unknown): OauthSettings | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { token_url: tokenUrl, client_id: clientId, scope } = value as Record<string, unknown>;
  if (typeof tokenUrl !== 'string') return undefined;
  const text = (member: unknown): string | undefined => (typeof member === 'string' ? member : undefined);
  return { tokenUrl, clientId: text(clientId), scope: text(scope) };
}
