import {
  type JsonChange,
  type JsonObjectText,
  parseJsonText,
  readJsonObject,
  spliceJson,
} from '../../kernel';
import { isRecord } from '../../protocol';
import { BadVerdict } from '../gates/read-verdict';
import { type Call, describeCall, withSound } from './describe';
import { type PlacedText, textsOf } from './request-texts';

/**
 * The call with these texts by their places. Its bytes are read and described once more, so that it is held, billed and
 * recorded as what is sent. A promise only where the body is long.
 */
export function rewritten(
  call: Call,
  textsFor: (count: number) => ReadonlyMap<number, string>,
  mostBytes: number,
): Call | Promise<Call> {
  const { inbound, operation, gates } = call;
  const placed = textsOf(call);
  const texts = textsFor(placed.length);
  if (texts.size === 0) return call;
  if (inbound.form !== null) throw new BadVerdict('the texts of a form cannot be rewritten');
  const changes = [...texts].flatMap(([at, text]) => changeOf(placed[at]!, text));
  if (changes.length === 0) return call;
  const bytes = spliceJson(inbound.bytes, changes);
  if (bytes.length > mostBytes) throw new BadVerdict('the request would be too large with its texts');
  const described = (text: JsonObjectText): Call =>
    withSound(describeCall({ ...inbound, ...text }, operation, gates), call.sound);
  const text = readJsonObject(bytes);
  return text instanceof Promise ? text.then(described) : described(text);
}

function changeOf({ piece, path, as }: PlacedText, text: string): JsonChange[] {
  if (text === piece.text) return [];
  if (as === 'name') throw new BadVerdict('the names of a schema cannot be rewritten');
  if (as === 'signed') return [{ path, text: null }];
  if (as === 'text') return [{ path, text: JSON.stringify(text) }];
  if (!isRecord(parseJsonText(text)))
    throw new BadVerdict('the arguments of a tool call have to be a JSON object');
  return [{ path, text }];
}
