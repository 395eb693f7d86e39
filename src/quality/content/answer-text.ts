import { parseJsonText } from '../../kernel';
import { AnswerCollector, type CanonicalAnswer, collect, type DialectName, dialects } from '../../protocol';

/** An answer as a judge reads it. */
export interface AnswerText {
  readonly text: string;
  readonly flags: readonly ObjectiveFlag[];
}

/** Signals that need no judge. They feed reliability, and never a score. */
type ObjectiveFlag = 'empty' | 'truncated' | 'invalid_json' | 'tool_unreadable' | 'refusal';

/** It is null where the bytes are no whole answer of the dialect. */
export function readAnswer(
  surface: DialectName,
  { answer, stream }: { readonly answer: Buffer; readonly stream: boolean },
  wantsJson: boolean,
): AnswerText | null {
  const read = stream ? readStream(surface, answer) : readWhole(surface, answer);
  return read === null ? null : { text: textOf(read), flags: flagsOf(read, wantsJson) };
}

function readStream(surface: DialectName, events: Buffer): CanonicalAnswer | null {
  const collector = new AnswerCollector();
  const decoder = dialects[surface].streamDecoder({ emit: collector.push });
  decoder.push(events);
  decoder.end();
  const result = collector.result();
  return result.ok ? result.value : null;
}

function readWhole(surface: DialectName, body: Buffer): CanonicalAnswer | null {
  const result = collect(dialects[surface].decodeAnswer(jsonIn(body.toString('utf8'))).events);
  return result.ok ? result.value : null;
}

/** The text and the proposed calls; reasoning is no part of the answer. */
function textOf({ blocks }: CanonicalAnswer): string {
  return blocks
    .flatMap((block) => {
      if (block.type === 'tool') return [`(calls ${block.name} with ${block.arguments})`];
      return block.type === 'reasoning' ? [] : [block.text];
    })
    .join('\n');
}

function flagsOf({ blocks, finish }: CanonicalAnswer, wantsJson: boolean): ObjectiveFlag[] {
  const said = blocks.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('');
  const tools = blocks.flatMap((block) => (block.type === 'tool' ? [block] : []));
  const flags: ObjectiveFlag[] = [];
  if (said.trim() === '' && tools.length === 0) flags.push('empty');
  if (finish.unified === 'length') flags.push('truncated');
  if (wantsJson && tools.length === 0 && jsonIn(said) === undefined) flags.push('invalid_json');
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
