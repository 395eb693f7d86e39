import { editJson, Fault, fault } from '../../kernel';
import { type Dialect, dialects, type DialectName, type Dropped, type ReplyContext } from '../../protocol';
import type { PlannedLane } from '../../routing';
import type { Call } from './describe';
import type { HeldCall } from './hold';
import type { Inbound } from './inbound';

/** A request as one lane gets it: the caller's own bytes where both speak one dialect, else a translation. */
export interface Outbound {
  readonly dialect: Dialect;
  readonly body: Buffer;
  /** What was lost in translation; null where there was none. */
  readonly translation: { readonly reply: ReplyContext; readonly dropped: readonly Dropped[] } | null;
}

/** What a supplier of each style speaks, the dialect to translate into first. */
const spoken: Readonly<Record<string, readonly DialectName[]>> = {
  'openai-style': ['chat'],
  'messages-style': ['messages'],
  sandbox: ['chat', 'messages', 'responses'],
};

export function outboundFor(inbound: Inbound, call: Call, held: HeldCall, route: PlannedLane): Outbound {
  const { provider, upstreamModel } = route.lane;
  const speaks = spoken[provider.style] ?? [];
  const [first] = speaks;
  if (first === undefined)
    throw fault('configuration_error', { message: `No adapter speaks "${provider.style}".` });
  if (speaks.includes(call.surface.name)) {
    return {
      dialect: call.surface.dialect,
      body: passedOn(inbound, call, held, upstreamModel),
      translation: null,
    };
  }
  const request = valueOf(call.surface.dialect.decodeRequest(inbound.body));
  const bounded = held.cappedOutput === null ? request : { ...request, maxOutputTokens: held.cappedOutput };
  const dialect = dialects[first];
  const encoded = valueOf(dialect.encodeRequest(bounded, { model: upstreamModel }));
  return {
    dialect,
    body: Buffer.from(JSON.stringify(encoded.body)),
    translation: { reply: encoded.reply, dropped: encoded.dropped },
  };
}

/** The bytes as they came, but for the fields that are ours: the region, the bound, and the model's name there. */
function passedOn({ bytes, body }: Inbound, call: Call, { cappedOutput }: HeldCall, model: string): Buffer {
  return editJson(bytes, body, {
    set: {
      ...(model === call.model ? {} : { model }),
      ...(cappedOutput === null ? {} : { [call.surface.limitFields[0]]: cappedOutput }),
      ...(hidesUsage(call) ? { stream_options: { ...streamOptionsOf(body), include_usage: true } } : {}),
    },
    remove: call.region === null ? [] : ['region'],
  });
}

/** A chat stream reports its usage only on demand. It is always demanded, and kept from callers who did not. */
export const hidesUsage = (call: Call): boolean =>
  call.stream && call.surface.name === 'chat' && !call.includeUsage;

const streamOptionsOf = ({ stream_options: options }: Inbound['body']): object =>
  typeof options === 'object' && options !== null ? options : {};

function valueOf<T>(result: { ok: true; value: T } | { ok: false; error: Fault }): T {
  if (!result.ok) throw result.error;
  return result.value;
}
