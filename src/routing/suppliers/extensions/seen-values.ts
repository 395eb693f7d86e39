import { hash } from 'node:crypto';
import type * as contract from '#extension';
import type { Credential, LaneView, ProviderView } from '../../../catalogue';
import { parseJsonText } from '../../../kernel';
import { passing } from '../kit';
import type { OutgoingCall } from '../kit';

/*
 * What a style of an extension sees: copies, frozen, without what is none of its business.
 */

/** Headers of a caller that say something about his request, and nothing about him. */
const passedHeaders = ['anthropic-beta', 'anthropic-version', 'openai-beta'];

const providers = new WeakMap<ProviderView, contract.SupplierProvider>();
const lanes = new WeakMap<LaneView, contract.SupplierLane>();

export const seenProvider = (view: ProviderView): contract.SupplierProvider =>
  kept(providers, view, ({ name, style, baseUrl, regions, settings }) =>
    frozen({ name, style, baseUrl, regions: [...regions], settings: copied(settings) }),
  );

export const seenLane = (view: LaneView): contract.SupplierLane =>
  kept(lanes, view, ({ provider, upstreamModel, region, facts: { known, window, maxOutput } }) =>
    Object.freeze({
      provider: seenProvider(provider),
      upstreamModel,
      region,
      facts: Object.freeze({
        known,
        ...(window !== undefined && { window }),
        ...(maxOutput !== undefined && { maxOutput }),
      }),
    }),
  );

export function seenCall(call: OutgoingCall): contract.OutgoingCall {
  const { operation, wire, lane, credential, body, stream, maxOutputTokens, headers, sessionKey, now } = call;
  return Object.freeze({
    operation,
    wire,
    lane: seenLane(lane),
    credential: seenCredential(credential),
    body: seenBody(body),
    stream,
    maxOutputTokens,
    headers: Object.freeze(passing(headers, passedHeaders)),
    // A session's name is private to the caller and the gateway.
    sessionKey: sessionKey === null ? null : hash('sha256', sessionKey).slice(0, 32),
    now,
  });
}

/** What renews a token stays here. */
export function seenCredential(credential: Credential | null): contract.Credential | null {
  if (credential?.kind !== 'oauth-pool') return credential && Object.freeze({ ...credential });
  const { kind, id, accessToken, account } = credential;
  return Object.freeze({ kind, id, accessToken, ...(account !== undefined && { account }) });
}

/** The caller's body may go to another lane after this one, so a style gets bytes of its own. */
function seenBody(body: OutgoingCall['body']): contract.OutgoingBody {
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

function kept<View extends object, Seen>(
  known: WeakMap<View, Seen>,
  view: View,
  make: (view: View) => Seen,
): Seen {
  let seen = known.get(view);
  if (seen === undefined) known.set(view, (seen = make(view)));
  return seen;
}

const copied = (settings: ProviderView['settings']): ProviderView['settings'] =>
  parseJsonText(JSON.stringify(settings)) as ProviderView['settings'];

function frozen<T extends object>(value: T): T {
  for (const part of Object.values(value))
    if (typeof part === 'object' && part !== null) frozen(part as object);
  return Object.freeze(value);
}
