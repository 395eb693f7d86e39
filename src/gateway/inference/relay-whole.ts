import { fault } from '../../kernel';
import { collect } from '../../protocol';
import type { Answered } from './attempt';
import { type Delivery, usageOfWhole } from './delivery';
import type { Call } from './describe';
import type { Inbound } from './inbound';
import { tapRules } from './tap-rules';

export interface WholeDelivery extends Delivery {
  readonly body: Buffer;
}

/** Takes in a whole answer; nothing of it leaves before it is settled. */
export async function relayWhole(inbound: Inbound, call: Call, answered: Answered): Promise<WholeDelivery> {
  const bytes = await answered.exchange.whole();
  const body = parseAnswer(bytes);
  return answered.outbound.translation === null
    ? passOn(call, answered, bytes, body)
    : translate(inbound, call, answered, bytes, body);
}

function passOn(
  call: Call,
  answered: Answered,
  bytes: Buffer,
  body: Readonly<Record<string, unknown>>,
): WholeDelivery {
  const rules = tapRules[call.surface.name];
  const reading = rules.normalise(rules.findUsage(body));
  const reason = rules.finishReason(body);
  return {
    body: bytes,
    usage: usageOfWhole(reading, call, answered.contextTokens, bytes.length),
    finishReason: typeof reason === 'string' ? reason : null,
    firstTokenMs: null,
    dropped: [],
    problem: null,
  };
}

function translate(
  inbound: Inbound,
  call: Call,
  { outbound, contextTokens }: Answered,
  bytes: Buffer,
  body: Readonly<Record<string, unknown>>,
): WholeDelivery {
  const decoded = outbound.dialect.decodeAnswer(body, outbound.translation?.reply);
  const collected = collect(decoded.events);
  if (!collected.ok) throw collected.error;
  const { finish } = collected.value;
  const usage = usageOfWhole(decoded.usage, call, contextTokens, bytes.length);
  const encoded = call.surface.dialect.encodeAnswer(collected.value, {
    requestId: inbound.requestId,
    model: call.model,
    estimate: () => usage,
  });
  return {
    body: Buffer.from(JSON.stringify(encoded.body)),
    usage,
    finishReason: finish.raw ?? finish.unified,
    firstTokenMs: null,
    dropped: [...(outbound.translation?.dropped ?? []), ...decoded.dropped, ...encoded.dropped],
    problem: null,
  };
}

function parseAnswer(bytes: Buffer): Record<string, unknown> {
  if (bytes.length === 0) throw fault('empty_response');
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    throw fault('non_json_provider_response', { cause: error });
  }
  if (typeof value !== 'object' || value === null) throw fault('upstream_invalid_response');
  return value as Record<string, unknown>;
}
