import { fault, parseJsonText } from '../../kernel';
import { type CanonicalAnswer, collect } from '../../protocol';
import { answerId } from '../responses/answer-id';
import type { LaneAnswer, WholeDelivery } from './answered';
import { soldAudio } from './audio';
import { usageOfWhole } from './delivery';
import type { Call } from './describe';
import type { Inbound } from './inbound';
import { isText, type Surface } from './surface';

/** Takes in a whole answer; nothing of it leaves before it is settled. */
export function relayWhole(inbound: Inbound, call: Call, answered: LaneAnswer, bytes: Buffer): WholeDelivery {
  if (bytes.length === 0) throw fault('empty_response');
  const { surface } = call;
  const { translation } = answered.outbound;
  if (!isText(surface) || translation === null) return passOn(inbound, call, answered, bytes);
  return translate(inbound, call, answered, bytes);
}

function passOn(inbound: Inbound, call: Call, answered: LaneAnswer, bytes: Buffer): WholeDelivery {
  const { surface, recording } = call;
  const { contentType, contextTokens, route } = answered;
  const isRaw = surface.answersRaw?.(inbound.body) === true && !/json|html/i.test(contentType);
  const told = isRaw ? null : parseAnswer(bytes);
  const body = told === null ? null : (surface.shape?.(told, inbound.body) ?? told);
  const written = (): number => (told === null ? bytes.length : textBytesIn(surface, told));
  const reported = surface.usageIn(told, inbound.body);
  const reading =
    recording === null ? reported : soldAudio(reported, recording, route.price.rates, written());
  return {
    body: body === told ? bytes : Buffer.from(JSON.stringify(body)),
    contentType: isRaw ? contentType || 'application/octet-stream' : 'application/json',
    usage: usageOfWhole(reading, call, contextTokens, written),
    finishReason: isText(surface) && told !== null ? surface.dialect.finishReasonIn(told) : null,
    firstTokenMs: null,
    dropped: [],
    problem: null,
  };
}

function translate(inbound: Inbound, call: Call, answered: LaneAnswer, bytes: Buffer): WholeDelivery {
  const { surface } = call;
  const { dialect, translation } = answered.outbound;
  if (!isText(surface) || dialect === null || translation === null) throw fault('internal_error');
  const decoded = dialect.decodeAnswer(parseAnswer(bytes), translation.reply);
  const collected = collect(decoded.events);
  if (!collected.ok) throw collected.error;
  const { finish } = collected.value;
  const usage = usageOfWhole(decoded.usage, call, answered.contextTokens, () => textBytesOf(collected.value));
  const encoded = surface.dialect.encodeAnswer(collected.value, {
    ...answerId(surface),
    requestId: inbound.requestId,
    model: call.model,
    estimate: () => usage,
  });
  return {
    body: Buffer.from(JSON.stringify(encoded.body)),
    contentType: 'application/json',
    usage,
    finishReason: finish.raw ?? finish.unified,
    firstTokenMs: null,
    dropped: [...translation.dropped, ...decoded.dropped, ...encoded.dropped],
    problem: null,
  };
}

/** How much text an answer holds, for when nobody reports it. */
function textBytesIn(surface: Surface, body: Readonly<Record<string, unknown>>): number {
  if (surface.writtenIn !== undefined) return surface.writtenIn(body);
  if (!isText(surface)) return 0;
  const collected = collect(surface.dialect.decodeAnswer(body).events);
  return collected.ok ? textBytesOf(collected.value) : 0;
}

const textBytesOf = ({ blocks }: CanonicalAnswer): number =>
  blocks.reduce(
    (sum, block) => sum + Buffer.byteLength(block.type === 'tool' ? block.arguments : block.text),
    0,
  );

function parseAnswer(bytes: Buffer): Record<string, unknown> {
  let value: unknown;
  try {
    value = parseJsonText(bytes.toString('utf8'));
  } catch (error) {
    throw fault('non_json_provider_response', { cause: error });
  }
  if (typeof value !== 'object' || value === null) throw fault('upstream_invalid_response');
  return value as Record<string, unknown>;
}
