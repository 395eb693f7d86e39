import { hash } from 'node:crypto';
import type * as contract from '#extension';
import type { Credential, LaneView, ProviderView } from '../../../catalogue';
import { parseJsonText } from '../../../kernel';
import { forwardedHeaders } from '../kit';
import type { StyleCall } from '../kit';

/* Inputs of an extension's style: frozen copies without private data. */

const passedHeaders = ['anthropic-beta', 'anthropic-version', 'openai-beta'];

const providers = new WeakMap<ProviderView, contract.SupplierProvider>();
const lanes = new WeakMap<LaneView, contract.SupplierLane>();

export const providerForStyle = (view: ProviderView): contract.SupplierProvider =>
  cached(providers, view, ({ name, style, baseUrl, regions, settings }) =>
    deepFreeze({ name, style, baseUrl, regions: [...regions], settings: deepCopy(settings) }),
  );

export const laneForStyle = (view: LaneView): contract.SupplierLane =>
  cached(lanes, view, ({ provider, upstreamModel, region, facts: { known, window, maxOutput } }) =>
    Object.freeze({
      provider: providerForStyle(provider),
      upstreamModel,
      region,
      facts: Object.freeze({
        known,
        ...(window !== undefined && { window }),
        ...(maxOutput !== undefined && { maxOutput }),
      }),
    }),
  );

export function callForStyle(call: StyleCall): contract.OutgoingCall {
  const { operation, wire, lane, credential, body, stream, maxOutputTokens, headers, sessionKey, now } = call;
  return Object.freeze({
    operation,
    wire,
    lane: laneForStyle(lane),
    credential: credentialForStyle(credential),
    body: bodyForStyle(body),
    stream,
    maxOutputTokens,
    headers: Object.freeze(forwardedHeaders(headers, passedHeaders)),
    // A session's name is private to the caller and the gateway.
    sessionKey: sessionKey === null ? null : hash('sha256', sessionKey).slice(0, 32),
    now,
  });
}

/** Without the refresh token, which never leaves the gateway. */
export function credentialForStyle(credential: Credential | null): contract.Credential | null {
  if (credential?.kind !== 'oauth-pool') return credential && Object.freeze({ ...credential });
  const { kind, id, accessToken, account } = credential;
  return Object.freeze({ kind, id, accessToken, ...(account !== undefined && { account }) });
}

/** A copy of the body, since the caller's might be sent to another lane afterwards. */
function bodyForStyle(body: StyleCall['body']): contract.OutgoingBody {
  if (body.kind === 'form') {
    const files = body.files.map((file) => ({ ...file, bytes: new Uint8Array(file.bytes) }));
    return { kind: 'form', fields: body.fields.map(([name, value]) => [name, value]), files };
  }
  const { bytes } = body.text;
  let parsed: contract.JsonObjectText['body'] | null = null;
  return {
    kind: 'json',
    text: {
      bytes: new Uint8Array(bytes),
      get body() {
        return (parsed ??= parseJsonText(bytes.toString('utf8')) as contract.JsonObjectText['body']);
      },
    },
  };
}

function cached<View extends object, Value>(
  cache: WeakMap<View, Value>,
  view: View,
  make: (view: View) => Value,
): Value {
  let value = cache.get(view);
  if (value === undefined) cache.set(view, (value = make(view)));
  return value;
}

const deepCopy = (settings: ProviderView['settings']): ProviderView['settings'] =>
  parseJsonText(JSON.stringify(settings)) as ProviderView['settings'];

function deepFreeze<T extends object>(value: T): T {
  for (const part of Object.values(value))
    if (typeof part === 'object' && part !== null) deepFreeze(part as object);
  return Object.freeze(value);
}
