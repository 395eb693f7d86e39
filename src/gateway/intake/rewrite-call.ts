import {
  type JsonChange,
  type MaybePromise,
  type ParsedJsonObject,
  parseJsonText,
  readJsonObject,
  spliceJson,
  whenReady,
} from '../../kernel';
import { isRecord } from '../../protocol';
import { BadVerdict } from '../gates/read-verdict';
import { type GatewayCall, describeCall, withSound } from './describe';
import { type PlacedText, textsOf } from './request-texts';

/**
 * Returns the call with new texts by position, described again so that hold, charge and record match it. Returns a
 * promise only for a long body.
 */
export function rewriteCall(
  call: GatewayCall,
  textsFor: (count: number) => ReadonlyMap<number, string>,
  maxBytes: number,
): MaybePromise<GatewayCall> {
  const { inbound, operation, gates } = call;
  const placedTexts = textsOf(call);
  const texts = textsFor(placedTexts.length);
  if (texts.size === 0) return call;
  if (inbound.form !== null) throw new BadVerdict('the texts of a form cannot be rewritten');
  const changes = [...texts].flatMap(([index, text]) => changesFor(placedTexts[index]!, text));
  if (changes.length === 0) return call;
  const bytes = spliceJson(inbound.bytes, changes);
  if (bytes.length > maxBytes) throw new BadVerdict('the request would be too large with its texts');
  const describe = (text: ParsedJsonObject): GatewayCall =>
    withSound(describeCall({ ...inbound, ...text }, operation, gates), call.sound);
  return whenReady(readJsonObject(bytes), describe);
}

function changesFor({ piece, path, as }: PlacedText, text: string): JsonChange[] {
  if (text === piece.text) return [];
  if (as === 'name') throw new BadVerdict('the names of a schema cannot be rewritten');
  if (as === 'signed') return [{ path, text: null }];
  if (as === 'text') return [{ path, text: JSON.stringify(text) }];
  if (!isRecord(parseJsonText(text)))
    throw new BadVerdict('the arguments of a tool call have to be a JSON object');
  return [{ path, text }];
}
