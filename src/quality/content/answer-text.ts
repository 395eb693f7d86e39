import { parseJsonText } from '../../kernel';
import {
  ResponseCollector,
  type CanonicalResponse,
  collect,
  type DialectName,
  dialects,
} from '../../protocol';

export interface JudgedText {
  readonly text: string;
  readonly flags: readonly ObjectiveFlag[];
}

/** Signals that need no judge. They affect reliability, never a score. */
type ObjectiveFlag = 'empty' | 'truncated' | 'invalid_json' | 'tool_unreadable' | 'refusal';

/** Returns null if the bytes are not a complete response of the dialect. */
export function readAnswer(
  surface: DialectName,
  { answer, stream }: { readonly answer: Buffer; readonly stream: boolean },
  wantsJson: boolean,
): JudgedText | null {
  const parsed = stream ? readStream(surface, answer) : readComplete(surface, answer);
  return parsed === null ? null : { text: textOf(parsed), flags: flagsOf(parsed, wantsJson) };
}

function readStream(surface: DialectName, events: Buffer): CanonicalResponse | null {
  const collector = new ResponseCollector();
  const decoder = dialects[surface].streamDecoder({ emit: collector.push });
  decoder.push(events);
  decoder.end();
  const result = collector.result();
  return result.ok ? result.value : null;
}

function readComplete(surface: DialectName, body: Buffer): CanonicalResponse | null {
  const result = collect(dialects[surface].decodeAnswer(jsonIn(body.toString('utf8'))).events);
  return result.ok ? result.value : null;
}

/** Returns the text and the proposed calls; reasoning is not part of the reply. */
function textOf({ blocks }: CanonicalResponse): string {
  return blocks
    .flatMap((block) => {
      if (block.type === 'tool') return [`(calls ${block.name} with ${block.arguments})`];
      return block.type === 'reasoning' ? [] : [block.text];
    })
    .join('\n');
}

function flagsOf({ blocks, finish }: CanonicalResponse, wantsJson: boolean): ObjectiveFlag[] {
  const text = blocks.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('');
  const tools = blocks.flatMap((block) => (block.type === 'tool' ? [block] : []));
  const flags: ObjectiveFlag[] = [];
  if (text.trim() === '' && tools.length === 0) flags.push('empty');
  if (finish.unified === 'length') flags.push('truncated');
  if (wantsJson && tools.length === 0 && jsonIn(text) === undefined) flags.push('invalid_json');
  if (tools.some((tool) => tool.arguments.trim() !== '' && jsonIn(tool.arguments) === undefined))
    flags.push('tool_unreadable');
  if (finish.unified === 'content-filter' || blocks.some(({ type }) => type === 'refusal'))
    flags.push('refusal');
  return flags;
}

function jsonIn(text: string): unknown {
  try {
    return parseJsonText(text);
  } catch {
    return undefined;
  }
}
